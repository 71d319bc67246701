/* infer/engine/constraint.h - computes which tokens may follow an answer that must satisfy a JSON schema. */
#ifndef FORGE_INFER_CONSTRAINT_H
#define FORGE_INFER_CONSTRAINT_H

#include <forge/tokenizer.h>
#include "forge/infer/grammar/grammar.h"

struct constraint; /* one thread at a time */

/* Creates the trie of the texts of a tokenizer's ordinary tokens. The caller owns it (token_trie_free). */
joule_status constraint_trie_new(const forge_tokenizer *tokenizer, struct token_trie **out_trie,
                                 joule_error *out_error);
/* Creates the constraint of a schema; NULL: any JSON object. The trie and the tokenizer must outlive it.
 * Errors: those of grammar_new. */
joule_status constraint_new(const char *schema, const forge_tokenizer *tokenizer,
                            const struct token_trie *trie, size_t vocabulary,
                            struct constraint **out_constraint, joule_error *out_error);
void constraint_free(struct constraint *constraint);

/* Returns a mask of the tokens that may follow the answer with `tokens` [count] appended; the answer itself
 * does not change. Token i is allowed if bit i % 32 of word i / 32 is set. Tokens that end the answer are
 * allowed if the text is complete. NULL: no token is allowed. The mask is valid until the next call. */
const uint32_t *constraint_mask(struct constraint *constraint, const int32_t *tokens, size_t count);
/* Returns true if the answer is a whole text. */
bool constraint_is_complete(const struct constraint *constraint);
/* Adds a token to the answer. */
void constraint_add(struct constraint *constraint, int32_t token);

#endif
