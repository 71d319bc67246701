/* tests/support/tiny_model.h - small language models with random weights, for tests of the engine. */
#ifndef TINY_MODEL_H
#define TINY_MODEL_H

#include <forge/engine.h>
#include <stdint.h>

enum { TINY_VOCABULARY = 64, TINY_CONTEXT = 256 };
/* Seeds of models with special numbers. */
enum {
    TINY_NAN = 1000000, /* all logits are NaN */
    TINY_INFINITE,      /* logits are infinite */
    TINY_NAN_TOKEN      /* logits are NaN after token 0 in a text */
};

/* An open device, model and engine. */
struct tiny_model {
    forge_device *device;
    forge_model *model;
    forge_engine *engine;
};

/* Opens a model whose weights follow from `seed`, and an engine. It has no vocabulary, so no token ends an
 * answer. options: may be NULL. Fails the test on errors. The caller closes it with tiny_model_close. */
void tiny_model_open(struct tiny_model *tiny, uint64_t seed, const forge_engine_options *options);
void tiny_model_close(struct tiny_model *tiny);
/* Adds a greedy request for `max_tokens` tokens. Returns its number. */
uint64_t tiny_model_add(struct tiny_model *tiny, const int32_t *prompt, size_t count, uint32_t max_tokens,
                        double max_joules);

#endif
