/* infer/tokenizer/tokenizer_merges.c - the list of merges of a vocabulary, as a table of pairs of tokens. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <string.h>
#include "base/error.h"

/* Adds merge number `rank`, a text "left right", to the table. */
static joule_status add_merge(forge_tokenizer *tokenizer, size_t rank, joule_error *error)
{
    enum { MAX_MERGE = 2 * TOKENIZER_MAX_TOKEN + 1 };
    enum vocabulary_kind kind = tokenizer->vocabulary->kind;
    struct bytes merge = tokenizer->vocabulary->merges[rank];
    char both[MAX_MERGE];
    const char *space = merge.size > 1 ? memchr(merge.data + 1, ' ', merge.size - 1) : NULL;
    if (!space || merge.size > MAX_MERGE)
        return error_set(error, JOULE_INVALID, "cannot open a tokenizer: merge %zu is not a pair of tokens",
                         rank);
    struct bytes left = {merge.data, (size_t)(space - merge.data)};
    struct bytes right = {space + 1, merge.size - left.size - 1};
    if (kind == VOCABULARY_BPE && !(bpe_stands_for_bytes(left) && bpe_stands_for_bytes(right)))
        return JOULE_OK; /* no text contains this pair, because its parts are not tokens of bytes */
    size_t left_size = tokenizer_write_text(kind, left, both);
    size_t right_size = tokenizer_write_text(kind, right, both + left_size);
    int32_t tokens[3] = {token_table_find(&tokenizer->table, both, left_size),
                         token_table_find(&tokenizer->table, both + left_size, right_size),
                         token_table_find(&tokenizer->table, both, left_size + right_size)};
    if (tokens[0] == TOKEN_NONE || tokens[1] == TOKEN_NONE || tokens[2] == TOKEN_NONE)
        return error_set(
            error, JOULE_INVALID,
            "cannot open a tokenizer: merge %zu (%.*s) has a part or a result that is not a token", rank,
            (int)(merge.size < 100 ? merge.size : 100), merge.data);
    pair_table_add(&tokenizer->merges, tokens[0], tokens[1], (uint32_t)rank, tokens[2]);
    return JOULE_OK;
}

joule_status tokenizer_add_merges(forge_tokenizer *tokenizer, joule_error *out_error)
{
    size_t count = tokenizer->vocabulary->merge_count;
    if (count > UINT32_MAX)
        return error_set(out_error, JOULE_INVALID,
                         "cannot open a tokenizer: it has %zu merges; at most %u are "
                         "allowed",
                         count, UINT32_MAX);
    if (!pair_table_init(&tokenizer->merges, count))
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    joule_status status = JOULE_OK;
    for (size_t i = 0; i < count && status == JOULE_OK; i++)
        status = add_merge(tokenizer, i, out_error);
    return status;
}

bool tokenizer_find_merge(const void *context, const struct symbol *left, const struct symbol *right,
                          uint32_t *out_priority, int32_t *out_token)
{
    const struct token_pair *pair = pair_table_find(context, left->token, right->token);
    if (!pair)
        return false;
    *out_priority = pair->rank;
    *out_token = pair->merged;
    return true;
}
