/* infer/tokenizer/tokenizer_json.h - functions that the parts of the reader of tokenizer.json share. */
#ifndef FORGE_INFER_TOKENIZER_JSON_H
#define FORGE_INFER_TOKENIZER_JSON_H

#include "base/error.h"
#include "base/json.h"
#include "forge/infer/tokenizer/tokenizer_read.h"

/* A file that is being read. */
struct json_tokenizer {
    struct arena *arena; /* memory of the vocabulary */
    struct vocabulary *vocabulary;
    const char *path;
    const struct json_value *root;
    bool ignores_merges;
    joule_error *error;
};

/* Sets a status, and the message "cannot read PATH: ...". Returns the status. */
#define json_tokenizer_fail(reading, status, format, ...)                                                    \
    error_set((reading)->error, status, "cannot read %s: " format, (reading)->path, __VA_ARGS__)

/* Returns true if `value` is a string that equals `text`. */
bool json_is_text(const struct json_value *value, const char *text);
/* Returns the value of a JSON true or false. Returns `otherwise` if `value` is NULL or another kind of
 * value. */
bool json_flag(const struct json_value *value, bool otherwise);
/* Returns the token with this text, or -1. text: may be NULL. */
int32_t json_tokenizer_find(const struct json_tokenizer *reading, const char *text);

/* Reads normalizer and pre_tokenizer. Sets the kind of the vocabulary and the treatment of spaces and pieces.
 * JOULE_UNSUPPORTED: a step is unknown; the message names it. */
joule_status json_read_steps(struct json_tokenizer *reading);
/* Reads post_processor: the tokens that are added at the beginning and the end of a text. Call it after all
 * tokens are read. */
joule_status json_read_ends(struct json_tokenizer *reading);
/* Reads tokenizer_config.json in the same folder, if it exists: special tokens and the chat template. */
joule_status json_read_config(struct json_tokenizer *reading);

#endif
