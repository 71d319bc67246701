/* runtime/attribution_answer.c - intervals and classes of an attribution's answer, and merging of groups; see
 * attribution.h.
 *
 * Note: a covariance here is the covariance of the logarithms of two groups' joules, given the sum of all
 * joules. Multiplied by the joules of both groups, it is the covariance of the joules.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "forge/runtime/attribution_sums.h"

struct attribution_answer *attribution_answer_new(size_t n)
{
    struct attribution_answer *answer = calloc(1, sizeof *answer);
    double *numbers = calloc(2 * n * n + 3 * n + 1, sizeof *numbers);
    if (!answer || !numbers) {
        free(answer);
        free(numbers);
        return NULL;
    }
    *answer = (struct attribution_answer){.count = n,
                                          .covariance = numbers,
                                          .prior_covariance = numbers + n * n,
                                          .joules = numbers + 2 * n * n,
                                          .seconds = numbers + 2 * n * n + n,
                                          .prior_joules = numbers + 2 * n * n + 2 * n,
                                          .numbers = numbers};
    return answer;
}

void attribution_answer_free(struct attribution_answer *answer)
{
    if (answer)
        free(answer->numbers);
    free(answer);
}

struct attribution_answer *attribution_from_model(size_t groups, const double *joules, const double *seconds,
                                                  const double *log_sd, size_t causes)
{
    struct attribution_answer *answer = attribution_answer_new(groups);
    if (!answer)
        return NULL;
    answer->meter = JOULE_CLASS_MODELLED;
    memcpy(answer->joules, joules, groups * sizeof *joules);
    memcpy(answer->prior_joules, joules, groups * sizeof *joules);
    memcpy(answer->seconds, seconds, groups * sizeof *seconds);
    for (size_t k = 0; k < groups * groups; k++)
        for (size_t cause = 0; cause < causes; cause++)
            answer->covariance[k] +=
                log_sd[k / groups * causes + cause] * log_sd[k % groups * causes + cause];
    memcpy(answer->prior_covariance, answer->covariance, groups * groups * sizeof *answer->covariance);
    return answer;
}

double attribution_joules(const struct attribution_answer *answer, size_t group)
{
    return answer->joules[group];
}

double attribution_seconds(const struct attribution_answer *answer, size_t group)
{
    return answer->seconds[group];
}

/* --- errors --------------------------------------------------------------------------------------------- */

/* Returns the variance of the sum of parts of the groups' joules, in J^2, given the sum of all groups. */
static double variance_of(const double *covariance, const double *joules, size_t n, const double *part)
{
    double variance = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; part[i] > 0 && j < n; j++)
            variance += part[i] * joules[i] * covariance[i * n + j] * joules[j] * part[j];
    return fmax(variance, 0);
}

static joule_class class_of(const struct attribution_answer *answer, double relative_sd, double prior_sd)
{
    if (answer->meter >= JOULE_CLASS_MODELLED || answer->meter == JOULE_CLASS_NONE)
        return answer->meter;
    /* The sum over all groups equals the meter's sum. In this case relative_sd and prior_sd are both about 0,
     * and their ratio is meaningless. The second test accepts this case. */
    bool is_determined = relative_sd <= 0.5 * prior_sd || relative_sd < 1e-3;
    return is_determined ? JOULE_CLASS_DERIVED : JOULE_CLASS_MODELLED;
}

/* Returns `value` with its 90 % interval. As in libjoule, measurements have additive errors, and models have
 * relative errors. */
static joule_quantity quantity_of(double value, double relative_sd, joule_class cls)
{
    double width = ATTRIBUTION_Z90 * relative_sd;
    joule_quantity q = {.value = value, .cls = cls};
    q.low = cls >= JOULE_CLASS_MODELLED ? value * exp(-width) : fmax(value * (1 - width), 0);
    q.high = cls >= JOULE_CLASS_MODELLED ? value * exp(width) : value * (1 + width);
    return q;
}

