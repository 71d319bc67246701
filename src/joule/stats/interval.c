/* joule/stats/interval.c - see interval.h. */
#include "joule/stats/interval.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "joule/stats/distribution.h"
#include "joule/stats/sample.h"

#define MIN_RESAMPLES 100

/* Returns the number of standard errors from the mean to a bound of a t interval. */
static double t_factor(size_t count, double level)
{
    return count < 2 ? NAN : student_quantile((1 + level) / 2, (double)count - 1);
}

struct interval interval_from_moments(double mean, double sd, size_t count, double level)
{
    double half = t_factor(count, level) * sd / sqrt((double)count);
    return (struct interval){mean, mean - half, mean + half};
}

struct interval interval_mean(const double *values, size_t count, double level)
{
    return interval_from_moments(sample_mean(values, count), sample_sd(values, count), count, level);
}

double interval_relative_half_width(const struct interval *interval)
{
    double half = (interval->high - interval->low) / 2;
    return interval->value == 0 ? NAN : half / fabs(interval->value);
}

size_t interval_scratch_count(size_t count, size_t resamples)
{
    return 2 * count + resamples;
}

/* Draws `count` of the values with replacement and returns their mean. */
static double resampled_mean(const double *values, size_t count, struct generator *generator)
{
    double sum = 0; /* of distances from the first value, which keeps the rounding error small */
    for (size_t i = 0; i < count; i++)
        sum += values[generator_below(generator, count)] - values[0];
    return values[0] + sum / (double)count;
}

/* Draws `count` of the ascending values with replacement and returns their median. draws: [count],
 * scratch for the number of draws of each value. */
static double resampled_median(const double *sorted, size_t count, struct generator *generator, double *draws)
{
    memset(draws, 0, count * sizeof *draws);
    for (size_t i = 0; i < count; i++)
        draws[generator_below(generator, count)]++;
    size_t low = 0;
    double drawn = draws[0], half = (double)count / 2;
    while (drawn < half)
        drawn += draws[++low];
    size_t high = low;
    while (drawn <= half)
        drawn += draws[++high];
    return (sorted[low] + sorted[high]) / 2;
}

/* Returns the acceleration of the mean: the skewness of its jackknife values, divided by 6 sqrt(n). */
static double mean_acceleration(const double *values, size_t count)
{
    double mean = sample_mean(values, count), squares = 0, cubes = 0;
    for (size_t i = 0; i < count; i++) {
        double distance = values[i] - mean;
        squares += distance * distance;
        cubes += distance * distance * distance;
    }
    return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

/* Returns the bias correction z0: the normal quantile of the part of the resampled figures that is below the
 * sample's figure. Ties count half. */
static double bias_correction(const double *figures, size_t resamples, double figure)
{
    double below = 0;
    for (size_t i = 0; i < resamples; i++)
        below += figures[i] < figure ? 1 : figures[i] == figure ? 0.5 : 0;
    return normal_quantile(fmin(fmax(below, 0.5), (double)resamples - 0.5) / (double)resamples);
}

/* Returns the quantile of the resampled figures that is the bound with the normal score z. */
static double bca_bound(const double *sorted_figures, size_t resamples, double z0, double acceleration,
                        double z)
{
    double score = z0 + z, rest = 1 - acceleration * score;
    double p = rest > 0 ? normal_cdf(z0 + score / rest) : acceleration > 0;
    return sample_quantile(sorted_figures, resamples, p);
}

struct interval interval_bootstrap(const struct interval_bootstrap *arguments, const double *values,
                                   size_t count, double *scratch)
{
    double *sorted = scratch, *draws = sorted + count, *figures = draws + count;
    size_t resamples = arguments->resamples;
    bool is_mean = arguments->figure == INTERVAL_MEAN;
    struct sample_summary summary = sample_summarize(values, count, sorted);
    double figure = is_mean ? summary.mean : summary.median;
    if (count < 2 || resamples < MIN_RESAMPLES || isnan(figure))
        return (struct interval){figure, NAN, NAN};
    for (size_t i = 0; i < resamples; i++)
        figures[i] = is_mean ? resampled_mean(sorted, count, arguments->generator)
                             : resampled_median(sorted, count, arguments->generator, draws);
    double z0 = bias_correction(figures, resamples, figure);
    double acceleration = is_mean ? mean_acceleration(values, count) : 0;
    double z = t_factor(count, arguments->level) * sqrt((double)count / ((double)count - 1));
    sample_sort(figures, resamples);
    return (struct interval){figure, bca_bound(figures, resamples, z0, acceleration, -z),
                             bca_bound(figures, resamples, z0, acceleration, z)};
}
