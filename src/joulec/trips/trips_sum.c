/* joulec/trips/trips_sum.c - see trips_sum.h.
 *
 * Closed sums use forward differences: a polynomial of degree d in i follows from d + 1 values. The sum of
 * C(i, k) for i < n is C(n, k + 1). Counts are polynomials only where no guard limits them to 0, which may
 * happen in the first or last iterations. So the first and last iterations are added one by one, and two more
 * values must agree with the polynomial. If any of these counts is negative, all iterations are added one by
 * one.
 */
#include "joulec/trips/trips_sum.h"

#include <math.h>

static enum trips_status sum_from(struct trips_nest *nest, size_t at, struct trips_sums *out);

/* Sets *out_trips to the iterations of one arrival. */
static enum trips_status iterations_of_arrival(struct trips_nest *nest, const struct trips_level *level,
                                               double *out_trips)
{
    *out_trips = level->fixed;
    if (!level->taken)
        return TRIPS_SUMMED;
    if (nest->budget < level->taken->nodes)
        return TRIPS_TOO_LONG;
    nest->budget -= level->taken->nodes;
    struct expr_range taken = expr_value(level->taken, (struct expr_values){nest->values, nest->value_count});
    if (!taken.is_known || taken.low != taken.high || (taken.low < 0 && level->is_unguarded) ||
        (taken.low < -1 && level->is_equality_test) || (taken.low >= 0 && taken.has_wrapped))
        return TRIPS_NO_FORMULA;
    *out_trips = taken.low < 0 ? 0 : (double)taken.low + 1;
    if (taken.low < -1 || *out_trips > level->max_iterations)
        nest->has_clamped = true;
    *out_trips = fmin(*out_trips, level->max_iterations);
    return TRIPS_SUMMED;
}

/* Sums the levels below for iteration i of the loop at `at`. */
static enum trips_status sum_below(struct trips_nest *nest, size_t at, double i, struct trips_sums *out)
{
    uint32_t name = nest->levels[at].name;
    if (name < nest->value_count)
        nest->values[name] = expr_point((expr_int)i);
    return sum_from(nest, at + 1, out);
}

static enum trips_status sum_each(struct trips_nest *nest, size_t at, double from, double to,
                                  struct trips_sums *sum)
{
    for (uint64_t i = 0; from + (double)i < to; i++) {
        struct trips_sums one;
        enum trips_status status = sum_below(nest, at, from + (double)i, &one);
        if (status != TRIPS_SUMMED)
            return status;
        sum->iterations += one.iterations;
        sum->entries += one.entries;
        if (nest->budget == 0)
            return TRIPS_TOO_LONG;
        nest->budget--;
    }
    return TRIPS_SUMMED;
}

/* A polynomial, as its value and forward differences at `from`. */
struct differences {
    double from, of_iterations[TRIPS_MAX_LEVELS + 1], of_entries[TRIPS_MAX_LEVELS + 1];
    uint32_t degree;
};

static void difference(double *values, uint32_t degree)
{
    for (uint32_t k = 1; k <= degree; k++)
        for (uint32_t i = degree; i >= k; i--)
            values[i] -= values[i - 1];
}

static double choose(double n, uint32_t k)
{
    struct expr_range chosen = expr_choose((expr_int)n, k);
    return chosen.is_known ? (double)chosen.low : INFINITY;
}

/* Returns the value at from + n (shift 0), or the sum of the n values from `from` on (shift 1). */
static struct trips_sums extrapolate(const struct differences *known, double n, uint32_t shift)
{
    long double iterations = 0, entries = 0;
    for (uint32_t k = 0; k <= known->degree; k++) {
        long double chosen = (long double)choose(n, k + shift);
        iterations += known->of_iterations[k] == 0 ? 0 : chosen * (long double)known->of_iterations[k];
        entries += known->of_entries[k] == 0 ? 0 : chosen * (long double)known->of_entries[k];
    }
    return (struct trips_sums){(double)iterations, (double)entries};
}

