/* infer/grammar/grammar.h - compiles a JSON schema, and computes which bytes and tokens may follow a text
 * that must satisfy it.
 *
 * A schema becomes an automaton over bytes with a stack of returns. A state of the automaton has no pointers,
 * so assigning an earlier copy undoes the effect of a rejected draft.
 *
 * Accepted texts are a part of the JSON texts that satisfy the schema:
 * - White space is optional. After '{', '[', ',' and ':' and before '}' and ']', it is one space, or one
 *   newline and up to 20 spaces. There is none elsewhere.
 * - The members in `properties` have the order of the schema, and other members follow them. A schema with
 *   `properties` but without additionalProperties allows no other members. A name in `required` that has no
 *   schema accepts any value.
 * - Without `type`, keywords of objects, arrays or strings restrict the value to these types.
 * - oneOf is the same as anyOf.
 * - Strings are valid UTF-8. They may contain escapes except surrogates and NUL. If a name is not in
 *   `properties`, it has no escape before the first byte at which it differs from all names in `properties`.
 * - Numbers have at most 16 digits before the point, 16 after it, and 2 in the exponent. Integers have no
 *   point and no exponent.
 * - Values are nested at most GRAMMAR_MAX_DEPTH deep. Values in enum and const have no white space, and are
 *   nested at most 8 deep. With these limits, base/json.h can parse all accepted texts.
 * - Unknown keywords, and those without effect on the structure (title, description, default, format), are
 *   ignored. */
#ifndef FORGE_INFER_GRAMMAR_H
#define FORGE_INFER_GRAMMAR_H

#include <joule/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "forge/infer/model/vocabulary.h"

#define GRAMMAR_MAX_DEPTH   56
#define GRAMMAR_MAX_THREADS 256
#define GRAMMAR_MAX_FRAMES  1024

struct grammar;       /* a compiled schema; immutable, so any number of threads may use it */
struct token_trie;    /* the texts of a vocabulary; immutable */
struct grammar_cache; /* the masks of one grammar and one vocabulary; one thread at a time */

/* Compiles a JSON schema. The caller owns the grammar (grammar_free), which does not use the text later.
 * JOULE_INVALID: the text is not a JSON schema, or no text satisfies it. JOULE_UNSUPPORTED: it has a
 * keyword that is not supported (for example pattern), or needs too many states. */
joule_status grammar_new(const char *schema, size_t size, struct grammar **out_grammar,
                         joule_error *out_error);
/* Returns a grammar of any JSON object. */
joule_status grammar_new_object(struct grammar **out_grammar, joule_error *out_error);
void grammar_free(struct grammar *grammar);

/* A node of the automaton with the frame to which it returns. "Thread" has its meaning from the simulation of
 * nondeterministic automata: one of the positions at which the automaton may be. It is not a thread of the
 * operating system. */
struct grammar_thread {
    uint32_t node;
    uint32_t frame;
};
struct grammar_frame {
    uint32_t node;   /* where the automaton continues after the return */
    uint16_t parent; /* the next frame; lower than the frame's own number */
    uint16_t depth;
};
/* The state after some bytes: one thread for each path of the automaton that consumes them. Copied by
 * assignment.
 * Note: if the alternatives of a schema begin alike at many levels, there may be more threads than a state
 * can hold. Then the last threads are dropped, and some valid texts are not accepted. */
struct grammar_state {
    struct grammar_thread threads[GRAMMAR_MAX_THREADS];
    struct grammar_frame frames[GRAMMAR_MAX_FRAMES]; /* frames[0]: the end of the text */
    uint32_t thread_count, frame_count;
    bool is_complete;
};

/* Initialises the state before the first byte. */
void grammar_begin(const struct grammar *grammar, struct grammar_state *out_state);
/* Advances the state by bytes. Returns false, and does not change the state, if they are not allowed. */
bool grammar_accept(const struct grammar *grammar, struct grammar_state *state, const char *bytes,
                    size_t size);
bool grammar_accept_byte(const struct grammar *grammar, struct grammar_state *state, uint8_t byte);
/* Returns true if the bytes so far are a complete text that satisfies the schema. */
bool grammar_is_complete(const struct grammar_state *state);

/* Creates the trie of a vocabulary. tokens: [count], the bytes that each token produces; size 0: none, for
 * example a control token. The caller owns the trie (token_trie_free), which does not use `tokens` later. */
joule_status token_trie_new(const struct bytes *tokens, size_t count, struct token_trie **out_trie,
                            joule_error *out_error);
void token_trie_free(struct token_trie *trie);
/* Creates a cache. The grammar and the trie must outlive it. Masks are stored up to a total of 64 MiB;
 * further masks are computed each time. */
joule_status grammar_cache_new(const struct grammar *grammar, const struct token_trie *trie,
                               struct grammar_cache **out_cache, joule_error *out_error);
void grammar_cache_free(struct grammar_cache *cache);
/* Sets bit i % 32 of word i / 32 of mask ([tokens / 32 rounded up] words) if grammar_accept would accept
 * token i, and clears it otherwise. Tokens without bytes, and those of more than 256 bytes, are never
 * allowed. The caller allows the end-of-text token if grammar_is_complete. Returns false if no token is
 * allowed. */
bool grammar_mask(struct grammar_cache *cache, const struct grammar_state *state, uint32_t *mask);

#endif
