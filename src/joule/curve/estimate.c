/* joule/curve/estimate.c - see estimate.h. Note: only this file uses the distributions from which low and
 * high are computed. */
#include "joule/curve/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct estimate estimate_zero(void)
{
    return (struct estimate){.cls = JOULE_CLASS_NONE};
}

struct estimate estimate_unknown(void)
{
    return (struct estimate){.value = NAN, .cls = JOULE_CLASS_NONE};
}

struct estimate estimate_make(double value, joule_class cls, double independent_sd, uint32_t cause,
                              double common_sd)
{
    struct estimate e = {.value = value, .variance = independent_sd * independent_sd, .cls = cls};
    if (cause != CAUSE_NONE && common_sd != 0) {
        e.common[0].cause = cause;
        e.common[0].sd = common_sd;
    }
    e.by_class[cls] = value;
    return e;
}

/* Adds `sd` to the error of `cause`. If the list of causes is full, adds the absolute value of `sd` to that
 * of the last entry. */
static void add_common(struct estimate *sum, uint32_t cause, double sd)
{
    for (size_t i = 0; i < ESTIMATE_CAUSES; i++) {
        if (sum->common[i].cause == cause || sum->common[i].cause == CAUSE_NONE) {
            sum->common[i].cause = cause;
            sum->common[i].sd += sd;
            return;
        }
    }
    double *last = &sum->common[ESTIMATE_CAUSES - 1].sd;
    *last = fabs(*last) + fabs(sd);
}

struct estimate estimate_add(struct estimate sum, double factor, const struct estimate *term)
{
    sum.value += factor * term->value;
    sum.variance += factor * factor * term->variance;
    for (size_t i = 0; i < ESTIMATE_CAUSES && term->common[i].cause != CAUSE_NONE; i++)
        add_common(&sum, term->common[i].cause, factor * term->common[i].sd);
    for (size_t i = 0; i < sizeof sum.by_class / sizeof sum.by_class[0]; i++)
        sum.by_class[i] += factor * term->by_class[i];
    if (term->cls > sum.cls)
        sum.cls = term->cls;
    return isnan(sum.value) ? estimate_unknown() : sum;
}

struct estimate estimate_scale(struct estimate e, double factor)
{
    struct estimate none = estimate_zero();
    return estimate_add(none, factor, &e);
}

struct estimate estimate_weaken(struct estimate e, joule_class cls)
{
    if (isnan(e.value) || e.cls >= cls)
        return e;
    for (size_t i = 0; i < (size_t)cls; i++) {
        e.by_class[cls] += e.by_class[i];
        e.by_class[i] = 0;
    }
    e.cls = cls;
    return e;
}

double estimate_sd(const struct estimate *e)
{
    double variance = e->variance;
    for (size_t i = 0; i < ESTIMATE_CAUSES && e->common[i].cause != CAUSE_NONE; i++)
        variance += e->common[i].sd * e->common[i].sd;
    return sqrt(variance);
}

joule_quantity quantity_unknown(void)
{
    return (joule_quantity){.value = NAN, .low = NAN, .high = NAN, .cls = JOULE_CLASS_NONE};
}

joule_quantity quantity_first_known(joule_quantity first, joule_quantity second)
{
    return isnan(first.value) ? second : first;
}

joule_quantity quantity_scale(joule_quantity q, double by)
{
    q.value *= by;
    q.low *= by;
    q.high *= by;
    return q;
}

joule_quantity quantity_limit_high(joule_quantity q, double limit)
{
    if (q.high > limit)
        q.high = fmax(q.value, limit);
    return q;
}

/* Returns true if the distribution is log-normal. Errors of models multiply the value, but errors of sensors
 * add to it. */
static bool is_lognormal(joule_class cls, double value)
{
    return cls >= JOULE_CLASS_MODELLED && value > 0;
}

joule_quantity estimate_quantity(const struct estimate *e)
{
    if (isnan(e->value))
        return quantity_unknown();
    joule_quantity q = {.value = e->value, .cls = e->cls};
    double sd = estimate_sd(e);
    if (is_lognormal(e->cls, e->value)) {
        double log_sd = sd / e->value;
        q.low = e->value * exp(-Z90 * log_sd);
        q.high = e->value * exp(Z90 * log_sd);
        return q;
    }
    q.low = e->value - Z90 * sd;
    q.high = e->value + Z90 * sd;
    if (q.low < 0 && e->value >= 0)
        /* energy is not negative; joule_probability_below uses only the upper half of the interval */
        q.low = 0;
    return q;
}

/* Returns the standard normal distribution function at `z`. */
static double normal_cdf(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

double joule_probability_below(joule_quantity q, double limit)
{
    if (isnan(q.value) || isnan(q.high) || isnan(limit))
        return NAN;
    if (is_lognormal(q.cls, q.value)) {
        double log_sd = log(q.high / q.value) / Z90;
        if (limit <= 0)
            return 0;
        return log_sd > 0 ? normal_cdf(log(limit / q.value) / log_sd) : (limit >= q.value);
    }
    double sd = (q.high - q.value) / Z90;
    return sd > 0 ? normal_cdf((limit - q.value) / sd) : (limit >= q.value);
}

double joule_confidence(joule_quantity q)
{
    if (isnan(q.value) || isnan(q.high))
        return NAN;
    if (q.high == q.value) /* exact */
        return 1;
    double a = joule_probability_below(q, 0.8 * q.value), b = joule_probability_below(q, 1.2 * q.value);
    return fabs(b - a);
}
