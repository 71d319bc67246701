/* backends/cpu/batch_norm.h - batch_norm, in training forward and back, and by running statistics, for f32
 * (isa/batch_norm.inc).
 *
 * Owns what these kernels take and how they are cut: by channels. Newcomers: a channel is a run of elements for each example;
 * its sums are of runs, in the examples' order. Where runs are shorter than BATCH_NORM_RUN, the composite is written out.
 */
#ifndef FORGE_CPU_BATCH_NORM_H
#define FORGE_CPU_BATCH_NORM_H

#include "forge/ir/launch.h"

enum { BATCH_NORM_RUN = 8 };

/* x's gradient may lie on x and on its own gradient. */
#define BATCH_NORM_GRADIENT_IN_PLACE UINT64_C(0x9)

struct batch_norm {
    size_t examples, channels, run; /* elements */
    double epsilon;
    const float *x, *weight, *bias;
};

struct batch_norm batch_norm_of(const struct launch *launch);

bool batch_norm_takes_training(const struct launch *launch);
bool batch_norm_takes_gradient(const struct launch *launch);
bool batch_norm_takes_running(const struct launch *launch);
size_t batch_norm_pieces(const struct launch *launch, size_t *out_grain);

#endif
