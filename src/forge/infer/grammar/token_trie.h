/* infer/grammar/token_trie.h - the trie of a vocabulary, in which tokens share their common beginnings. */
#ifndef FORGE_INFER_TOKEN_TRIE_H
#define FORGE_INFER_TOKEN_TRIE_H

#include "forge/infer/grammar/grammar.h"

#define TRIE_MAX_TOKEN 256 /* bytes of the longest token that the trie contains */

/* A node stands for a sequence of bytes. The nodes of its subtree follow it directly. */
struct token_trie_node {
    uint32_t end;                      /* the first node after the subtree */
    uint32_t first_token, token_count; /* the node's tokens in `tokens` */
    uint16_t depth;                    /* number of bytes of the node's sequence */
    uint8_t byte;                      /* the last byte of the node's sequence */
};

struct token_trie {
    size_t vocabulary;
    struct token_trie_node *nodes; /* [node_count]; node 0 is the root, without bytes */
    uint32_t node_count, max_depth;
    uint32_t *tokens; /* ids of the tokens, sorted by their bytes */
};

#endif
