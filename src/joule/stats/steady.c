/* joule/stats/steady.c - see steady.h. */
#include "joule/stats/steady.h"

#include <math.h>
#include "joule/stats/distribution.h"
#include "joule/stats/sample.h"

#define MAX_CORRELATION 0.99

/* A straight line through equally spaced values, and its residuals. */
struct line {
    double mean, slope; /* slope: per step */
    double spread;      /* sum of squared distances of the steps from their mean */
    double squares;     /* sum of squared residuals */
    double correlation; /* of neighbouring residuals */
};

static struct line line_fit(const double *values, size_t count)
{
    double middle = ((double)count - 1) / 2, product = 0, neighbours = 0, previous = 0;
    struct line line = {.mean = sample_mean(values, count)};
    for (size_t i = 0; i < count; i++) {
        double step = (double)i - middle;
        line.spread += step * step;
        product += step * (values[i] - line.mean);
    }
    line.slope = product / line.spread;
    for (size_t i = 0; i < count; i++) {
        double residual = values[i] - line.mean - line.slope * ((double)i - middle);
        line.squares += residual * residual;
        neighbours += residual * previous;
        previous = residual;
    }
    line.correlation = line.squares > 0 ? neighbours / line.squares : 0;
    return line;
}

/* Returns the drift of a line whose residuals count as `independent` independent ones. */
static struct drift drift_of_line(const struct line *line, size_t count, double independent, double level)
{
    double freedom = independent - 2, change = line->slope * ((double)count - 1);
    if (!(freedom > 0))
        return (struct drift){line->mean, change, NAN, NAN};
    double half = student_quantile((1 + level) / 2, freedom) * sqrt(line->squares / freedom / line->spread) *
                  ((double)count - 1);
    return (struct drift){line->mean, change, change - half, change + half};
}

struct drift drift_fit_independent(const double *values, size_t count, double level)
{
    if (count < STEADY_MIN_VALUES)
        return (struct drift){NAN, NAN, NAN, NAN};
    struct line line = line_fit(values, count);
    return drift_of_line(&line, count, (double)count, level);
}

struct drift drift_fit(const double *values, size_t count, double level)
{
    if (count < STEADY_MIN_VALUES)
        return (struct drift){NAN, NAN, NAN, NAN};
    struct line line = line_fit(values, count);
    double n = (double)count;
    /* The residuals' correlation is about r - (2 + 4 r) / n if the noise's is r, because the line follows
     * slow noise. test_steady checks the intervals that follow. */
    double r = fmin(fmax((n * line.correlation + 2) / (n - 4), 0), MAX_CORRELATION);
    return drift_of_line(&line, count, n * (1 - r) / (1 + r), level);
}

enum steadiness drift_judge(const struct drift *drift, double tolerance)
{
    if (drift->low >= -tolerance && drift->high <= tolerance)
        return STEADINESS_STEADY;
    if (fabs(drift->change) > tolerance && (drift->low > 0 || drift->high < 0))
        return STEADINESS_DRIFTS;
    return STEADINESS_UNKNOWN;
}
