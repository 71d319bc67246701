/* backends/cpu/attention.h - attention and its gradient, for f32, bf16 and f16.
 *
 * The work is divided into blocks. A block contains a few queries of one head and all keys to which they
 * attend, so that its scores stay in the cache. A struct attention_code contains the functions that depend on
 * the instruction set (isa/attention.inc).
 * Elements of bf16 and f16 are converted when products are packed (gemm.h); scores and weights are f32.
 * Note: the gradient kernel computes the attention weights again, because the forward kernel does not store
 * them. If a masked key or value is NaN, the result may or may not be NaN.
 */
#ifndef FORGE_CPU_ATTENTION_H
#define FORGE_CPU_ATTENTION_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/launch.h"

enum { ATTENTION_LANES = 16 }; /* rows of scores are padded to a multiple of this number of elements */

struct attention_code {
    const struct gemm_elements *elements; /* of inputs and outputs */
    /* Computes x = softmax(scale x), in place. x: [count], padded to whole vectors; sets the padding to 0. */
    void (*weigh)(float *x, float scale, size_t count);
    /* Replaces g, the gradient of the weights x, by the gradient of the scores: scale * x * (g - sum of x *
     * g). x, g: [count], padded to whole vectors; sets the padding of g to 0. */
    void (*back)(const float *x, float *g, float scale, size_t count);
};

/* Return true if the f32 kernel supports the launch. Inputs: q, k and v, with any strides; shapes as in
 * forge_attention. The kernel of the gradient has the gradient of the result as fourth input. Its outputs are
 * the gradients of q, k and v, which must all be requested. */
bool attention_takes(const struct launch *launch);
bool attention_takes_gradient(const struct launch *launch);
/* The same for the kernels of one type. */
bool attention_takes_bf16(const struct launch *launch);
bool attention_takes_f16(const struct launch *launch);
bool attention_takes_gradient_bf16(const struct launch *launch);
bool attention_takes_gradient_f16(const struct launch *launch);
/* Returns the number of pieces. A piece is one head of k and v in one example, and all heads of q that use
 * this head. *out_grain: minimum number of pieces per thread. */
size_t attention_pieces(const struct launch *launch, size_t *out_grain);

/* Returns the size of the gradient's shared memory, for sums in f32 of the gradients of k and v. Only the
 * kernels of bf16 and f16 use it. */
size_t attention_shared_bytes(const struct launch *launch);

/* Compute pieces [first, end). scratch: KERNEL_SCRATCH_BYTES of memory that no other thread uses. shared:
 * attention_shared_bytes; NULL for f32. */
void attention_run(const struct attention_code *code, const struct launch *launch, size_t first, size_t end,
                   void *scratch);
void attention_run_gradient(const struct attention_code *code, const struct launch *launch, size_t first,
                            size_t end, float *shared, void *scratch);

#endif
