/* ir/library_update.c - updates of parameters by optimisers, as composites.
 *
 * Note: the scalars of "adamw" are inputs, not attributes, because they change at every step.
 */
#include "forge/ir/library.h"

/* Builds one step of AdamW. The parameter, the gradient and the moments have the same shape. All other
 * inputs are scalars. */
void library_adamw(forge_builder *b, const forge_value *in, size_t count, const void *context,
                   forge_value *out)
{
    (void)count, (void)context;
    forge_value difference = forge_sub(b, in[ADAMW_GRADIENT], in[ADAMW_EXP_AVG]);
    forge_value exp_avg = forge_add(b, in[ADAMW_EXP_AVG], forge_mul(b, difference, in[ADAMW_ONE_LESS_BETA1]));
    forge_value square =
        forge_mul(b, forge_unary(b, FORGE_SQUARE, in[ADAMW_GRADIENT]), in[ADAMW_ONE_LESS_BETA2]);
    forge_value exp_avg_sq = forge_add(b, forge_mul(b, in[ADAMW_EXP_AVG_SQ], in[ADAMW_BETA2]), square);
    forge_value denominator =
        forge_add(b, forge_div(b, forge_sqrt(b, exp_avg_sq), in[ADAMW_ROOT]), in[ADAMW_EPSILON]);
    forge_value step = forge_mul(b, forge_div(b, exp_avg, denominator), in[ADAMW_STEP_SIZE]);
    out[0] = forge_sub(b, forge_mul(b, in[ADAMW_PARAMETER], in[ADAMW_KEEP]), step);
    out[1] = exp_avg;
    out[2] = exp_avg_sq;
}
