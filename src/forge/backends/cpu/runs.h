/* backends/cpu/runs.h - divides the operands of elementwise kernels into runs.
 *
 * A run is a contiguous stretch of the output along which each input has a constant step. Dimensions are
 * joined if each input has a constant step across them, so packed tensors form one run. Short runs are joined
 * too, after their inputs have been copied to memory in which they have a constant step. The result of an
 * element does not depend on its position in a run.
 */
#ifndef FORGE_CPU_RUNS_H
#define FORGE_CPU_RUNS_H

#include "forge/ir/launch.h"

enum { RUN_INPUTS = 16 }; /* maximum number of inputs */

/* A run of `count` elements. Consecutive elements of input i are steps[i] elements apart. */
struct run {
    const void *inputs[RUN_INPUTS];
    int64_t steps[RUN_INPUTS];
    void *out;
    size_t count;
};

typedef void run_fn(const void *context, const struct run *run);

/* The dimensions of a launch, joined where each input has a constant step across them. */
struct runs {
    uint32_t rank; /* number of joined dimensions, at least 1 */
    size_t dims[FORGE_MAX_RANK];
    int64_t strides[RUN_INPUTS][FORGE_MAX_RANK];
    size_t input_count, input_bytes[RUN_INPUTS], out_bytes;
    bool are_short; /* runs are joined, after inputs without a constant step have been copied */
};
struct runs runs_of(const struct launch *launch);
/* Calls fn for the runs of the output's elements [at, stop). */
void runs_between(const struct runs *runs, const struct launch *launch, size_t at, size_t stop, run_fn *fn,
                  const void *context);

/* Copies elements that are `step` elements apart. bytes: size of an element. */
void runs_copy(void *to, const void *from, int64_t step, size_t count, size_t bytes);
/* Calls fn for the runs of pieces [first, end). */
void runs_each(const struct launch *launch, size_t first, size_t end, run_fn *fn, const void *context);

/* Returns the number of pieces for an operation that takes about `ns` nanoseconds per 1000 elements.
 * *out_grain: minimum number of pieces per thread. */
size_t runs_pieces(const struct launch *launch, double ns, size_t *out_grain);

#endif
