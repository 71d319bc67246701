/* backends/cpu/runs.h - what kernels of single elements work on.
 *
 * Owns the way from views to runs: stretches of the output along which each input has one step. Newcomers: dimensions that
 * follow each other in every view at once are joined, so that two packed tensors are one run. An element's place in a run
 * never changes its bits.
 */
#ifndef FORGE_CPU_RUNS_H
#define FORGE_CPU_RUNS_H

#include "forge/ir/launch.h"

enum { RUN_INPUTS = 3 };

/* count elements from here on, input i every steps[i] elements. */
struct run {
    const void *inputs[RUN_INPUTS];
    int64_t steps[RUN_INPUTS];
    void *out;
    size_t count;
};

typedef void run_fn(const void *context, const struct run *run);

/* Calls fn for the runs of pieces [first, end). */
void runs_each(const struct launch *launch, size_t first, size_t end, run_fn *fn, const void *context);

/* Pieces of so many elements of the output, for operations that take about `ns` for 1000 elements. */
size_t runs_pieces(const struct launch *launch, double ns, size_t *out_grain);

#endif
