/* joule/stats/compare.c - see compare.h. */
#include "joule/stats/compare.h"

#include <math.h>
#include "joule/stats/distribution.h"
#include "joule/stats/holm.h"
#include "joule/stats/joint.h"

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

/* Sets the direction of each metric's statistic (joint.h). The covariance of x and y follows from the scatter
 * of their quotient and product. The direction of a metric without p-value is NaN. */
static void find_directions(const struct ratio *ratios, double *out_angles)
{
    double sd_x = ratios[RATIO_X].log_sd, sd_y = ratios[RATIO_Y].log_sd;
    double covariance = (pow(ratios[RATIO_PRODUCT].log_sd, 2) - pow(ratios[RATIO_QUOTIENT].log_sd, 2)) / 4;
    double along = sd_x > 0 ? covariance / sd_x : 0; /* part of y's scatter that follows x */
    double across = sqrt(fmax(0, sd_y * sd_y - along * along));
    const double angles[] = {0, atan2(across, along), atan2(-across, sd_x - along),
                             atan2(across, sd_x + along)};
    for (int i = 0; i < RATIO_PRODUCTS; i++)
        out_angles[i] = isnan(ratios[i].p) ? NAN : isnan(angles[i]) ? 0 : angles[i];
}

/* Returns the metric with the smallest p of those whose direction is known; -1: there is none. */
static int smallest_metric(const struct ratio *ratios, const double *angles)
{
    int smallest = -1;
    for (int i = 0; i < RATIO_PRODUCTS; i++)
        if (!isnan(angles[i]) && (smallest < 0 || ratios[i].p < ratios[smallest].p))
            smallest = i;
    return smallest;
}

/* Returns the joint p of the metrics whose direction is known, if the smallest is p; NaN: there is none. */
static double joint_of_known(const struct ratio *ratios, const double *angles, double p)
{
    double known[RATIO_PRODUCTS], freedom = INFINITY;
    size_t count = 0;
    for (int i = 0; i < RATIO_PRODUCTS; i++) {
        if (isnan(angles[i]))
            continue;
        known[count++] = angles[i];
        freedom = fmin(freedom, ratios[i].freedom);
    }
    return count ? joint_p(known, count, p, freedom) : NAN;
}

/* Returns the joint p of the smallest p of a comparison; NaN: no metric is left. */
static double joint_of_smallest(const struct ratio *ratios, const double *angles)
{
    int smallest = smallest_metric(ratios, angles);
    return smallest < 0 ? NAN : joint_of_known(ratios, angles, ratios[smallest].p);
}

/* Corrects the p-values. angles: [count][RATIO_PRODUCTS]; joints: [count] */
static void correct_dependent(struct ratio (*ratios)[RATIO_PRODUCTS], size_t count,
                              double (*angles)[RATIO_PRODUCTS], double *joints)
{
    double corrected = 0;
    size_t left = 0; /* comparisons with metrics that are not corrected yet */
    for (size_t i = 0; i < count; i++) {
        find_directions(ratios[i], angles[i]);
        joints[i] = joint_of_smallest(ratios[i], angles[i]);
        left += !isnan(joints[i]);
    }
    while (left > 0) {
        size_t next = 0;
        for (size_t i = 0; i < count; i++)
            if (!isnan(joints[i]) && !(joints[next] <= joints[i]))
                next = i;
        int metric = smallest_metric(ratios[next], angles[next]);
        if (metric < 0)
            return; /* not reached */
        corrected = fmax(corrected, fmin(1, (double)left * joints[next]));
        ratios[next][metric].p = corrected;
        angles[next][metric] = NAN;
        joints[next] = joint_of_smallest(ratios[next], angles[next]);
        left -= isnan(joints[next]) != 0;
    }
}

void ratio_correct_products(struct ratio (*ratios)[RATIO_PRODUCTS], const struct ratio_rule *rule,
                            size_t count, double *scratch)
{
    size_t total = count * RATIO_PRODUCTS;
    correct_dependent(ratios, count, (double(*)[RATIO_PRODUCTS])scratch, scratch + total);
    for (size_t i = 0; i < total; i++)
        scratch[i] = ratios[i / RATIO_PRODUCTS][i % RATIO_PRODUCTS].equivalence_p;
    holm_correct(scratch, total, scratch + total);
    for (size_t i = 0; i < total; i++) {
        struct ratio *ratio = &ratios[i / RATIO_PRODUCTS][i % RATIO_PRODUCTS];
        ratio->equivalence_p = scratch[i];
        ratio->verdict = ratio_judge(ratio, rule);
    }
}

double ratio_products_level(const struct ratio *ratios, const struct ratio_rule *rule, size_t count)
{
    enum { HALVINGS = 8 };
    double angles[RATIO_PRODUCTS], high = (1 - rule->level) / (double)count,
                                   low = high / RATIO_PRODUCTS; /* of the p-value */
    const double wanted = high;
    find_directions(ratios, angles);
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(joint_of_known(ratios, angles, middle) > wanted ? &high : &low) = middle;
    }
    return 1 - low;
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
