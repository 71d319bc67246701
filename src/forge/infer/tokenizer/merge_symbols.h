/* infer/tokenizer/merge_symbols.h - merges adjacent symbols of a text in the order of a priority, for both
 * BPE algorithms.
 *
 * A symbol is a run of bytes of the text. A queue contains the pairs that may be merged. The time is O(n log
 * n) for n symbols. */
#ifndef FORGE_INFER_MERGE_SYMBOLS_H
#define FORGE_INFER_MERGE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_NONE UINT32_MAX

struct symbol {
    /* Range of the text, in bytes; size 0: the symbol was merged into the symbol before it. */
    uint32_t begin, size;
    uint32_t previous, next;
    int32_t token; /* TOKEN_NONE: no token has this text */
};

/* A pair that may be merged. If the pair's size has changed, the candidate is out of date and is ignored. */
struct merge_candidate {
    uint64_t order; /* priority << 32 | left symbol */
    uint32_t size;  /* size of both symbols when the candidate was added, in bytes */
    int32_t token;
};

/* A text that is being merged. Initialise with zeros; the memory is used again for the next text. */
struct merger {
    struct symbol *symbols;
    size_t count, capacity;
    struct merge_candidate *queue; /* a heap, the lowest order first */
    size_t queue_count, queue_capacity;
};

/* Returns true if two adjacent symbols may be merged. *out_priority: the pair with the lowest number is
 * merged first. *out_token: the merged token. */
typedef bool merge_pair_fn(const void *context, const struct symbol *left, const struct symbol *right,
                           uint32_t *out_priority, int32_t *out_token);

/* Adds a symbol after the last one. Returns false if out of memory. */
bool merger_add(struct merger *merger, uint32_t begin, uint32_t size, int32_t token);
/* Merges pairs until none can be merged. If several pairs have the same priority, the leftmost is merged
 * first. The remaining symbols are a list that begins with symbol 0. Returns false if out of memory. */
bool merger_run(struct merger *merger, merge_pair_fn *pair, const void *context);
void merger_free(struct merger *merger);

#endif
