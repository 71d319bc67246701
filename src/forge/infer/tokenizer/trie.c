/* infer/tokenizer/trie.c - see trie.h. */
#include "forge/infer/tokenizer/trie.h"

#include <stdlib.h>
#include "base/array.h"

/* A range of the sorted list: the tokens whose text begins with the text of a node. */
struct range {
    uint32_t begin, end;
    uint32_t depth; /* size of the node's text in bytes */
};

static int by_text(const void *a, const void *b, void *context)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    size_t x_size, y_size;
    const char *x_text = token_text(context, x, &x_size), *y_text = token_text(context, y, &y_size);
    int order = memcmp(x_text, y_text, x_size < y_size ? x_size : y_size);
    if (order != 0)
        return order;
    if (x_size != y_size)
        return x_size < y_size ? -1 : 1;
    return x < y ? -1 : x > y;
}

static uint8_t byte_at(const struct token_texts *texts, int32_t token, size_t depth)
{
    return (uint8_t)texts->bytes[texts->begins[token] + depth];
}

/* Adds the children of node `i`. (*ranges)[i]: the node's tokens. */
static bool add_children(struct trie *trie, struct range **ranges, size_t *capacity, size_t i,
                         const struct token_texts *texts, const int32_t *tokens)
{
    struct range range = (*ranges)[i];
    size_t at = range.begin, size;
    while (at < range.end && (token_text(texts, tokens[at], &size), size == range.depth)) {
        if (range.depth > 0 && trie->nodes[i].token == TOKEN_NONE)
            trie->nodes[i].token = tokens[at];
        at++;
    }
    trie->nodes[i].first_child = (uint32_t)trie->count;
    while (at < range.end) {
        uint8_t byte = byte_at(texts, tokens[at], range.depth);
        size_t begin = at;
        while (at < range.end && byte_at(texts, tokens[at], range.depth) == byte)
            at++;
        if (trie->count >= TRIE_NONE || !ARRAY_ROOM(trie->nodes, trie->capacity, trie->count) ||
            !ARRAY_ROOM(*ranges, *capacity, trie->count))
            return false;
        (*ranges)[trie->count] = (struct range){(uint32_t)begin, (uint32_t)at, range.depth + 1};
        trie->nodes[trie->count++] = (struct trie_node){.byte = byte, .token = TOKEN_NONE};
        trie->nodes[i].child_count++;
    }
    return true;
}

bool trie_build(struct trie *trie, const struct token_texts *texts, int32_t *tokens, size_t count)
{
    struct range *ranges = NULL;
    size_t capacity = 0;
    *trie = (struct trie){0};
    if (count == 0)
        return true;
    qsort_r(tokens, count, sizeof *tokens, by_text, (void *)texts);
    bool is_ok = ARRAY_ROOM(trie->nodes, trie->capacity, 0) && ARRAY_ROOM(ranges, capacity, 0);
    if (is_ok) {
        ranges[0] = (struct range){0, (uint32_t)count, 0};
        trie->nodes[trie->count++] = (struct trie_node){.token = TOKEN_NONE};
    }
    for (size_t i = 0; is_ok && i < trie->count; i++)
        is_ok = add_children(trie, &ranges, &capacity, i, texts, tokens);
    free(ranges);
    if (!is_ok)
        trie_free(trie);
    return is_ok;
}

void trie_free(struct trie *trie)
{
    free(trie->nodes);
    *trie = (struct trie){0};
}
