/* infer/grammar/token_trie.c - see token_trie.h. */
#include "forge/infer/grammar/token_trie.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"

static int by_bytes(const void *a, const void *b, void *context)
{
    const struct bytes *tokens = context, *x = &tokens[*(const uint32_t *)a],
                       *y = &tokens[*(const uint32_t *)b];
    int order = memcmp(x->data, y->data, x->size < y->size ? x->size : y->size);
    if (order != 0)
        return order;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static size_t common_size(const struct bytes *a, const struct bytes *b)
{
    size_t size = 0;
    while (size < a->size && size < b->size && a->data[size] == b->data[size])
        size++;
    return size;
}

/* Writes the ids of the tokens that the trie contains, sorted by their bytes. Returns their number.
 * *out_nodes: the number of nodes. */
static size_t sort_tokens(const struct bytes *tokens, size_t count, uint32_t *out_ids, size_t *out_nodes)
{
    size_t used = 0;
    *out_nodes = 1;
    for (size_t i = 0; i < count; i++)
        if (tokens[i].size > 0 && tokens[i].size <= TRIE_MAX_TOKEN)
            out_ids[used++] = (uint32_t)i;
    if (used > 0)
        qsort_r(out_ids, used, sizeof *out_ids, by_bytes, (void *)tokens);
    for (size_t i = 0; i < used; i++) {
        const struct bytes *token = &tokens[out_ids[i]];
        *out_nodes += token->size - (i > 0 ? common_size(&tokens[out_ids[i - 1]], token) : 0);
    }
    return used;
}

/* Sets `end` of the open nodes that are deeper than `depth`: their subtrees are complete. */
static void end_nodes(struct token_trie *trie, const uint32_t *open, size_t from, size_t depth)
{
    for (size_t i = from; i > depth; i--)
        trie->nodes[open[i]].end = trie->node_count;
}

static void build(struct token_trie *trie, const struct bytes *tokens, size_t used)
{
    uint32_t open[TRIE_MAX_TOKEN + 1] = {0}; /* open[i]: the node of the current token's first i bytes */
    size_t depth = 0;
    trie->node_count = 1;
    for (size_t i = 0; i < used; i++) {
        const struct bytes *token = &tokens[trie->tokens[i]];
        size_t common = i > 0 ? common_size(&tokens[trie->tokens[i - 1]], token) : 0;
        end_nodes(trie, open, depth, common);
        for (depth = common; depth < token->size;) {
            uint8_t byte = (uint8_t)token->data[depth++];
            open[depth] = trie->node_count;
            trie->nodes[trie->node_count++] =
                (struct token_trie_node){.first_token = (uint32_t)i, .depth = (uint16_t)depth, .byte = byte};
        }
        trie->nodes[open[depth]].token_count++;
        trie->max_depth = depth > trie->max_depth ? (uint32_t)depth : trie->max_depth;
    }
    end_nodes(trie, open, depth, 0);
    trie->nodes[0].end = trie->node_count;
}

joule_status token_trie_new(const struct bytes *tokens, size_t count, struct token_trie **out_trie,
                            joule_error *out_error)
{
    struct token_trie *trie = count < INT32_MAX ? calloc(1, sizeof *trie) : NULL;
    size_t node_count = 0, used = 0;
    *out_trie = NULL;
    if (trie)
        trie->tokens = calloc(count + 1, sizeof *trie->tokens);
    if (trie && trie->tokens) {
        used = sort_tokens(tokens, count, trie->tokens, &node_count);
        trie->nodes = node_count < UINT32_MAX ? calloc(node_count, sizeof *trie->nodes) : NULL;
    }
    if (!trie || !trie->nodes) {
        token_trie_free(trie);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot make a trie of %zu tokens: out of memory",
                         count);
    }
    trie->vocabulary = count;
    build(trie, tokens, used);
    *out_trie = trie;
    return JOULE_OK;
}

void token_trie_free(struct token_trie *trie)
{
    if (!trie)
        return;
    free(trie->nodes);
    free(trie->tokens);
    free(trie);
}
