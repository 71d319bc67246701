/* infer/tokenizer/tokenizer_spm.c - SentencePiece BPE: merges the pair whose token has the highest score, and
 * converts characters without a token to byte tokens. Files of Hugging Face have a list of merges instead of
 * scores.
 *
 * Note: texts and tokens have spaces here instead of U+2581. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <string.h>
#include "base/error.h"
#include "base/string.h"

joule_status spm_init(forge_tokenizer *tokenizer, joule_error *out_error)
{
    if (!tokenizer_fill_table(tokenizer, tokenizer_is_ordinary) ||
        !tokenizer_fill_table(tokenizer, tokenizer_is_found_twice))
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    if (tokenizer->vocabulary->merge_count > 0) {
        joule_status status = tokenizer_add_merges(tokenizer, out_error);
        if (status != JOULE_OK)
            return status;
    }
    tokenizer->splits_at_spaces = tokenizer_splits_at_spaces(tokenizer);
    return charsmap_open(tokenizer->vocabulary->charsmap, &tokenizer->charsmap, out_error);
}

/* Returns a number that is lower for a higher score. The score is finite. */
static uint32_t priority_of(float score)
{
    uint32_t bits;
    memcpy(&bits, &score, sizeof bits);
    if (bits == UINT32_C(1) << 31) /* -0 equals 0 */
        bits = 0;
    return bits >> 31 ? bits : ~bits & UINT32_MAX >> 1;
}

static bool find_pair(const void *context, const struct symbol *left, const struct symbol *right,
                      uint32_t *out_priority, int32_t *out_token)
{
    const struct encoder *encoder = context;
    const forge_tokenizer *tokenizer = encoder->tokenizer;
    size_t size = (size_t)left->size + right->size;
    if (size > tokenizer->max_token)
        return false;
    *out_token = token_table_find(&tokenizer->table, encoder->text + left->begin, size);
    if (*out_token == TOKEN_NONE)
        return false;
    *out_priority = priority_of(tokenizer->vocabulary->scores[*out_token]);
    return true;
}

/* Adds the tokens of the symbols that remain after merging. */
static joule_status add_symbols(struct encoder *encoder)
{
    const struct symbol *symbols = encoder->merger.symbols;
    joule_status status = JOULE_OK;
    for (uint32_t i = 0; i != SYMBOL_NONE && status == JOULE_OK; i = symbols[i].next) {
        const char *text = encoder->text + symbols[i].begin;
        if (symbols[i].token != TOKEN_NONE)
            encoder_add(encoder, symbols[i].token);
        else if (*text == ' ')
            status = encoder_add_bytes(encoder, SPACE_MARK, strlen(SPACE_MARK));
        else
            status = encoder_add_bytes(encoder, text, symbols[i].size);
    }
    return status;
}

joule_status spm_encode_part(struct encoder *encoder, const char *part, size_t part_size)
{
    const struct token_table *table = &encoder->tokenizer->table;
    size_t at = (size_t)(part - encoder->text), end = at + part_size;
    encoder->merger.count = 0;
    while (at < end) {
        const char *text = encoder->text + at;
        size_t size = string_utf8_length(text, end - at);
        size += size == 0; /* a byte that is not UTF-8 becomes a symbol */
        if (!merger_add(&encoder->merger, (uint32_t)at, (uint32_t)size, token_table_find(table, text, size)))
            return encoder_no_memory(encoder);
        at += size;
    }
    const struct pair_table *merges = &encoder->tokenizer->merges;
    if (!(merges->slots ? merger_run(&encoder->merger, tokenizer_find_merge, merges)
                        : merger_run(&encoder->merger, find_pair, encoder)))
        return encoder_no_memory(encoder);
    return add_symbols(encoder);
}
