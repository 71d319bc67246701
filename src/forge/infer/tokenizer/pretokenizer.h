/* infer/tokenizer/pretokenizer.h - splits a text into pieces. Byte-level BPE merges only within a piece.
 *
 * Note: needs the library PCRE2. Without it, pretokenizer_new returns JOULE_UNSUPPORTED. */
#ifndef FORGE_INFER_PRETOKENIZER_H
#define FORGE_INFER_PRETOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <joule/base.h>

struct pretokenizer;      /* immutable; any thread may use it */
struct pretokenizer_work; /* memory of one thread */

/* Compiles the patterns of a pre-tokenizer. name: as in GGUF files ("llama-bpe"); NULL: "gpt-2".
 * JOULE_UNSUPPORTED: the name is unknown, and the message lists the known ones; or PCRE2 is missing. */
joule_status pretokenizer_new(const char *name, struct pretokenizer **out_pretokenizer,
                              joule_error *out_error);
/* Frees a pre-tokenizer. NULL is allowed. */
void pretokenizer_free(struct pretokenizer *pretokenizer);
/* Returns true if models of this pre-tokenizer skip the merges for a piece that is itself a token. */
bool pretokenizer_ignores_merges(const char *name);
/* Returns the name of the pre-tokenizer that has this pattern in a tokenizer.json of Hugging Face, and for
 * which pretokenizer_ignores_merges returns ignores_merges; NULL: there is none. */
const char *pretokenizer_of_pattern(const char *pattern, bool ignores_merges);

/* Returns memory for pretokenizer_split, or NULL if out of memory. */
struct pretokenizer_work *pretokenizer_work_new(const struct pretokenizer *pretokenizer);
void pretokenizer_work_free(struct pretokenizer_work *work);

/* Called for each piece. A status other than JOULE_OK ends the splitting. */
typedef joule_status piece_fn(void *context, const char *text, size_t size);
/* Calls `each` for the pieces of a text, in order. The pieces joined together are the text. A run of bytes
 * that are not UTF-8 is one piece. Returns the status of `each`; JOULE_NO_MEMORY or JOULE_FAILED: PCRE2
 * failed. */
joule_status pretokenizer_split(const struct pretokenizer *pretokenizer, struct pretokenizer_work *work,
                                const char *text, size_t size, piece_fn *each, void *context,
                                joule_error *out_error);

#endif
