/* joule/stats/change_points.c - see change_points.h. */
#include "joule/stats/change_points.h"

#include <math.h>
#include "joule/stats/interval.h"
#include "joule/stats/piecewise_cost.h"
#include "joule/stats/sample.h"

#define PHASE_LEVEL 0.95
/* A phase of min_count values consists of about this many blocks. The search takes the means of blocks. */
#define BLOCKS_PER_PHASE 6
/* Penalty of a change, divided by the logarithm of the number of blocks. At 2, noise alone makes a change
 * with a probability that decreases with the count; 3 leaves room for noise that is not normal. */
#define PENALTY         3.0
#define MIN_DIFFERENCES 16 /* the noise of blocks is not estimated from fewer differences */

/* Sets out_means to the means of successive blocks and returns their number. The last block may be
 * longer. */
static size_t block_means(const double *values, size_t count, size_t length, double *out_means)
{
    size_t blocks = count / length;
    for (size_t i = 0; i < blocks; i++)
        out_means[i] = sample_mean(values + i * length, i + 1 < blocks ? length : count - i * length);
    return blocks;
}

/* Returns the robust sd of one value, from differences of neighbouring blocks. scratch: [count] */
static double noise_of_blocks(const double *values, size_t count, size_t length, double *scratch)
{
    size_t blocks = block_means(values, count, length, scratch);
    for (size_t i = 0; i + 1 < blocks; i++)
        scratch[i] = fabs(scratch[i + 1] - scratch[i]);
    sample_sort(scratch, blocks - 1);
    double size = sample_quantile(scratch, blocks - 1, 0.5);
    return size / (SAMPLE_NORMAL_QUARTILE * sqrt(2)) * sqrt((double)length);
}

/* Returns the smallest difference of neighbours that is not 0; 0 if there is none. It is the resolution of a
 * sensor whose values rarely change. */
static double resolution(const double *values, size_t count)
{
    double smallest = INFINITY;
    for (size_t i = 0; i + 1 < count; i++)
        if (values[i] != values[i + 1])
            smallest = fmin(smallest, fabs(values[i + 1] - values[i]));
    return isinf(smallest) ? 0 : smallest;
}

double change_points_noise(const double *values, size_t count, size_t max_block, double *scratch)
{
    if (count < 2)
        return NAN;
    double noise = noise_of_blocks(values, count, 1, scratch);
    for (size_t length = 2; length <= max_block && count / length > MIN_DIFFERENCES; length *= 2)
        noise = fmax(noise, noise_of_blocks(values, count, length, scratch));
    return fmax(noise, resolution(values, count) / sqrt(12));
}

/* The search: blocks with a noise of 1, and for each block the first block of the best last phase that ends
 * with it. */
struct search {
    double *blocks;
    size_t *origins;
    size_t count;
    double penalty; /* of a change */
    double width;   /* limit of a block's distance. An excursion of k blocks can save k width^2, and costs two
                     * changes. */
};

/* Sets the origins. Returns false if out of memory. */
static bool search(const struct search *search, struct arena *arena)
{
    struct piecewise_cost cost;
    if (!piecewise_cost_begin(&cost, arena))
        return false;
    for (size_t i = 0; i < search->count; i++) {
        if (i > 0 && !piecewise_cost_limit(&cost, cost.least + search->penalty, i))
            return false;
        if (!piecewise_cost_add(&cost, search->blocks[i], search->width))
            return false;
        piecewise_cost_minimise(&cost);
        search->origins[i] = cost.best_origin;
    }
    return true;
}

/* Allocates out's items and sets their bounds from the origins. length: of a block. Returns false if out of
 * memory. */
static bool collect(size_t count, const struct search *found, size_t length, struct arena *arena,
                    struct phases *out)
{
    size_t phases = 0, until = count;
    for (size_t end = found->count; end > 0; end = found->origins[end - 1])
        phases++;
    out->items = arena_alloc(arena, phases * sizeof *out->items);
    if (!out->items)
        return false;
    out->count = phases;
    for (size_t end = found->count; end > 0; end = found->origins[end - 1]) {
        size_t first = found->origins[end - 1] * length;
        out->items[--phases] = (struct phase){.first = first, .count = until - first};
        until = first;
    }
    return true;
}

