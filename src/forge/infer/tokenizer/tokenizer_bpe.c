/* infer/tokenizer/tokenizer_bpe.c - byte-level BPE: splits a text into pieces, and merges the bytes of each
 * piece in the order of the model's list of merges. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/infer/tokenizer/pretokenizer.h"

struct bpe {
    struct pretokenizer *pretokenizer;
    bool ignores_merges;
};

/* --- characters that stand for bytes -------------------------------------------------------------------- */

/* Returns the byte that a character stands for, or -1. Printable characters of Latin-1 stand for themselves.
 * U+0100 to U+0143 stand for the other 68 bytes in order: 0 to 32, 127 to 160, and 173. */
static int byte_of(uint32_t character)
{
    if ((character >= 33 && character <= 126) || (character >= 161 && character <= 255 && character != 173))
        return (int)character;
    if (character < 256 || character > 323)
        return -1;
    uint32_t i = character - 256;
    return (int)(i < 33 ? i : i < 67 ? i - 33 + 127 : 173);
}

/* Returns the byte that the first character of a token stands for, or -1. *out_length: the size of the
 * character in the token, in bytes. */
static int first_byte(const char *token, size_t size, size_t *out_length)
{
    const unsigned char *at = (const unsigned char *)token;
    size_t length = string_utf8_length(token, size);
    *out_length = length ? length : 1; /* 0: not UTF-8 */
    return length == 1 ? byte_of(*at) : length == 2 ? byte_of((at[0] & 31u) << 6 | (at[1] & 63u)) : -1;
}

bool bpe_stands_for_bytes(struct bytes token)
{
    for (size_t i = 0, length; i < token.size; i += length)
        if (first_byte(token.data + i, token.size - i, &length) < 0)
            return false;
    return true;
}

size_t bpe_decode_token(struct bytes token, char *out_bytes)
{
    size_t size = 0;
    for (size_t i = 0, length; i < token.size; i += length) {
        int byte = first_byte(token.data + i, token.size - i, &length);
        if (byte >= 0)
            out_bytes[size++] = (char)byte;
        else
            for (size_t k = 0; k < length; k++)
                out_bytes[size++] = token.data[i + k];
    }
    return size;
}

/* --- tokenizer ------------------------------------------------------------------------------------------ */

static bool is_ordinary_bytes(const forge_tokenizer *tokenizer, int32_t token)
{
    return tokenizer_is_ordinary(tokenizer, token) &&
           bpe_stands_for_bytes(tokenizer->vocabulary->tokens[token]);
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
    /* The table keeps the first token with a given text, so the order of these calls matters. Ordinary tokens
     * come before special tokens, which merges may also name. Some vocabularies contain a text both as bytes
     * and as characters; merges result in the token of bytes. */
    if (!bpe || !tokenizer_fill_table(tokenizer, is_ordinary_bytes) ||
        !tokenizer_fill_table(tokenizer, tokenizer_is_ordinary) || !tokenizer_fill_table(tokenizer, is_any))
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    bpe->ignores_merges = vocabulary->ignores_merges || pretokenizer_ignores_merges(vocabulary->pre);
    joule_status status = pretokenizer_new(vocabulary->pre, &bpe->pretokenizer, out_error);
    return status == JOULE_OK ? tokenizer_add_merges(tokenizer, out_error) : status;
}

void bpe_free(struct bpe *bpe)
{
    if (!bpe)
        return;
    pretokenizer_free(bpe->pretokenizer);
    free(bpe);
}

/* --- encoding ------------------------------------------------------------------------------------------- */

/* Adds the tokens of U+FFFD for a byte without a token. In most models, only bytes that never occur in UTF-8
 * have no token. The unknown token is not used, because in many models it means the end of a text. If U+FFFD
 * has no tokens, calls encoder_add_bytes. */
static joule_status add_unknown_byte(struct encoder *encoder, const char *byte)
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};
    const int32_t *tokens = encoder->tokenizer->byte_tokens;
    for (size_t i = 0; i < sizeof replacement; i++)
        if (tokens[replacement[i]] == TOKEN_NONE)
            return encoder_add_bytes(encoder, byte, 1);
    for (size_t i = 0; i < sizeof replacement; i++)
        encoder_add(encoder, tokens[replacement[i]]);
    return JOULE_OK;
}

static joule_status merge_piece(struct encoder *encoder, const char *text, size_t size)
{
    struct merger *merger = &encoder->merger;
    merger->count = 0;
    for (size_t i = 0; i < size; i++)
        if (!merger_add(merger, (uint32_t)i, 1, encoder->tokenizer->byte_tokens[(uint8_t)text[i]]))
            return encoder_no_memory(encoder);
    if (!merger_run(merger, tokenizer_find_merge, &encoder->tokenizer->merges))
        return encoder_no_memory(encoder);
    joule_status status = JOULE_OK;
    for (uint32_t i = 0; i != SYMBOL_NONE && status == JOULE_OK; i = merger->symbols[i].next)
        if (merger->symbols[i].token != TOKEN_NONE)
            encoder_add(encoder, merger->symbols[i].token);
        else
            status = add_unknown_byte(encoder, text + i);
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

joule_status bpe_encode(struct encoder *encoder, const char *text, size_t size)
{
    const struct pretokenizer *pretokenizer = encoder->tokenizer->bpe->pretokenizer;
    if (!encoder->work && !(encoder->work = pretokenizer_work_new(pretokenizer)))
        return encoder_no_memory(encoder);
    return pretokenizer_split(pretokenizer, encoder->work, text, size, add_piece, encoder, encoder->error);
}
