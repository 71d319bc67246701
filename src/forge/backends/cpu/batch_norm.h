/* backends/cpu/batch_norm.h - kernels for batch_norm on f32, bf16 and f16: training, its gradient, and
 * inference with running statistics.
 *
 * The kernels are in isa/batch_norm.inc. The work is divided by channel. A channel consists of one contiguous
 * run of elements for each example. The runs are summed in the order of the examples.
 * Note: the kernels do not support runs shorter than BATCH_NORM_RUN. For such runs, the basic operations of
 * the composite's body run instead.
 */
#ifndef FORGE_CPU_BATCH_NORM_H
#define FORGE_CPU_BATCH_NORM_H

#include "forge/ir/launch.h"

enum { BATCH_NORM_RUN = 8 }; /* minimum run length, in elements */

/* The gradient of x (output 0) may overwrite x (input 0) or the gradient of the result (input 3). */
#define BATCH_NORM_GRADIENT_IN_PLACE UINT64_C(0x9)

struct batch_norm {
    size_t examples, channels, run; /* run: elements per example and channel */
    double epsilon;
    const struct view *x, *weight, *bias; /* x: [examples, channels, run]; weight, bias: [channels] */
};

struct batch_norm batch_norm_of(const struct launch *launch);

/* Return true if the f32 kernel (or the kernel for bf16 and f16, for *_narrow) supports the launch.
 * Statistics are always f32. */
bool batch_norm_takes_training(const struct launch *launch);
bool batch_norm_takes_training_narrow(const struct launch *launch);
bool batch_norm_takes_gradient(const struct launch *launch);
bool batch_norm_takes_gradient_narrow(const struct launch *launch);
bool batch_norm_takes_running(const struct launch *launch);
bool batch_norm_takes_running_narrow(const struct launch *launch);
/* Returns the number of pieces. A piece is one channel. *out_grain: minimum number of pieces per thread. */
size_t batch_norm_pieces(const struct launch *launch, size_t *out_grain);

#endif
