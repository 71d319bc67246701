/* backends/cpu/attention.h - attention and its gradient, for f32.
 *
 * A block holds a few queries of one head and all keys that they can see, so scores never leave the cache.
 * Code that depends on the instruction set is in a struct attention_code (isa/attention.inc).
 * Note: the gradient recomputes the weights instead of storing them. A NaN in a masked key or value may or
 * may not reach the result.
 */
#ifndef FORGE_CPU_ATTENTION_H
#define FORGE_CPU_ATTENTION_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/launch.h"

enum { ATTENTION_LANES = 16 }; /* rows of scores are padded to a multiple of this many elements */

struct attention_code {
    const struct gemm_code *gemm;
    /* Computes x = softmax(scale x), in place. x: [count]; fills the rest of the last vector with 0. */
    void (*weigh)(float *x, float scale, size_t count);
    /* Replaces g, the gradient of the weights x, by the gradient of the scores: scale * x * (g - sum of
     * x * g). Both arrays are [count]. Fills the rest of the last vector of g with 0. */
    void (*back)(const float *x, float *g, float scale, size_t count);
};

/* Returns true if the kernel supports the launch. Inputs: q, k, v, with any strides. The gradient's fourth
 * input is the gradient of the result; its outputs are the gradients of q, k and v, and all three must be
 * requested. */
bool attention_takes(const struct launch *launch);
bool attention_takes_gradient(const struct launch *launch);
/* Returns the number of pieces. A piece is one head of k and v of one example, with all heads of q that use
 * it. *out_grain: minimum number of pieces per thread. */
size_t attention_pieces(const struct launch *launch, size_t *out_grain);

/* Compute pieces [first, end). scratch: KERNEL_SCRATCH_BYTES for this thread alone (kernel.h). */
void attention_run(const struct attention_code *code, const struct launch *launch, size_t first, size_t end,
                   void *scratch);
void attention_run_gradient(const struct attention_code *code, const struct launch *launch, size_t first,
                            size_t end, void *scratch);

#endif