static bool agrees(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static enum trips_status compute_differences(struct trips_nest *nest, size_t at, struct differences *out)
{
    for (uint32_t k = 0; k <= out->degree; k++) {
        struct trips_sums one;
        enum trips_status status = sum_below(nest, at, out->from + k, &one);
        if (status != TRIPS_SUMMED || nest->has_clamped)
            return TRIPS_TOO_LONG;
        out->of_iterations[k] = one.iterations;
        out->of_entries[k] = one.entries;
    }
    difference(out->of_iterations, out->degree);
    difference(out->of_entries, out->degree);
    return TRIPS_SUMMED;
}

static bool is_confirmed(struct trips_nest *nest, size_t at, const struct differences *known, double n)
{
    struct trips_sums one, extrapolated = extrapolate(known, n, 0);
    return sum_below(nest, at, known->from + n, &one) == TRIPS_SUMMED &&
           agrees(extrapolated.iterations, one.iterations) && agrees(extrapolated.entries, one.entries) &&
           !nest->has_clamped;
}

/* Returns TRIPS_SUMMED, or another status if there is no closed sum. */
static enum trips_status sum_closed(struct trips_nest *nest, size_t at, double n, struct trips_sums *sum)
{
    struct differences known = {.degree = (uint32_t)(nest->count - 1 - at)};
    double edge = known.degree + 2;
    for (size_t k = at + 1; k < nest->count; k++)
        if (nest->levels[k].taken && expr_degree(nest->levels[k].taken) > 1)
            return TRIPS_NO_FORMULA;
    if (n <= 4 * edge || n > 0x1p62)
        return TRIPS_NO_FORMULA;
    known.from = edge;
    double middle = n - 2 * edge;
    if (sum_each(nest, at, 0, edge, sum) != TRIPS_SUMMED || nest->has_clamped)
        return TRIPS_NO_FORMULA;
    if (sum_each(nest, at, n - edge, n, sum) != TRIPS_SUMMED || nest->has_clamped)
        return TRIPS_NO_FORMULA;
    if (compute_differences(nest, at, &known) != TRIPS_SUMMED ||
        !is_confirmed(nest, at, &known, floor(middle / 2)) || !is_confirmed(nest, at, &known, middle - 1))
        return TRIPS_NO_FORMULA;
    struct trips_sums all = extrapolate(&known, middle, 1);
    sum->iterations += all.iterations;
    sum->entries += all.entries;
    return TRIPS_SUMMED;
}

/* Returns the minimum number of nodes to evaluate for adding n iterations one by one. */
static double cost_of_each(const struct trips_nest *nest, size_t at, double n)
{
    double nodes = 1;
    for (size_t k = at + 1; k < nest->count; k++)
        nodes += nest->levels[k].taken ? nest->levels[k].taken->nodes : 0;
    return n * nodes;
}

/* Estimates the sum from a sample: each of the first and last iterations, and one iteration from each
 * interval between them. An interval's length is a fixed part of the distance to the nearer end. Functions
 * such as 1 / i change by the same factor from 100 to 110 as from 1,000 to 1,100. */
#define SAMPLED_EDGE 64 /* minimum number of first and of last iterations that are all added */
#define SAMPLED_PART 32 /* distance to the nearer end, divided by the length of an interval */
static enum trips_status sum_sampled(struct trips_nest *nest, size_t at, double n, struct trips_sums *sum)
{
    nest->has_sampled = true;
    for (double from = 0; from < n;) {
        struct trips_sums one;
        double edge = fmin(from, n - from), length = fmax(1, floor((edge - SAMPLED_EDGE) / SAMPLED_PART));
        length = fmin(length, n - from);
        enum trips_status status = sum_below(nest, at, from + floor((length - 1) / 2), &one);
        if (status != TRIPS_SUMMED)
            return status;
        sum->iterations += length * one.iterations;
        sum->entries += length * one.entries;
        from += length;
    }
    return TRIPS_SUMMED;
}

/* Sums n arrivals at the next level, whose counts differ. */
static enum trips_status sum_differing(struct trips_nest *nest, size_t at, double n, struct trips_sums *out)
{
    if (isinf(n))
        return TRIPS_TOO_LONG;
    bool had_clamped = nest->has_clamped;
    nest->has_clamped = false;
    *out = (struct trips_sums){0};
    enum trips_status status = sum_closed(nest, at, n, out);
    if (status != TRIPS_SUMMED) {
        *out = (struct trips_sums){0};
        if (nest->may_sample && cost_of_each(nest, at, n) > (double)nest->budget)
            status = sum_sampled(nest, at, n, out);
        else
            status = (double)nest->budget < n ? TRIPS_TOO_LONG : sum_each(nest, at, 0, n, out);
    }
    nest->has_clamped = nest->has_clamped || had_clamped;
    return status;
}

static enum trips_status sum_from(struct trips_nest *nest, size_t at, struct trips_sums *out)
{
    const struct trips_level *level = &nest->levels[at];
    double trips;
    *out = (struct trips_sums){0};
    enum trips_status status = iterations_of_arrival(nest, level, &trips);
    if (status != TRIPS_SUMMED)
        return status;
    if (at + 1 == nest->count) {
        *out = (struct trips_sums){trips, fmin(trips, 1)};
    } else {
        double arrivals = fmax(trips - (level[1].misses_last ? 1 : 0), 0);
        if (level->is_used_below) {
            status = sum_differing(nest, at, round(arrivals), out);
        } else if (arrivals > 0) {
            status = sum_from(nest, at + 1, out);
            out->iterations = trips_times(out->iterations, arrivals);
            out->entries = trips_times(out->entries, arrivals);
        }
    }
    out->iterations = trips_times(out->iterations, level->probability);
    out->entries = trips_times(out->entries, level->probability);
    return status;
}

enum trips_status trips_sum(struct trips_nest *nest, struct trips_sums *out)
{
    nest->has_clamped = nest->has_sampled = false;
    for (size_t i = 0; i < nest->count; i++) {
        struct trips_level *level = &nest->levels[i];
        level->is_used_below = false;
        for (size_t k = i + 1; k < nest->count && level->name != INDEX_NONE; k++)
            if (nest->levels[k].taken && expr_uses(nest->levels[k].taken, level->name))
                level->is_used_below = true;
    }
    enum trips_status status = sum_from(nest, 0, out);
    out->is_sampled = nest->has_sampled;
    return status;
}
