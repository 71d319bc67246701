/* forge/sampling.h - how a token is chosen from a model's logits. */
#ifndef FORGE_SAMPLING_H
#define FORGE_SAMPLING_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order of the sampling steps. */
typedef enum forge_sampling_order {
    FORGE_ORDER_TEMPERATURE_FIRST = 0, /* as vLLM: penalties, temperature, min-p, top-k, top-p */
    FORGE_ORDER_TEMPERATURE_LAST = 1,  /* as llama.cpp: penalties, top-k, top-p, min-p, temperature */
} forge_sampling_order;

/* A number that is added to the logit of a token. Its layout is final. */
typedef struct forge_logit_bias {
    int32_t token;
    float bias; /* -100 to 100; -100 and 100 in effect forbid and force the token */
} forge_logit_bias;

/* Options of sampling. With all members except struct_size 0, forge_sampling_default is used for none of them:
 * begin with forge_sampling_default. */
typedef struct forge_sampling {
    uint32_t struct_size;
    forge_sampling_order order;
    double temperature; /* 0: the most likely token; 1: the model's probabilities; 0 to 100 */
    double top_p;       /* (0, 1]; 1: off */
    double min_p;       /* [0, 1]; 0: off */
    double repetition_penalty; /* above 0; 1: off */
    double presence_penalty, frequency_penalty; /* -2 to 2; 0: off */
    uint64_t seed;
    int32_t top_k;      /* 0: off */
    uint32_t bias_count;
    const forge_logit_bias *biases;
} forge_sampling;

/* Returns options that change nothing: temperature 1, all filters and penalties off, seed 0. */
FORGE_API forge_sampling forge_sampling_default(void);

#ifdef __cplusplus
}
#endif
#endif
