/* infer/tokenizer/tokenizer.c - converts text to tokens: finds special tokens, and calls the model's
 * algorithm. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/infer/tokenizer/pretokenizer.h"

/* --- special tokens ------------------------------------------------------------------------------------- */

static bool may_read(const forge_tokenizer *tokenizer, int32_t token, uint32_t flags)
{
    return token != TOKEN_NONE &&
           (tokenizer_type(tokenizer, token) == TOKEN_USER_DEFINED || (flags & FORGE_TOKENIZE_READ_CONTROL));
}

/* Returns the longest special token with which text[0..size) begins, or TOKEN_NONE. */
static int32_t special_at(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags)
{
    int32_t longest = TOKEN_NONE;
    uint32_t node = 0;
    for (size_t i = 0; i < size; i++) {
        node = trie_step(&tokenizer->special, node, (uint8_t)text[i]);
        if (node == TRIE_NONE)
            break;
        if (may_read(tokenizer, tokenizer->special.nodes[node].token, flags))
            longest = tokenizer->special.nodes[node].token;
    }
    return longest;
}

/* Returns the position of the first special token in text[at..size), or `size`. */
static size_t find_special(const forge_tokenizer *tokenizer, const char *text, size_t at, size_t size,
                           uint32_t flags, int32_t *out_token)
{
    *out_token = TOKEN_NONE;
    for (; tokenizer->special.count && at < size; at++)
        if (tokenizer->begins_special[(uint8_t)text[at]]) {
            *out_token = special_at(tokenizer, text + at, size - at, flags);
            if (*out_token != TOKEN_NONE)
                return at;
        }
    return size;
}

/* --- encoding ------------------------------------------------------------------------------------------- */

joule_status encoder_no_memory(struct encoder *encoder)
{
    return error_set(encoder->error, JOULE_NO_MEMORY, "cannot convert a text to tokens: out of memory");
}

joule_status encoder_add_bytes(struct encoder *encoder, const char *text, size_t size)
{
    const forge_tokenizer *tokenizer = encoder->tokenizer;
    size_t known = 0;
    while (known < size && tokenizer->byte_tokens[(uint8_t)text[known]] != TOKEN_NONE)
        known++;
    if (known == size) {
        for (size_t i = 0; i < size; i++)
            encoder_add(encoder, tokenizer->byte_tokens[(uint8_t)text[i]]);
        return JOULE_OK;
    }
    if (tokenizer->vocabulary->unknown == TOKEN_NONE)
        return error_set(encoder->error, JOULE_INVALID,
                         "cannot convert a text to tokens: byte 0x%02x has no token, and there is no "
                         "unknown token",
                         (uint8_t)text[known]);
    if (!encoder->ends_with_unknown)
        encoder_add(encoder, tokenizer->vocabulary->unknown);
    encoder->ends_with_unknown = true;
    return JOULE_OK;
}

/* Returns true if a space is added before the text at byte `at`. This text is at the beginning, or after a
 * special token. */
static bool adds_space(const struct vocabulary *v, const char *text, size_t at, size_t size)
{
    if (!v->adds_space_prefix || (v->prefix_is_once && at > 0))
        return false;
    size_t mark = strlen(SPACE_MARK);
    bool has_space = text[at] == ' ' || (size - at >= mark && memcmp(text + at, SPACE_MARK, mark) == 0);
    return !v->prefix_is_conditional || v->removes_extra_spaces || !has_space;
}

