/* tools/forge/language_model.h - opens a model with its tokenizer and an engine, for the subcommands about
 * language models. */
#ifndef FORGE_LANGUAGE_MODEL_H
#define FORGE_LANGUAGE_MODEL_H

#include <forge/engine.h>
#include "common/options.h"

/* Options that the subcommands share. A member that is 0 or NULL was not given. */
struct language_options {
    const char *model, *tokenizer, *cache_type;
    unsigned threads;
    bool keeps_weights_mapped;
};

/* Writes the options --tokenizer, --threads, --cache-type and --no-repack to `rows`. Returns LANGUAGE_ROWS.
 */
enum { LANGUAGE_ROWS = 4 };
size_t language_options_add(struct language_options *options, struct option *rows);

struct language_model {
    const char *path;
    forge_model *model;
    const forge_tokenizer *tokenizer; /* NULL: none */
    forge_model_facts facts;
    forge_device *device;
    forge_engine *engine;
};

/* Opens the model, but no device and no engine. The caller may close *m even after an error. */
joule_status language_model_open(struct language_model *m, const struct language_options *options,
                                 joule_error *out_error);
/* Opens the device and an engine. engine: options; cache_dtype and keeps_weights_mapped are ignored, because
 * --cache-type and --no-repack determine them. If max_length is set but cache_tokens is 0, the cache has room
 * for max_batch_size sequences of this length. */
joule_status language_model_start(struct language_model *m, const struct language_options *options,
                                  const forge_engine_options *engine, joule_error *out_error);
void language_model_close(struct language_model *m);

/* Returns JOULE_INVALID with a message if the model has no tokenizer. */
joule_status language_model_need_tokenizer(const struct language_model *m, joule_error *out_error);
/* Converts text to tokens. flags: those of forge_tokenize. The caller frees *out_tokens with free(). */
joule_status text_to_tokens(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags,
                            int32_t **out_tokens, size_t *out_count, joule_error *out_error);

/* Like text_to_tokens, for a prompt: adds the tokens with which the model expects a text to begin. */
joule_status prompt_to_tokens(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags,
                              int32_t **out_tokens, size_t *out_count, joule_error *out_error);

/* Returns the contents of a file or pipe, at most MAX_INPUT bytes; path NULL: standard input up to its end.
 * The caller frees *out_text with free(). */
#define MAX_INPUT ((size_t)1 << 30)
joule_status input_read(const char *path, char **out_text, size_t *out_size, joule_error *out_error);

#endif
