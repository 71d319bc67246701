/* tools/forge/serve_tokens.h - converts the texts of requests to tokens. */
#ifndef SERVE_TOKENS_H
#define SERVE_TOKENS_H

#include "base/arena.h"
#include "serve.h"
#include "serve_fields.h"

/* The texts of a model's control tokens, such as "<|im_end|>". */
struct control_tokens;
/* Returns the texts of a tokenizer's control tokens, or NULL if out of memory. The caller frees them with
 * control_tokens_free. */
struct control_tokens *control_tokens_new(const forge_tokenizer *tokenizer);
void control_tokens_free(struct control_tokens *tokens);
/* Returns a copy of a user's text in memory of the arena, in which the text of each control token is divided
 * by a mark; NULL: out of memory. tokens_of_template converts the text on each side of a mark separately. So
 * the user's text contains no control tokens, and cannot end a turn of a conversation. */
char *control_tokens_divide(const struct control_tokens *tokens, const char *text, struct arena *arena);

/* Returns false with a failure if each text of `size` bytes has more tokens than the server allows. So very
 * long texts need not be converted. param: name of the field in the failure. */
bool check_text_size(const struct server *server, size_t size, const char *param, struct failure *failure);
/* Converts a text to tokens in memory of the arena. flags: those of forge_tokenize. Returns false with a
 * failure if out of memory, or if there are more than max_tokens; SIZE_MAX: no limit. */
bool tokens_of_text(const struct server *server, size_t max_tokens, const char *text, size_t size,
                    uint32_t flags, const char *param, struct arena *arena, int32_t **out_tokens,
                    size_t *out_count, struct failure *failure);
/* Converts a rendered chat template to tokens, like tokens_of_text. The text may contain marks of
 * control_tokens_divide. If the model begins all texts with a BOS token, the tokens begin with exactly one
 * BOS token. */
bool tokens_of_template(const struct server *server, char *text, struct arena *arena, int32_t **out_tokens,
                        size_t *out_count, struct failure *failure);

#endif
