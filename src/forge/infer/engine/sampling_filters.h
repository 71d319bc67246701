/* infer/engine/sampling_filters.h - applies the filters top-k, top-p and min-p to logits, and computes the
 * probabilities of the tokens that they keep.
 *
 * Tokens are ordered by descending logit, and equal logits by ascending token id. Each filter keeps the first
 * tokens of this order. So one limit, the smallest logit that is kept, describes the result of several
 * filters. No filter sorts: radix selection finds the limit in three passes.
 * Note: logits of the other functions are finite or -INFINITY (not allowed), and contain no -0 and no NaN. */
#ifndef FORGE_INFER_SAMPLING_FILTERS_H
#define FORGE_INFER_SAMPLING_FILTERS_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_BLOCK 64 /* number of logits for each entry of `maxima` */

/* Returns true if all numbers are finite. */
bool filter_is_finite(const float *logits, size_t count);

/* The logits that are filtered. */
struct filter_logits {
    float *values; /* [count] */
    /* [count / FILTER_BLOCK rounded up]: an upper bound of each block of FILTER_BLOCK logits. */
    float *maxima;
    size_t count;
    float max; /* maximum of all logits, above -INFINITY */
};

/* Each function applies one filter to the tokens with a logit of at least `limit`, and returns the new limit,
 * which is not lower. FILTER_NONE: the limit that keeps all tokens that are allowed. If several tokens have
 * the logit of the new limit, the logits of those that the filter does not keep become -INFINITY. scale: 1 /
 * temperature, by which logits are multiplied.
 * filter_top_k keeps the k most likely tokens, k > 0. filter_top_p keeps the most likely tokens whose
 * probabilities reach `p`, 0 < p < 1, relative to the tokens within `limit` and up to a rounding error of
 * 1e-6. filter_min_p keeps tokens with at least `p` times the largest probability, 0 < p <= 1. */
#define FILTER_NONE (-FLT_MAX)
float filter_top_k(const struct filter_logits *logits, float limit, size_t k);
float filter_top_p(const struct filter_logits *logits, float limit, double p, float scale);
float filter_min_p(const struct filter_logits *logits, float limit, double p, float scale);
/* Replaces the logits by the probabilities of the tokens within `limit`; the others have probability 0. */
void filter_finish(const struct filter_logits *logits, float limit, float scale);

#endif
