/* infer/tokenizer/trie.h - a set of texts. One walk finds all texts of the set with which a string begins. */
#ifndef FORGE_INFER_TRIE_H
#define FORGE_INFER_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "forge/infer/tokenizer/token_table.h"

/* The children of a node are adjacent, and sorted by their bytes. */
struct trie_node {
    uint32_t first_child;
    int32_t token; /* the token whose text ends at this node; TOKEN_NONE: none */
    uint16_t child_count;
    uint8_t byte; /* the last byte of the node's text */
};

/* Node 0 has the empty text. A set without nodes is empty. */
struct trie {
    struct trie_node *nodes;
    size_t count, capacity;
};
#define TRIE_NONE UINT32_MAX

/* Builds the set of the texts of `count` tokens, at most 2^31. Sorts `tokens`. If several tokens have the
 * same text, the lowest is used. Empty texts are left out. Returns false if out of memory. */
bool trie_build(struct trie *trie, const struct token_texts *texts, int32_t *tokens, size_t count);
void trie_free(struct trie *trie);

/* Returns the node whose text is the text of `node` followed by `byte`, or TRIE_NONE. */
static inline uint32_t trie_step(const struct trie *trie, uint32_t node, uint8_t byte)
{
    uint32_t low = trie->nodes[node].first_child, high = low + trie->nodes[node].child_count, end = high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trie->nodes[middle].byte < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && trie->nodes[low].byte == byte ? low : TRIE_NONE;
}

#endif
