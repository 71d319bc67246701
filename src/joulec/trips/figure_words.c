/* joulec/trips/figure_words.c - see figure_words.h. */
#include "joulec/trips/figure_words.h"

#include <math.h>
#include "base/string.h"

#define DIGITS 2 /* more digits would suggest a precision that estimates do not have */

struct words figure_words(double value, joule_dimension dimension)
{
    struct words w;
    if (isnan(value))
        string_copy(w.text, sizeof w.text, "unknown");
    else
        joule_format(value, dimension, DIGITS, w.text, sizeof w.text);
    return w;
}

struct words range_words(double low, double high, joule_dimension dimension)
{
    struct words w, from = figure_words(low, dimension);
    if (isnan(high))
        string_print(w.text, sizeof w.text, isnan(low) ? "%s" : "%s and more", from.text);
    else
        string_print(w.text, sizeof w.text, "%s to %s", from.text, figure_words(high, dimension).text);
    return w;
}

struct words trips_words(const struct trips_range *range)
{
    struct words w;
    if (range->low == 1 && range->high == 1)
        string_copy(w.text, sizeof w.text, "once");
    else if (range->low == range->high)
        string_print(w.text, sizeof w.text, "%.12g times", range->low);
    else if (isfinite(range->high))
        string_print(w.text, sizeof w.text, "%.12g to %.12g times, %.4g expected", range->low, range->high,
                     range->est);
    else
        string_print(w.text, sizeof w.text, "%.12g times and more, %.4g expected", range->low, range->est);
    return w;
}
