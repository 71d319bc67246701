/* forge/sampling.h - how a token is chosen from a model's logits. */
#ifndef FORGE_SAMPLING_H
#define FORGE_SAMPLING_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order of the sampling steps. */
typedef enum forge_sampling_order {
    FORGE_ORDER_TEMPERATURE_FIRST = 0, /* as in vLLM: penalties, temperature, min-p, top-k, top-p */
    FORGE_ORDER_TEMPERATURE_LAST = 1,  /* as in llama.cpp: penalties, top-k, top-p, min-p, temperature */
} forge_sampling_order;

/* A token with its log-probability. Its layout is final. */
typedef struct forge_token_logprob {
    int32_t token;
    float logprob; /* natural logarithm, before temperature and filters */
} forge_token_logprob;

/* A number that is added to the logit of a token. Its layout is final. */
typedef struct forge_logit_bias {
    int32_t token;
    float bias; /* -100 to 100; -100 usually forbids the token, and 100 usually forces it */
} forge_logit_bias;

/* Options of sampling. Begin with forge_sampling_default, because 0 is not the neutral value of all
 * members. */
typedef struct forge_sampling {
    uint32_t struct_size;
    forge_sampling_order order;
    double temperature; /* 0 to 100; below 1e-5: the most likely token; 1: the model's probabilities */
    double top_p; /* above 0, up to 1; keeps the most likely tokens with this total probability; 1: off */
    double min_p; /* 0 to 1; keeps tokens with this share of the largest probability; 0: off */
    /* 0.01 to 100; 1: off. For each token in prompt or output, a positive logit is divided by this number,
     * and any other logit is multiplied by it. */
    double repetition_penalty;
    double presence_penalty;  /* -2 to 2; subtracted from the logits of tokens in the output; 0: off */
    double frequency_penalty; /* -2 to 2; subtracted for each time that the token is in the output; 0: off */
    uint64_t seed;
    int32_t top_k; /* keeps this number of most likely tokens; 0 or -1: off */
    uint32_t bias_count;
    const forge_logit_bias *biases; /* [bias_count]; several biases of one token are added; NULL: none */
} forge_sampling;

/* Returns options that change nothing: temperature 1, all filters and penalties off, seed 0. */
FORGE_API forge_sampling forge_sampling_default(void);

#ifdef __cplusplus
}
#endif
#endif