joule_quantity attribution_sum(const struct attribution_answer *answer, const double *part)
{
    size_t n = answer->count;
    double joules = 0, prior_joules = 0;
    for (size_t i = 0; i < n; i++) {
        joules += part[i] * answer->joules[i];
        prior_joules += part[i] * answer->prior_joules[i];
    }
    if (joules == 0) /* the joules of a group that did not run are 0 */
        return quantity_of(0, 0, class_of(answer, 0, 0));
    double sd = sqrt(variance_of(answer->covariance, answer->joules, n, part)) / joules;
    double prior_sd =
        sqrt(variance_of(answer->prior_covariance, answer->prior_joules, n, part)) / prior_joules;
    return quantity_of(joules, hypot(sd, answer->sum_sd), class_of(answer, sd, prior_sd));
}

/* --- merging of groups ---------------------------------------------------------------------------------- */

/* Sets of groups. joules: [count], in J; covariance: [count, count], in J^2. A set that was merged into
 * another set has 0 joules. */
struct sets {
    size_t count;
    double *covariance, *joules;
};

/* Returns the standard deviation of the joules of sets i and j together, divided by the greater of their
 * standard deviations. Returns INFINITY if the relative standard deviations of both are at most
 * ATTRIBUTION_VAGUE. */
static double merged_sd_ratio(const struct sets *s, size_t i, size_t j)
{
    size_t n = s->count;
    double left = s->covariance[i * n + i], right = s->covariance[j * n + j];
    double limit = ATTRIBUTION_VAGUE * ATTRIBUTION_VAGUE;
    bool is_vague = left > limit * s->joules[i] * s->joules[i] || right > limit * s->joules[j] * s->joules[j];
    if (!is_vague)
        return INFINITY;
    return sqrt(fmax(left + right + 2 * s->covariance[i * n + j], 0) / fmax(left, right));
}

/* Finds the pair of sets with the lowest merged_sd_ratio. Returns false if no pair has a ratio of at most
 * 0.5. */
static bool find_pair(const struct sets *s, size_t *out_i, size_t *out_j)
{
    double best = INFINITY;
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; s->joules[i] > 0 && j < i; j++) {
            double ratio = s->joules[j] > 0 ? merged_sd_ratio(s, i, j) : INFINITY;
            if (ratio > 0.5 || ratio >= best)
                continue;
            best = ratio;
            *out_i = i;
            *out_j = j;
        }
    return isfinite(best);
}

/* Merges set i into set j. Set i then has 0 joules. */
static void merge_sets(struct sets *s, size_t i, size_t j)
{
    size_t n = s->count;
    for (size_t k = 0; k < n; k++)
        s->covariance[j * n + k] += s->covariance[i * n + k];
    for (size_t k = 0; k < n; k++)
        s->covariance[k * n + j] += s->covariance[k * n + i];
    s->joules[j] += s->joules[i];
    s->joules[i] = 0;
}

joule_status attribution_merge(const struct attribution_answer *answer, size_t *out_set)
{
    size_t n = answer->count, i = 0, j = 0;
    for (size_t k = 0; k < n; k++)
        out_set[k] = k;
    struct sets sets = {.count = n, .covariance = calloc(n * n + n + 1, sizeof(double))};
    if (!sets.covariance)
        return JOULE_NO_MEMORY;
    sets.joules = sets.covariance + n * n;
    memcpy(sets.joules, answer->joules, n * sizeof *sets.joules);
    for (size_t k = 0; k < n * n; k++)
        sets.covariance[k] = answer->joules[k / n] * answer->covariance[k] * answer->joules[k % n];
    while (find_pair(&sets, &i, &j)) {
        merge_sets(&sets, i, j);
        for (size_t k = 0; k < n; k++)
            out_set[k] = out_set[k] == i ? j : out_set[k];
    }
    free(sets.covariance);
    return JOULE_OK;
}
