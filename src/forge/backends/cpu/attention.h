/* backends/cpu/attention.h - attention and its gradient, for f32.
 *
 * The work is divided into blocks. A block contains a few queries of one head and all keys to which they
 * attend, so that its scores stay in the cache. A struct attention_code contains the functions that depend on
 * the instruction set (isa/attention.inc).
 * Note: the gradient kernel computes the attention weights again, because the forward kernel does not store
 * them. If a masked key or value is NaN, the result may or may not be NaN.
 */
#ifndef FORGE_CPU_ATTENTION_H
#define FORGE_CPU_ATTENTION_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/launch.h"

enum { ATTENTION_LANES = 16 }; /* rows of scores are padded to a multiple of this number of elements */

struct attention_code {
    const struct gemm_code *gemm;
    /* Computes x = softmax(scale x), in place. x: [count], padded to whole vectors; sets the padding to 0. */
    void (*weigh)(float *x, float scale, size_t count);
    /* Replaces g, the gradient of the weights x, by the gradient of the scores: scale * x * (g - sum of x *
     * g). x, g: [count], padded to whole vectors; sets the padding of g to 0. */
    void (*back)(const float *x, float *g, float scale, size_t count);
};

/* Return true if the kernel supports the launch. Inputs: q, k and v, with any strides; shapes as in
 * forge_attention. The kernel of the gradient has the gradient of the result as fourth input. Its outputs are
 * the gradients of q, k and v, which must all be requested. */
bool attention_takes(const struct launch *launch);
bool attention_takes_gradient(const struct launch *launch);
/* Returns the number of pieces. A piece is one head of k and v in one example, and all heads of q that use
 * this head. *out_grain: minimum number of pieces per thread. */
size_t attention_pieces(const struct launch *launch, size_t *out_grain);

/* Compute pieces [first, end). scratch: KERNEL_SCRATCH_BYTES of memory that no other thread uses. */
void attention_run(const struct attention_code *code, const struct launch *launch, size_t first, size_t end,
                   void *scratch);
void attention_run_gradient(const struct attention_code *code, const struct launch *launch, size_t first,
                            size_t end, void *scratch);

#endif
