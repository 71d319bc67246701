/* infer/engine/sampler_state.h - the members of a sampler, for the files that implement sampler.h. */
#ifndef FORGE_INFER_SAMPLER_STATE_H
#define FORGE_INFER_SAMPLER_STATE_H

#include "base/index.h"
#include "forge/infer/engine/sampler.h"

/* How often a token occurs. */
struct token_count {
    int32_t token;
    uint32_t in_prompt, in_output;
};

struct sampler {
    forge_sampling options;
    forge_logit_bias *biases; /* copy; NULL: none */
    size_t vocabulary;
    float *maxima; /* work memory of the filters, [vocabulary / FILTER_BLOCK rounded up] */
    bool has_penalties;
    struct token_count *counts; /* one entry for each token that occurred */
    size_t count_count, count_capacity;
    struct index index; /* maps a token to the index of its entry in counts */
    uint32_t *history;  /* for each output token, in order, the index of its entry in counts */
    size_t history_count, history_capacity;
};

#endif
