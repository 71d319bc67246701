/* infer/engine/batch_policy.c - see batch_policy.h. */
#include "forge/infer/engine/batch_policy.h"

#include <math.h>

#define MEAN_STEP 0.2 /* weight of a new measurement in a mean of joules per token */
/* Objective latency: maximum time of a step, relative to a step of one row. */
#define MAX_SLOWDOWN 2
/* Mean rows per sequence of a measured step; steps with many prompt rows are not measured. */
#define MAX_ROWS_PER_SEQUENCE 2
#define MIN_ROWS              16 /* rows that are always allowed, so that prompts progress */

/* Returns the index of a batch size: the smallest i for which 2^i >= size. */
static size_t size_index(size_t size)
{
    size_t i = 0;
    while (i + 1 < POLICY_SIZES && (size_t)1 << i < size)
        i++;
    return i;
}

void batch_policy_add_step(struct batch_policy *p, size_t sequences, size_t rows)
{
    if (p->tokens > 0 && size_index(sequences) != size_index(p->size))
        p->is_mixed = true;
    p->is_mixed |= rows > MAX_ROWS_PER_SEQUENCE * sequences;
    p->size = sequences;
    p->tokens += rows;
}

void batch_policy_add_joules(struct batch_policy *p, double joules)
{
    double *mean = &p->joules_per_token[size_index(p->size)];
    if (p->tokens > 0 && !p->is_mixed && joules > 0) {
        double now = joules / (double)p->tokens;
        *mean = *mean > 0 ? *mean + MEAN_STEP * (now - *mean) : now;
    }
    p->tokens = 0;
    p->is_mixed = false;
}

/* Returns the size with the fewest joules per token. If a neighbour of this size was never measured, returns
 * the neighbour. Returns max_size if no size was measured. */
static size_t cheapest_size(const struct batch_policy *p, size_t max_size)
{
    const double *joules = p->joules_per_token;
    size_t best = POLICY_SIZES;
    for (size_t i = 0; i < POLICY_SIZES; i++)
        if (joules[i] > 0 && (best == POLICY_SIZES || joules[i] < joules[best]))
            best = i;
    if (best == POLICY_SIZES)
        return max_size;
    if ((size_t)1 << best < max_size && joules[best + 1] == 0)
        best++;
    else if (best > 0 && joules[best - 1] == 0)
        best--;
    return (size_t)1 << best;
}

/* Returns the largest number of rows whose step takes at most MAX_SLOWDOWN times as long as a step of one
 * row. */
static size_t quick_rows(const struct step_times *times, size_t max_rows)
{
    double one = step_times_expect(times, 1);
    if (!(one > 0))
        return max_rows;
    size_t rows = 1;
    while (rows < max_rows && step_times_expect(times, (double)(rows + 1)) <= MAX_SLOWDOWN * one)
        rows++;
    return rows;
}

size_t batch_policy_sequences(const struct batch_policy *p, const struct step_times *times,
                              size_t max_sequences)
{
    size_t size = p->objective == FORGE_OBJECTIVE_ENERGY    ? cheapest_size(p, max_sequences)
                  : p->objective == FORGE_OBJECTIVE_LATENCY ? quick_rows(times, max_sequences)
                                                            : max_sequences;
    return size < max_sequences ? size : max_sequences;
}

size_t batch_policy_rows(const struct batch_policy *p, const struct step_times *times, size_t max_rows)
{
    if (p->objective != FORGE_OBJECTIVE_LATENCY)
        return max_rows;
    size_t rows = quick_rows(times, max_rows);
    rows = rows > MIN_ROWS ? rows : MIN_ROWS;
    return rows < max_rows ? rows : max_rows;
}
