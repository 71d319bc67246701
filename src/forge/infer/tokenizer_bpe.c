/* infer/tokenizer_bpe.c - byte-level BPE: splits a text into pieces, and merges the bytes of each piece in the
 * order of the model's list of merges. */
#include "forge/infer/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/infer/pretokenizer.h"

struct bpe {
    struct pretokenizer *pretokenizer;
    struct pair_table merges;
    bool ignores_merges;
};

/* --- characters that stand for bytes -------------------------------------------------------------------- */

/* Returns the byte that a character stands for, or -1. Printable characters of Latin-1 stand for themselves,
 * and U+0100 to U+0143 for the other 68 bytes in order: 0 to 32, 127 to 160, and 173. */
static int byte_of(uint32_t character)
{
    if ((character >= 33 && character <= 126) || (character >= 161 && character <= 255 && character != 173))
        return (int)character;
    if (character < 256 || character > 323)
        return -1;
    uint32_t i = character - 256;
    return (int)(i < 33 ? i : i < 67 ? i - 33 + 127 : 173);
}

size_t bpe_decode_token(struct bytes token, char *out_bytes)
{
    size_t size = 0;
    for (size_t i = 0; i < token.size;) {
        const unsigned char *at = (const unsigned char *)token.data + i;
        size_t length = string_utf8_length(token.data + i, token.size - i);
        int byte = length == 1   ? byte_of(*at)
                   : length == 2 ? byte_of((at[0] & 31u) << 6 | (at[1] & 63u))
                                 : -1;
        length += length == 0; /* not UTF-8 */
        if (byte >= 0)
            out_bytes[size++] = (char)byte;
        else
            for (size_t k = 0; k < length; k++)
                out_bytes[size++] = (char)at[k];
        i += length;
    }
    return size;
}

/* --- merges --------------------------------------------------------------------------------------------- */

/* Adds merge number `rank`, "left right". */
static joule_status add_merge(forge_tokenizer *tokenizer, size_t rank, joule_error *error)
{
    enum { MAX_MERGE = 2 * TOKENIZER_MAX_TOKEN + 1 };
    struct bytes merge = tokenizer->vocabulary->merges[rank];
    char both[MAX_MERGE];
    const char *space = merge.size > 1 ? memchr(merge.data + 1, ' ', merge.size - 1) : NULL;
    if (!space || merge.size > MAX_MERGE)
        return error_set(error, JOULE_INVALID, "cannot open a tokenizer: merge %zu is not a pair of tokens",
                         rank);
    struct bytes left = {merge.data, (size_t)(space - merge.data)},
                 right = {space + 1, merge.size - left.size - 1};
    size_t left_size = bpe_decode_token(left, both),
           size = left_size + bpe_decode_token(right, both + left_size);
    int32_t tokens[3] = {token_table_find(&tokenizer->table, both, left_size),
                         token_table_find(&tokenizer->table, both + left_size, size - left_size),
                         token_table_find(&tokenizer->table, both, size)};
    if (tokens[0] == TOKEN_NONE || tokens[1] == TOKEN_NONE || tokens[2] == TOKEN_NONE)
        return error_set(
            error, JOULE_INVALID,
            "cannot open a tokenizer: merge %zu (%.*s) has a part or a result that is not a token", rank,
            (int)(merge.size < 100 ? merge.size : 100), merge.data);
    pair_table_add(&tokenizer->bpe->merges, tokens[0], tokens[1], (uint32_t)rank, tokens[2]);
    return JOULE_OK;
}

static bool is_any(const forge_tokenizer *tokenizer, int32_t token)
{
    (void)tokenizer, (void)token;
    return true;
}

joule_status bpe_init(forge_tokenizer *tokenizer, joule_error *out_error)
{
    const struct vocabulary *vocabulary = tokenizer->vocabulary;
    struct bpe *bpe = tokenizer->bpe = calloc(1, sizeof *bpe);
    if (vocabulary->merge_count > UINT32_MAX)
        return error_set(out_error, JOULE_INVALID, "cannot open a tokenizer: it has %zu merges",
                         vocabulary->merge_count);
    /* Merges may name special tokens; ordinary tokens with the same text come first. */
    if (!bpe || !tokenizer_fill_table(tokenizer, tokenizer_is_ordinary) ||
        !tokenizer_fill_table(tokenizer, is_any) || !pair_table_init(&bpe->merges, vocabulary->merge_count))
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    bpe->ignores_merges = vocabulary->ignores_merges || pretokenizer_ignores_merges(vocabulary->pre);
    joule_status status = pretokenizer_new(vocabulary->pre, &bpe->pretokenizer, out_error);
    for (size_t i = 0; i < vocabulary->merge_count && status == JOULE_OK; i++)
        status = add_merge(tokenizer, i, out_error);
    return status;
}

void bpe_free(struct bpe *bpe)
{
    if (!bpe)
        return;
    pretokenizer_free(bpe->pretokenizer);
    pair_table_free(&bpe->merges);
    free(bpe);
}

/* --- encoding ------------------------------------------------------------------------------------------- */

static bool find_pair(const void *context, const struct symbol *left, const struct symbol *right,
                      uint32_t *out_priority, int32_t *out_token)
{
    const struct token_pair *pair = pair_table_find(context, left->token, right->token);
    if (!pair)
        return false;
    *out_priority = pair->rank;
    *out_token = pair->merged;
    return true;
}

static joule_status merge_piece(struct encoder *encoder, const char *text, size_t size)
{
    struct merger *merger = &encoder->merger;
    merger->count = 0;
    for (size_t i = 0; i < size; i++)
        if (!merger_add(merger, (uint32_t)i, 1, encoder->tokenizer->byte_tokens[(uint8_t)text[i]]))
            return encoder_no_memory(encoder);
    if (!merger_run(merger, find_pair, &encoder->tokenizer->bpe->merges))
        return encoder_no_memory(encoder);
    joule_status status = JOULE_OK;
    for (uint32_t i = 0; i != SYMBOL_NONE && status == JOULE_OK; i = merger->symbols[i].next)
        if (merger->symbols[i].token != TOKEN_NONE)
            encoder_add(encoder, merger->symbols[i].token);
        else
            status = encoder_add_bytes(encoder, text + i, 1);
    return status;
}

static joule_status add_piece(void *context, const char *text, size_t size)
{
    struct encoder *encoder = context;
    const forge_tokenizer *tokenizer = encoder->tokenizer;
    if (tokenizer->bpe->ignores_merges) {
        int32_t token = token_table_find(&tokenizer->table, text, size);
        if (token != TOKEN_NONE && tokenizer_is_ordinary(tokenizer, token)) {
            encoder_add(encoder, token);
            return JOULE_OK;
        }
    }
    return merge_piece(encoder, text, size);
}

joule_status bpe_encode(struct encoder *encoder, const char *text, size_t size, bool is_first)
{
    (void)is_first;
    const struct pretokenizer *pretokenizer = encoder->tokenizer->bpe->pretokenizer;
    if (!encoder->work && !(encoder->work = pretokenizer_work_new(pretokenizer)))
        return encoder_no_memory(encoder);
    return pretokenizer_split(pretokenizer, encoder->work, text, size, add_piece, encoder, encoder->error);
}
