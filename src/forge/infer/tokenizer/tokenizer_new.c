/* infer/tokenizer/tokenizer_new.c - makes a tokenizer from a vocabulary, and checks the vocabulary. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/infer/model/model_file.h"

/* Texts of tokens that end an answer. Only control tokens count. */
static const char *const end_names[] = {
    "<|im_end|>",    "<|eot_id|>",      "<|eom_id|>", "<|end|>", "<end_of_turn>",
    "<|endoftext|>", "<|end_of_text|>", "<EOT>",      "_<EOT>",  NULL};

/* --- checks --------------------------------------------------------------------------------------------- */

static joule_status check_ids(const struct vocabulary *v, joule_error *error)
{
    const struct {
        const char *name;
        int32_t token;
    } ids[] = {
        {"BOS", v->bos}, {"EOS", v->eos}, {"EOT", v->eot}, {"unknown", v->unknown}, {"padding", v->padding}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (ids[i].token < TOKEN_NONE || (ids[i].token >= 0 && (size_t)ids[i].token >= v->count))
            return error_set(error, JOULE_INVALID,
                             "cannot open a tokenizer: the %s token is %d, but there are %zu tokens",
                             ids[i].name, ids[i].token, v->count);
    return JOULE_OK;
}

static bool needs_scores(const struct vocabulary *v)
{
    return v->kind == VOCABULARY_UNIGRAM || (v->kind == VOCABULARY_SPM && v->merge_count == 0);
}

static joule_status check_token(const struct vocabulary *v, size_t i, joule_error *error)
{
    if (v->tokens[i].size > TOKENIZER_MAX_TOKEN)
        return error_set(error, JOULE_UNSUPPORTED,
                         "cannot open a tokenizer: token %zu has %zu bytes; the maximum is %d", i,
                         v->tokens[i].size, TOKENIZER_MAX_TOKEN);
    if (v->types && (v->types[i] < TOKEN_NORMAL || v->types[i] > TOKEN_BYTE))
        return error_set(error, JOULE_INVALID, "cannot open a tokenizer: token %zu has the unknown type %d",
                         i, v->types[i]);
    if (needs_scores(v) && !isfinite(v->scores[i]))
        return error_set(error, JOULE_INVALID,
                         "cannot open a tokenizer: the score of token %zu is not finite", i);
    return JOULE_OK;
}

static joule_status check(const struct vocabulary *v, joule_error *error)
{
    if (v->count == 0 || v->count > INT32_MAX)
        return error_set(error, JOULE_INVALID,
                         "cannot open a tokenizer: the vocabulary has %zu tokens, not 1 to %d", v->count,
                         INT32_MAX);
    if (v->kind != VOCABULARY_SPM && v->kind != VOCABULARY_BPE && v->kind != VOCABULARY_UNIGRAM)
        return error_set(error, JOULE_UNSUPPORTED, "cannot open a tokenizer: unknown kind %d of vocabulary",
                         (int)v->kind);
    if (needs_scores(v) && !v->scores)
        return error_set(error, JOULE_INVALID, "cannot open a tokenizer: the vocabulary has no scores");
    joule_status status = check_ids(v, error);
    for (size_t i = 0; i < v->count && status == JOULE_OK; i++)
        status = check_token(v, i, error);
    return status;
}

/* --- texts ---------------------------------------------------------------------------------------------- */

/* Writes a token with spaces instead of U+2581. Returns the number of bytes. */
static size_t write_spaces(struct bytes token, char *out)
{
    const size_t mark = strlen(SPACE_MARK);
    size_t size = 0;
    for (size_t i = 0; i < token.size;) {
        bool is_mark = token.size - i >= mark && memcmp(token.data + i, SPACE_MARK, mark) == 0;
        out[size++] = is_mark ? ' ' : token.data[i];
        i += is_mark ? mark : 1;
    }
    return size;
}

size_t tokenizer_write_text(enum vocabulary_kind kind, struct bytes token, char *out)
{
    return kind == VOCABULARY_BPE ? bpe_decode_token(token, out) : write_spaces(token, out);
}

/* Returns the value of a byte token's text ("<0x0A>"), or -1. */
static int parse_byte(struct bytes token)
{
    uint64_t byte;
    char text[8] = "";
    if (token.size != 6 || memcmp(token.data, "<0x", 3) != 0 || token.data[5] != '>')
        return -1;
    memcpy(text, token.data + 3, 2);
    return string_to_u64(text, 16, &byte) ? (int)byte : -1;
}

/* Writes the text that token `i` stands for. Returns its size in bytes, at most the size of the token. */
static size_t write_text(const struct vocabulary *v, size_t i, char *out)
{
    struct bytes token = v->tokens[i];
    enum token_type type = v->types ? (enum token_type)v->types[i] : TOKEN_NORMAL;
    int byte = type == TOKEN_BYTE ? parse_byte(token) : -1;
    if (byte >= 0) {
        *out = (char)byte;
        return 1;
    }
    if (type == TOKEN_NORMAL || type == TOKEN_UNUSED)
        return tokenizer_write_text(v->kind, token, out);
    if (token.size)
        memcpy(out, token.data, token.size);
    return token.size;
}

static joule_status make_texts(forge_tokenizer *tokenizer, joule_error *error)
{
    const struct vocabulary *v = tokenizer->vocabulary;
    struct token_texts *texts = &tokenizer->texts;
    size_t all = 0;
    for (size_t i = 0; i < v->count; i++)
        all += v->tokens[i].size;
    if (all > UINT32_MAX)
        return error_set(error, JOULE_UNSUPPORTED,
                         "cannot open a tokenizer: its tokens have %zu bytes; the maximum is %u", all,
                         UINT32_MAX);
    texts->bytes = malloc(all + 1);
    texts->begins = calloc(v->count + 1, sizeof *texts->begins);
    if (!texts->bytes || !texts->begins)
        return error_set(error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    for (size_t i = 0; i < v->count; i++) {
        size_t size = write_text(v, i, texts->bytes + texts->begins[i]);
        texts->begins[i + 1] = texts->begins[i] + (uint32_t)size;
        if (size > tokenizer->max_token)
            tokenizer->max_token = size;
    }
    return JOULE_OK;
}

/* --- special tokens ------------------------------------------------------------------------------------- */

static void find_byte_tokens(forge_tokenizer *tokenizer)
{
    memset(tokenizer->byte_tokens, 0xff, sizeof tokenizer->byte_tokens);
    for (size_t i = tokenizer->vocabulary->count; i-- > 0;) {
        size_t size;
        const char *text = token_text(&tokenizer->texts, (int32_t)i, &size);
        enum token_type type = tokenizer_type(tokenizer, (int32_t)i);
        bool is_byte = tokenizer->vocabulary->kind == VOCABULARY_BPE
                           ? type == TOKEN_NORMAL || tokenizer_is_found_twice(tokenizer, (int32_t)i)
                           : type == TOKEN_BYTE;
        if (size == 1 && is_byte)
            tokenizer->byte_tokens[(uint8_t)*text] = (int32_t)i;
    }
}

static void add_end(forge_tokenizer *tokenizer, int32_t token)
{
    if (token != TOKEN_NONE && tokenizer->end_count < TOKENIZER_MAX_END_TOKENS &&
        !forge_token_is_end(tokenizer, token))
        tokenizer->end_tokens[tokenizer->end_count++] = token;
}

static bool has_end_name(struct bytes token)
{
    for (size_t i = 0; end_names[i]; i++)
        if (strlen(end_names[i]) == token.size && memcmp(end_names[i], token.data, token.size) == 0)
            return true;
    return false;
}

static void find_end_tokens(forge_tokenizer *tokenizer)
{
    const struct vocabulary *v = tokenizer->vocabulary;
    add_end(tokenizer, v->eos);
    add_end(tokenizer, v->eot);
    for (size_t i = 0; i < v->count; i++) {
        enum token_type type = tokenizer_type(tokenizer, (int32_t)i);
        bool is_special = type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED || type == TOKEN_UNKNOWN;
        if (is_special && has_end_name(v->tokens[i]))
            add_end(tokenizer, (int32_t)i);
    }
}

bool tokenizer_fill_table(forge_tokenizer *tokenizer,
                          bool (*accepts)(const forge_tokenizer *tokenizer, int32_t token))
{
    size_t count = tokenizer->vocabulary->count;
    if (!tokenizer->table.slots && !token_table_init(&tokenizer->table, &tokenizer->texts, count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (accepts(tokenizer, (int32_t)i) && tokenizer->texts.begins[i] < tokenizer->texts.begins[i + 1])
            token_table_add(&tokenizer->table, (int32_t)i);
    return true;
}

/* --- tokenizer ------------------------------------------------------------------------------------------ */

joule_status tokenizer_new(const struct vocabulary *vocabulary, forge_tokenizer **out_tokenizer,
                           joule_error *out_error)
{
    static joule_status (*const init[])(forge_tokenizer * tokenizer, joule_error * out_error) = {
        [VOCABULARY_SPM] = spm_init, [VOCABULARY_BPE] = bpe_init, [VOCABULARY_UNIGRAM] = unigram_init};
    joule_status status = check(vocabulary, out_error);
    if (status != JOULE_OK)
        return status;
    forge_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (!tokenizer)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    tokenizer->vocabulary = vocabulary;
    status = make_texts(tokenizer, out_error);
    if (status == JOULE_OK) {
        find_byte_tokens(tokenizer);
        find_end_tokens(tokenizer);
        status = init[vocabulary->kind](tokenizer, out_error);
    }
    if (status == JOULE_OK && special_tokens_init(tokenizer) != JOULE_OK)
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    if (status == JOULE_OK)
        *out_tokenizer = tokenizer;
    else
        forge_tokenizer_free(tokenizer);
    return status;
}

void forge_tokenizer_free(forge_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    bpe_free(tokenizer->bpe);
    unigram_free(tokenizer->unigram);
    token_table_free(&tokenizer->table);
    pair_table_free(&tokenizer->merges);
    special_tokens_free(&tokenizer->special);
    free(tokenizer->texts.bytes);
    free(tokenizer->texts.begins);
    model_file_close(tokenizer->file);
    free(tokenizer);
}