/* Moves the bound between two phases, by less than `length`, to where the squared distances from their means
 * are least. The search knows bounds only as multiples of a block. */
static void refine(const double *values, struct phase *left, struct phase *right, size_t length)
{
    size_t end = right->first + right->count, best = right->first;
    size_t from = left->count > length ? best - length + 1 : left->first + 1;
    size_t to = right->count > length ? best + length - 1 : end - 1;
    double sum = 0, least = INFINITY; /* of the cost if the phase on the left ends before value i */
    for (size_t i = from; i <= to; i++) {
        if (sum < least) {
            least = sum;
            best = i;
        }
        double from_left = values[i] - left->mean, from_right = values[i] - right->mean;
        sum += from_left * from_left - from_right * from_right;
    }
    left->count = best - left->first;
    right->first = best;
    right->count = end - best;
}

/* Sets the mean of a phase and its interval. */
static void set_mean(const double *values, double noise_sd, struct phase *phase)
{
    const double *own = values + phase->first;
    double sd = fmax(sample_sd(own, phase->count), noise_sd);
    struct interval mean =
        interval_from_moments(sample_mean(own, phase->count), sd, phase->count, PHASE_LEVEL);
    phase->mean = mean.value;
    phase->low = mean.low;
    phase->high = mean.high;
}

/* Sets out's items. Returns false if out of memory. */
static bool describe(const double *values, size_t count, const struct search *found, size_t length,
                     struct arena *arena, struct phases *out)
{
    if (!collect(count, found, length, arena, out))
        return false;
    for (size_t i = 0; i < out->count; i++)
        set_mean(values, out->noise_sd, &out->items[i]);
    for (size_t i = 0; length > 1 && i + 1 < out->count; i++)
        refine(values, &out->items[i], &out->items[i + 1], length);
    for (size_t i = 0; length > 1 && i < out->count; i++)
        set_mean(values, out->noise_sd, &out->items[i]);
    return true;
}

/* Returns true if all values are finite. */
static bool are_finite(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* Allocates the search and sets its blocks. Returns false if out of memory. */
static bool prepare(const double *values, size_t count, size_t length, double noise_sd, struct arena *arena,
                    struct search *out)
{
    *out = (struct search){.blocks = arena_alloc(arena, count / length * sizeof(double)),
                           .count = count / length};
    out->origins = arena_alloc(arena, out->count * sizeof *out->origins);
    if (!out->blocks || !out->origins)
        return false;
    block_means(values, count, length, out->blocks);
    double first = out->blocks[0], scale = noise_sd > 0 ? sqrt((double)length) / noise_sd : 0;
    for (size_t i = 0; i < out->count; i++)
        out->blocks[i] = (out->blocks[i] - first) * scale;
    return true;
}

bool change_points_find(const double *values, size_t count, const struct phase_rule *rule,
                        struct arena *arena, struct phases *out)
{
    *out = (struct phases){.noise_sd = NAN};
    if (count == 0 || !are_finite(values, count))
        return count == 0;
    size_t min_count = rule->min_count < 1 ? 1 : rule->min_count > count ? count : rule->min_count;
    size_t length = min_count > BLOCKS_PER_PHASE ? min_count / BLOCKS_PER_PHASE : 1;
    double *scratch = arena_alloc(arena, count * sizeof *scratch);
    if (!scratch)
        return false;
    out->noise_sd = change_points_noise(values, count, min_count, scratch);
    struct search found;
    if (!prepare(values, count, length, out->noise_sd, arena, &found))
        return false;
    double factor = rule->penalty_factor > 0 ? rule->penalty_factor : 1;
    found.penalty = PENALTY * factor * log((double)found.count + 1);
    size_t min_blocks = min_count / length;
    found.width = sqrt(2 * found.penalty / (double)min_blocks);
    return search(&found, arena) && describe(values, count, &found, length, arena, out);
}
