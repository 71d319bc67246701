/* joule/stats/holm.c - see holm.h. */
#include "joule/stats/holm.h"

#include <math.h>

void holm_correct(double *p, size_t count, double *scratch)
{
    double *scaled = scratch, *corrected = scratch + count;
    for (size_t i = 0; i < count; i++) {
        double not_less = 0;
        for (size_t k = 0; k < count; k++)
            not_less += p[k] >= p[i];
        scaled[i] = fmin(1, not_less * p[i]);
    }
    for (size_t i = 0; i < count; i++) {
        corrected[i] = p[i];
        for (size_t k = 0; k < count; k++)
            if (p[k] <= p[i])
                corrected[i] = fmax(corrected[i], scaled[k]);
    }
    for (size_t i = 0; i < count; i++)
        p[i] = corrected[i];
}
