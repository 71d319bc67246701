/* joule/stats/compare.c - see compare.h. */
#include "joule/stats/compare.h"

#include <math.h>
#include "joule/stats/distribution.h"
#include "joule/stats/holm.h"

const char *ratio_verdict_name(enum ratio_verdict verdict)
{
    static const char *const names[] = {"cannot tell", "better", "worse", "equivalent"};
    return names[verdict];
}

/* Mean and variance of a stream of numbers (Welford, "Note on a method for calculating corrected sums of
 * squares and products", 1962). */
struct moments {
    double count, mean, squares;
};

static void moments_add(struct moments *moments, double x)
{
    double distance = x - moments->mean;
    moments->count++;
    moments->mean += distance / moments->count;
    moments->squares += distance * (x - moments->mean);
}

/* Returns the unbiased variance; NaN if count < 2. */
static double moments_variance(const struct moments *moments)
{
    return moments->count < 2 ? NAN : moments->squares / (moments->count - 1);
}

/* Returns the logarithm of a finite value > 0, otherwise NaN. */
static double log_or_unknown(double x)
{
    return x > 0 && isfinite(x) ? log(x) : NAN;
}

/* Returns distance / se; for an se of 0, the limit. */
static double t_value(double distance, double se)
{
    if (se > 0)
        return distance / se;
    return isnan(se) ? NAN : distance == 0 ? 0 : copysign(INFINITY, distance);
}

/* Returns the larger p-value of the two one-sided tests of "mean <= -margin" and "mean >= margin". */
static double equivalence_p(double mean, double se, double freedom, double margin)
{
    if (!(margin > 0))
        return NAN;
    double below = student_cdf(-t_value(mean + margin, se), freedom);
    double above = student_cdf(t_value(mean - margin, se), freedom);
    return isnan(below) || isnan(above) ? NAN : fmax(below, above);
}

/* Returns the comparison that follows from a mean log ratio with its standard error. */
static struct ratio ratio_make(double mean, double se, double freedom, const struct ratio_rule *rule)
{
    double half = student_quantile((1 + rule->level) / 2, freedom) * se;
    struct ratio ratio = {
        .value = exp(mean),
        .low = exp(mean - half),
        .high = exp(mean + half),
        .p = 2 * student_cdf(-fabs(t_value(mean, se)), freedom),
        .equivalence_p = equivalence_p(mean, se, freedom, log1p(rule->margin)),
        .freedom = freedom,
    };
    ratio.verdict = ratio_judge(&ratio, rule);
    return ratio;
}

struct ratio ratio_paired(const double *a, const double *b, size_t count, const struct ratio_rule *rule)
{
    struct moments logs = {0};
    for (size_t i = 0; i < count; i++)
        moments_add(&logs, log_or_unknown(b[i]) - log_or_unknown(a[i]));
    double variance = moments_variance(&logs), mean = count ? logs.mean : NAN;
    struct ratio ratio = ratio_make(mean, sqrt(variance / logs.count), logs.count - 1, rule);
    ratio.log_sd = sqrt(variance);
    return ratio;
}

struct ratio ratio_unpaired(const double *a, size_t a_count, const double *b, size_t b_count,
                            const struct ratio_rule *rule)
{
    struct moments log_a = {0}, log_b = {0};
    for (size_t i = 0; i < a_count; i++)
        moments_add(&log_a, log_or_unknown(a[i]));
    for (size_t i = 0; i < b_count; i++)
        moments_add(&log_b, log_or_unknown(b[i]));
    double mean = a_count && b_count ? log_b.mean - log_a.mean : NAN;
    double part_a = moments_variance(&log_a) / log_a.count, part_b = moments_variance(&log_b) / log_b.count;
    double sum = part_a + part_b;
    /* Welch and Satterthwaite */
    double freedom =
        sum > 0 ? sum * sum / (part_a * part_a / (log_a.count - 1) + part_b * part_b / (log_b.count - 1))
                : log_a.count + log_b.count - 2;
    struct ratio ratio = ratio_make(mean, sqrt(sum), freedom, rule);
    ratio.log_sd = sqrt(moments_variance(&log_a) + moments_variance(&log_b));
    return ratio;
}

enum ratio_verdict ratio_judge(const struct ratio *ratio, const struct ratio_rule *rule)
{
    double error_rate = 1 - rule->level;
    if (ratio->equivalence_p <= error_rate)
        return RATIO_EQUIVALENT;
    if (!(ratio->p <= error_rate))
        return RATIO_UNKNOWN;
    return (ratio->value > 1) == rule->higher_is_better ? RATIO_BETTER : RATIO_WORSE;
}

void ratio_correct(struct ratio *ratios, const struct ratio_rule *rules, size_t count, double *scratch)
{
    double *p = scratch;
    for (size_t i = 0; i < count; i++)
        p[i] = ratios[i].p;
    holm_correct(p, count, scratch + count);
    for (size_t i = 0; i < count; i++) {
        ratios[i].p = p[i];
        p[i] = ratios[i].equivalence_p;
    }
    holm_correct(p, count, scratch + count);
    for (size_t i = 0; i < count; i++) {
        ratios[i].equivalence_p = p[i];
        ratios[i].verdict = ratio_judge(&ratios[i], &rules[i]);
    }
}

double ratio_blocks_needed(double log_sd, double ratio, double level, double power)
{
    double effects = pow(log_sd / log(ratio), 2), tail = (1 + level) / 2;
    double blocks = effects * pow(normal_quantile(tail) + normal_quantile(power), 2);
    if (!(blocks < 1e6))
        return ceil(blocks);
    for (blocks = fmax(2, ceil(blocks));; blocks++) {
        double factor = student_quantile(tail, blocks - 1) + student_quantile(power, blocks - 1);
        if (blocks >= effects * factor * factor)
            return blocks;
    }
}
