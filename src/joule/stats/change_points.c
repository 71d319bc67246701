/* joule/stats/change_points.c - see change_points.h. */
#include "joule/stats/change_points.h"

#include <math.h>
#include <stdint.h>
#include "joule/stats/interval.h"
#include "joule/stats/piecewise_cost.h"
#include "joule/stats/sample.h"

#define PHASE_LEVEL 0.95
/* A phase of min_count values consists of about this many blocks. The search takes the means of blocks. */
#define BLOCKS_PER_PHASE 6
/* Penalty of a change, divided by the logarithm of the number of blocks. At 2, noise alone makes a change with
 * a probability that decreases with the count; 3 leaves room for noise that is not normal. */
#define PENALTY         3.0
#define MIN_DIFFERENCES 16 /* the noise of blocks is not estimated from fewer differences */

/* Sets out_means to the means of successive blocks and returns their number. The last block may be longer. */
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
    double penalty, width; /* of a change; of the loss */
};

/* Sets origins. Returns false if out of memory. Note: a phase of k blocks can save at most k width^2, and two
 * changes cost twice the penalty. */
static bool search(const struct search *search, struct arena *arena)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < search->count; i++) {
        low = fmin(low, search->blocks[i]);
        high = fmax(high, search->blocks[i]);
    }
    struct piecewise_cost cost;
    if (!piecewise_cost_begin(&cost, low, high, arena))
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

/* Sets out's items from the origins. length: of a block. Returns false if out of memory. */
static bool collect(const double *values, size_t count, const struct search *found, size_t length,
                    struct arena *arena, struct phases *out)
{
    size_t phases = 0;
    for (size_t end = found->count; end > 0; end = found->origins[end - 1])
        phases++;
    struct phase *items = arena_alloc(arena, phases * sizeof *items);
    if (!items)
        return false;
    size_t until = count, at = phases;
    for (size_t end = found->count; end > 0; end = found->origins[end - 1]) {
        size_t first = found->origins[end - 1] * length;
        items[--at] = (struct phase){.first = first, .count = until - first};
        until = first;
    }
    for (size_t i = 0; i < phases; i++) {
        const double *own = values + items[i].first;
        double sd = fmax(sample_sd(own, items[i].count), out->noise_sd);
        struct interval mean =
            interval_from_moments(sample_mean(own, items[i].count), sd, items[i].count, PHASE_LEVEL);
        items[i].mean = mean.value;
        items[i].low = mean.low;
        items[i].high = mean.high;
    }
    out->items = items;
    out->count = phases;
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

bool change_points_find(const double *values, size_t count, const struct phase_rule *rule,
                        struct arena *arena, struct phases *out)
{
    *out = (struct phases){.noise_sd = NAN};
    if (!are_finite(values, count) || count > SIZE_MAX / sizeof(double))
        return false;
    size_t length = rule->min_count > BLOCKS_PER_PHASE ? rule->min_count / BLOCKS_PER_PHASE : 1;
    length = length < count ? length : count;
    if (count == 0)
        return true;
    struct search found = {.blocks = arena_alloc(arena, count * sizeof(double)), .count = count / length};
    found.origins = arena_alloc(arena, found.count * sizeof *found.origins);
    if (!found.blocks || !found.origins)
        return false;
    out->noise_sd = change_points_noise(values, count, rule->min_count, found.blocks);
    block_means(values, count, length, found.blocks);
    double center = found.blocks[0], scale = out->noise_sd > 0 ? sqrt((double)length) / out->noise_sd : 0;
    for (size_t i = 0; i < found.count; i++)
        found.blocks[i] = (found.blocks[i] - center) * scale;
    size_t min_blocks = rule->min_count > length ? rule->min_count / length : 1;
    found.penalty = PENALTY * (rule->caution > 0 ? rule->caution : 1) * log((double)found.count + 1);
    found.width = sqrt(2 * found.penalty / (double)min_blocks);
    return search(&found, arena) && collect(values, count, &found, length, arena, out);
}
