/* backends/cpu/attention.h - attention and its gradient, for f32.
 *
 * Owns what the kernels take, and their blocks: a few queries of a head with all keys that they see, so that scores never
 * leave the cache. What differs by instruction set is in a struct attention_code (isa/attention.inc). Newcomers: the gradient
 * computes the weights again instead of keeping them; a NaN among keys and values that a query must not see may reach it, or
 * not.
 */
#ifndef FORGE_CPU_ATTENTION_H
#define FORGE_CPU_ATTENTION_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/launch.h"

enum { ATTENTION_LANES = 16 }; /* rows of scores have room for a multiple of so many */

struct attention_code {
    const struct gemm_code *gemm;
    /* x = softmax(scale x); up to the end of a vector 0 follows. */
    void (*weigh)(float *x, float scale, size_t count);
    /* g = scale x (g - sum of x g): from the weights' gradient to the scores'; 0 follows likewise. */
    void (*back)(const float *x, float *g, float scale, size_t count);
};

/* q, k and v with any strides; of the gradient also that of the result, and all three are wanted. */
bool attention_takes(const struct launch *launch);
bool attention_takes_gradient(const struct launch *launch);
/* Heads of k and v, each with all that look at it. */
size_t attention_pieces(const struct launch *launch, size_t *out_grain);

void attention_run(const struct attention_code *code, const struct launch *launch, size_t first, size_t end,
                   void *scratch);
void attention_run_gradient(const struct attention_code *code, const struct launch *launch, size_t first,
                            size_t end, void *scratch);

#endif
