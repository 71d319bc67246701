/* tools/forge/random_model.h - writes language models with random weights, to compare the speed of
 * engines. */
#ifndef FORGE_RANDOM_MODEL_H
#define FORGE_RANDOM_MODEL_H

#include <forge/dtype.h>
#include <stdint.h>

struct random_model {
    const char *name; /* name of the shape, for example "llama-1.1b" */
    int64_t width, hidden, layers, heads, kv_heads, vocabulary, context;
    forge_dtype dtype; /* element type of all matrices */
};

/* The names of all shapes and types, for help and messages. */
extern const char random_model_shapes[], random_model_types[];

/* Parses "SHAPE:TYPE", for example "llama-1.1b:q8_0". If the shape or type is unknown, prints a message of
 * `subcommand` and returns false. */
bool random_model_parse(const char *text, const char *subcommand, struct random_model *out_model);

/* Writes the model as a GGUF file, with a vocabulary of SentencePiece. Weights of a matrix are uniform in
 * +-1/sqrt(number of inputs), and are then rounded to the type. Weights of norms are 1. The same shape, type
 * and seed give the same file. Errors: those of gguf_write. */
joule_status random_model_write(const struct random_model *model, uint64_t seed, const char *path,
                                joule_error *out_error);

#endif
