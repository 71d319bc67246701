/* infer/sampling_filters.h - the filters top-k, top-p and min-p as limits in the order of the tokens, and the
 * probabilities of the tokens that they keep.
 *
 * Tokens are ordered by descending logit, and equal logits by ascending token id. Each filter keeps the first
 * tokens of this order, so any sequence of filters is one limit. No filter sorts: radix selection finds the
 * last kept token in three passes.
 * Note: logits of this file are finite or -INFINITY (not allowed), and contain no -0 and no NaN.
 */
#ifndef FORGE_INFER_SAMPLING_FILTERS_H
#define FORGE_INFER_SAMPLING_FILTERS_H

#include <stddef.h>
#include <stdint.h>

#define FILTER_BLOCK 64 /* tokens with one entry of `maxima` */

/* The logits that are filtered. */
struct filter_logits {
    float *values;       /* [count] */
    const float *maxima; /* maximum of each FILTER_BLOCK logits, [count / FILTER_BLOCK rounded up] */
    size_t count;
    float max; /* maximum of all logits, above -INFINITY */
};

/* The last kept token: tokens with a larger logit are kept, and those with the same logit up to this id. */
struct filter_limit {
    float logit;
    int32_t token;
};

/* Returns the limit that keeps all tokens that are allowed. */
struct filter_limit filter_none(void);
/* Each returns `limit` tightened by one filter. scale: 1 / temperature, by which logits are multiplied.
 * filter_top_k keeps the k most likely tokens, k > 0. filter_top_p keeps the most likely tokens whose
 * probabilities reach `p`, 0 < p < 1, up to a relative rounding error of 1e-6, relative to the tokens within
 * `limit`. filter_min_p keeps tokens with at least `p` times the largest probability, 0 < p <= 1. */
struct filter_limit filter_top_k(const struct filter_logits *logits, struct filter_limit limit, size_t k);
struct filter_limit filter_top_p(const struct filter_logits *logits, struct filter_limit limit, double p,
                                 float scale);
struct filter_limit filter_min_p(const struct filter_logits *logits, struct filter_limit limit, double p,
                                 float scale);
/* Replaces the logits by the probabilities of the tokens within `limit`; the others have probability 0. */
void filter_finish(const struct filter_logits *logits, struct filter_limit limit, float scale);

#endif