static joule_status encode_all(struct encoder *encoder, const char *text, size_t size, uint32_t flags)
{
    static encode_fn *const encode[] = {
        [VOCABULARY_SPM] = spm_encode, [VOCABULARY_BPE] = bpe_encode, [VOCABULARY_UNIGRAM] = unigram_encode};
    const forge_tokenizer *tokenizer = encoder->tokenizer;
    joule_status status = JOULE_OK;
    bool is_first = true;
    for (size_t at = 0; at < size && status == JOULE_OK;) {
        int32_t special, token;
        size_t next = find_special(tokenizer, text, at, size, flags, &special), length;
        if (next > at) {
            encoder->ends_with_unknown = false;
            bool adds = is_first && adds_space(tokenizer->vocabulary, text, at, size);
            status = encode[tokenizer->vocabulary->kind](encoder, text + at, next - at, adds);
            is_first = false;
        }
        token = special;
        if (token != TOKEN_NONE && status == JOULE_OK) {
            encoder_add(encoder, token);
            token_text(&tokenizer->texts, token, &length);
            next += length;
            is_first = true;
        }
        at = next;
    }
    return status;
}

joule_status forge_tokenize(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags,
                            int32_t *out_tokens, size_t capacity, size_t *out_count, joule_error *out_error)
{
    if (!tokenizer || !out_count || (!text && size) || (!out_tokens && capacity))
        return error_set(out_error, JOULE_INVALID, "cannot convert a text to tokens: %s is NULL",
                         !tokenizer      ? "tokenizer"
                         : !out_count    ? "out_count"
                         : !text && size ? "text"
                                         : "out_tokens");
    if (flags & ~(uint32_t)(FORGE_TOKENIZE_ADD_ENDS | FORGE_TOKENIZE_READ_CONTROL))
        return error_set(out_error, JOULE_UNSUPPORTED, "cannot convert a text to tokens: unknown flags 0x%x",
                         flags);
    if (size > TOKENIZER_MAX_TEXT)
        return error_set(out_error, JOULE_INVALID,
                         "cannot convert a text of %zu bytes to tokens: the maximum is %d", size,
                         TOKENIZER_MAX_TEXT);
    const struct vocabulary *vocabulary = tokenizer->vocabulary;
    struct encoder encoder = {
        .tokenizer = tokenizer, .out_tokens = out_tokens, .capacity = capacity, .error = out_error};
    if ((flags & FORGE_TOKENIZE_ADD_ENDS) && vocabulary->adds_bos && vocabulary->bos != TOKEN_NONE)
        encoder_add(&encoder, vocabulary->bos);
    joule_status status = encode_all(&encoder, text, size, flags);
    if ((flags & FORGE_TOKENIZE_ADD_ENDS) && vocabulary->adds_eos && vocabulary->eos != TOKEN_NONE)
        encoder_add(&encoder, vocabulary->eos);
    merger_free(&encoder.merger);
    free(encoder.text);
    free(encoder.paths);
    if (encoder.work)
        pretokenizer_work_free(encoder.work);
    *out_count = encoder.count;
    return status;
}

/* --- queries -------------------------------------------------------------------------------------------- */

size_t forge_tokenizer_count(const forge_tokenizer *tokenizer)
{
    return tokenizer->vocabulary->count;
}

int32_t forge_tokenizer_bos(const forge_tokenizer *tokenizer)
{
    return tokenizer->vocabulary->bos;
}

int32_t forge_tokenizer_eos(const forge_tokenizer *tokenizer)
{
    return tokenizer->vocabulary->eos;
}

bool forge_token_is_end(const forge_tokenizer *tokenizer, int32_t token)
{
    for (size_t i = 0; i < tokenizer->end_count; i++)
        if (tokenizer->end_tokens[i] == token)
            return true;
    return false;
}

int32_t forge_token_find(const forge_tokenizer *tokenizer, const char *text)
{
    const struct vocabulary *vocabulary = tokenizer->vocabulary;
    size_t size = text ? strlen(text) : 0;
    for (size_t i = 0; text && i < vocabulary->count; i++)
        if (vocabulary->tokens[i].size == size && memcmp(vocabulary->tokens[i].data, text, size) == 0)
            return (int32_t)i;
    return TOKEN_NONE;
}

const char *forge_tokenizer_chat_template(const forge_tokenizer *tokenizer)
{
    return tokenizer->vocabulary->chat_template;
}

size_t forge_tokenizer_max_text(const forge_tokenizer *tokenizer)
{
    return 3 * tokenizer->max_token + 8;
}
