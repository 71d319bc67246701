/* infer/tokenizer/tokenizer.c - converts text to tokens: calls the model's algorithm for the text between
 * special tokens. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/infer/tokenizer/pretokenizer.h"

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
    bool has_mark = size - at >= mark && memcmp(text + at, SPACE_MARK, mark) == 0;
    bool keeps_space = text[at] == ' ' && !v->removes_extra_spaces;
    return !v->prefix_is_conditional || !(has_mark || keeps_space);
}

/* Converts text[begin..end), which is the text between two special tokens. */
typedef joule_status encode_fn(struct encoder *encoder, const char *text, size_t begin, size_t end);

/* Converts a range of normalized text (encode_fn). text: encoder->text. */
static joule_status encode_range(struct encoder *encoder, const char *text, size_t begin, size_t end)
{
    (void)text;
    encoder->ends_with_unknown = false;
    encoder->score = 0;
    return encoder_each_part(encoder, begin, end,
                             encoder->tokenizer->vocabulary->kind == VOCABULARY_UNIGRAM ? unigram_encode_part
                                                                                        : spm_encode_part);
}

/* Normalizes text[begin..end), and converts it (encode_fn). */
static joule_status encode_plain(struct encoder *encoder, const char *text, size_t begin, size_t end)
{
    const struct vocabulary *v = encoder->tokenizer->vocabulary;
    encoder->ends_with_unknown = false;
    if (v->kind == VOCABULARY_BPE)
        return bpe_encode(encoder, text + begin, end - begin);
    if (!encoder_normalize(encoder, text + begin, end - begin, adds_space(v, text, begin, end)))
        return encoder_no_memory(encoder);
    return encode_range(encoder, encoder->text, 0, encoder->text_size);
}

/* Finds the tokens of a set in text[begin..end), and calls `encode` for the text between them. has_marks: see
 * struct special_search. */
static joule_status encode_around(struct encoder *encoder, const struct special_set *set, bool has_marks,
                                  const char *text, size_t begin, size_t end, encode_fn *encode)
{
    if (begin == end) /* the text may be NULL */
        return JOULE_OK;
    struct special_search search = {.tokenizer = encoder->tokenizer,
                                    .set = set,
                                    .text = text + begin,
                                    .size = end - begin,
                                    .flags = encoder->flags,
                                    .has_marks = has_marks};
    struct special_match match;
    joule_status status = JOULE_OK;
    bool is_found = true;
    for (size_t at = begin; is_found && status == JOULE_OK; at = begin + search.end) {
        is_found = special_search_next(&search, &match);
        size_t next = is_found ? begin + match.begin : end;
        if (at < next)
            status = encode(encoder, text, at, next);
        if (is_found && status == JOULE_OK)
            encoder_add(encoder, match.token);
    }
    return status;
}

/* Converts text[begin..end), which may contain special tokens that are searched for after the others. */
static joule_status encode_between(struct encoder *encoder, const char *text, size_t begin, size_t end)
{
    const forge_tokenizer *tokenizer = encoder->tokenizer;
    const struct special_set *others = &tokenizer->special.others;
    if (others->trie.count == 0)
        return encode_plain(encoder, text, begin, end);
    if (!tokenizer->special.is_normalized)
        return encode_around(encoder, others, false, text, begin, end, encode_plain);
    if (!encoder_normalize(encoder, text + begin, end - begin, tokenizer->vocabulary->adds_space_prefix))
        return encoder_no_memory(encoder);
    return encode_around(encoder, others, true, encoder->text, 0, encoder->text_size, encode_range);
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
    struct encoder encoder = {.tokenizer = tokenizer,
                              .out_tokens = out_tokens,
                              .capacity = capacity,
                              .flags = flags,
                              .error = out_error};
    if ((flags & FORGE_TOKENIZE_ADD_ENDS) && vocabulary->adds_bos && vocabulary->bos != TOKEN_NONE)
        encoder_add(&encoder, vocabulary->bos);
    joule_status status =
        encode_around(&encoder, &tokenizer->special.raw, false, text, 0, size, encode_between);
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
