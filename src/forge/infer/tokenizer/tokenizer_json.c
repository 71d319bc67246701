/* infer/tokenizer/tokenizer_json.c - reads the vocabulary of a tokenizer.json of Hugging Face: see
 * tokenizer_read.h. */
#include "forge/infer/tokenizer/tokenizer_json.h"

#include <math.h>
#include <string.h>
#include "forge/core/random_access_file.h"

enum {
    MAX_FILE = 64 << 20, /* bytes */
    MAX_GAPS = 65536,    /* maximum number of ids without a token, below the highest id of a token */
};

bool json_is_text(const struct json_value *value, const char *text)
{
    const char *own = json_text_of(value);
    return own && strcmp(own, text) == 0;
}

bool json_flag(const struct json_value *value, bool otherwise)
{
    if (!value || (value->kind != JSON_TRUE && value->kind != JSON_FALSE))
        return otherwise;
    return value->kind == JSON_TRUE;
}

int32_t json_tokenizer_find(const struct json_tokenizer *reading, const char *text)
{
    const struct vocabulary *v = reading->vocabulary;
    size_t size = text ? strlen(text) : 0;
    for (size_t i = 0; text && i < v->count; i++)
        if (v->tokens[i].size == size && v->tokens[i].data && memcmp(v->tokens[i].data, text, size) == 0)
            return (int32_t)i;
    return -1;
}

static joule_status no_memory(const struct json_tokenizer *reading)
{
    return json_tokenizer_fail(reading, JOULE_NO_MEMORY, "%s", "out of memory");
}

/* --- tokens --------------------------------------------------------------------------------------------- */

/* Returns the number of items of an array or object. number_of: returns the number of an item's token.
 * *highest: raised to the highest of these numbers. */
static size_t count_tokens(const struct json_value *list,
                           bool (*number_of)(const struct json_value *item, uint64_t *out_number),
                           uint64_t *highest)
{
    size_t count = 0;
    uint64_t number;
    for (const struct json_value *item = list ? list->first : NULL; item; item = item->next, count++)
        if (number_of && number_of(item, &number) && number > *highest)
            *highest = number;
    return count;
}

static bool added_number(const struct json_value *item, uint64_t *out_number)
{
    return json_u64_of(json_member(item, "id"), out_number);
}

/* Allocates the tokens. A number that the file does not use gets a token without text, of the type
 * TOKEN_UNUSED. */
static joule_status allocate_tokens(struct json_tokenizer *reading, const struct json_value *vocab,
                                    const struct json_value *added)
{
    struct vocabulary *v = reading->vocabulary;
    bool is_unigram = v->kind == VOCABULARY_UNIGRAM;
    uint64_t highest = 0;
    size_t count = count_tokens(vocab, is_unigram ? NULL : json_u64_of, &highest);
    if (is_unigram && count > 0)
        highest = count - 1;
    count += count_tokens(added, added_number, &highest);
    if (count == 0 || highest >= count + MAX_GAPS || highest >= INT32_MAX)
        return json_tokenizer_fail(reading, JOULE_INVALID,
                                   "vocab has %zu tokens, which is too few for the highest id, %llu", count,
                                   (unsigned long long)highest);
    v->count = (size_t)highest + 1;
    v->tokens = arena_alloc(reading->arena, v->count * sizeof *v->tokens);
    v->types = arena_alloc(reading->arena, v->count);
    v->rules = arena_alloc(reading->arena, v->count);
    v->scores = is_unigram ? arena_alloc(reading->arena, v->count * sizeof *v->scores) : NULL;
    if (!v->tokens || !v->types || !v->rules || (is_unigram && !v->scores))
        return no_memory(reading);
    memset(v->types, TOKEN_UNUSED, v->count);
    for (size_t i = 0; i < v->count; i++)
        v->tokens[i].data = "";
    return JOULE_OK;
}

static joule_status add_token(struct json_tokenizer *reading, const char *text, uint64_t number)
{
    struct vocabulary *v = reading->vocabulary;
    if (v->types[number] != TOKEN_UNUSED)
        return json_tokenizer_fail(reading, JOULE_INVALID, "vocab: two tokens have the number %llu",
                                   (unsigned long long)number);
    v->tokens[number] = (struct bytes){text, strlen(text)};
    bool is_byte = v->kind != VOCABULARY_BPE && v->tokens[number].size == 6 && strncmp(text, "<0x", 3) == 0;
    v->types[number] = is_byte ? TOKEN_BYTE : TOKEN_NORMAL;
    return JOULE_OK;
}

/* Reads {"text": number, ...}. */
static joule_status read_numbered(struct json_tokenizer *reading, const struct json_value *vocab)
{
    joule_status status = JOULE_OK;
    uint64_t number;
    for (const struct json_value *item = vocab->first; item && status == JOULE_OK; item = item->next)
        status = json_u64_of(item, &number) ? add_token(reading, item->name, number)
                                            : json_tokenizer_fail(reading, JOULE_INVALID,
                                                                  "vocab: '%.60s' has no number", item->name);
    return status;
}

/* Reads [["text", score], ...]. */
static joule_status read_scored(struct json_tokenizer *reading, const struct json_value *vocab)
{
    joule_status status = JOULE_OK;
    size_t i = 0;
    for (const struct json_value *item = vocab->first; item && status == JOULE_OK; item = item->next, i++) {
        const char *text = json_text_of(item->first);
        double score = text ? json_double_of(item->first->next) : NAN;
        if (!text || !isfinite(score))
            return json_tokenizer_fail(reading, JOULE_INVALID, "vocab: token %zu is not a text and a score",
                                       i);
        reading->vocabulary->scores[i] = (float)score;
        status = add_token(reading, text, i);
    }
    return status;
}

/* Returns the rules of an added token. */
static uint8_t read_rules(const struct json_value *item, bool is_in_model)
{
    static const struct {
        const char *name;
        uint8_t rule;
    } rules[] = {{"lstrip", TOKEN_STRIPS_LEFT},
                 {"rstrip", TOKEN_STRIPS_RIGHT},
                 {"single_word", TOKEN_IS_WORD},
                 {"normalized", TOKEN_IS_NORMALIZED}};
    uint8_t all = is_in_model ? TOKEN_IN_MODEL : 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (json_flag(json_member(item, rules[i].name), false))
            all |= rules[i].rule;
    return all;
}

static joule_status read_added(struct json_tokenizer *reading, const struct json_value *added)
{
    struct vocabulary *v = reading->vocabulary;
    for (const struct json_value *item = added ? added->first : NULL; item; item = item->next) {
        const char *text = json_text_of(json_member(item, "content"));
        uint64_t number;
        if (!text || !added_number(item, &number))
            return json_tokenizer_fail(reading, JOULE_INVALID, "%s",
                                       "added_tokens: a token has no content or no id");
        struct bytes bytes = {text, strlen(text)}, *own = &v->tokens[number];
        if (v->types[number] != TOKEN_UNUSED &&
            (own->size != bytes.size || memcmp(own->data, text, bytes.size) != 0))
            return json_tokenizer_fail(
                reading, JOULE_INVALID, "added_tokens: token %llu is '%.60s' here, but '%.*s' in vocab",
                (unsigned long long)number, text, (int)(own->size < 60 ? own->size : 60), own->data);
        *own = bytes;
        v->rules[number] =
            read_rules(item, v->types[number] == TOKEN_NORMAL || v->types[number] == TOKEN_BYTE);
        v->types[number] =
            json_flag(json_member(item, "special"), false) ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
    }
    return JOULE_OK;
}

/* --- merges --------------------------------------------------------------------------------------------- */

/* Sets the texts of a merge: ["left", "right"], or "left right". For the second form, *out_left is the whole
 * text, and *out_right is NULL. */
static bool merge_texts(const struct json_value *item, const char **out_left, const char **out_right)
{
    bool is_pair = item->kind == JSON_ARRAY;
    *out_left = json_text_of(is_pair ? item->first : item);
    *out_right = is_pair && *out_left ? json_text_of(item->first->next) : NULL;
    return *out_left && (!is_pair || (*out_right && !item->first->next->next));
}

static joule_status read_merges(struct json_tokenizer *reading, const struct json_value *merges)
{
    struct vocabulary *v = reading->vocabulary;
    size_t count = 0, size = 0;
    const char *left, *right;
    if (!merges || merges->kind != JSON_ARRAY)
        return json_tokenizer_fail(reading, JOULE_INVALID, "%s", "model.merges is missing");
    for (const struct json_value *item = merges->first; item; item = item->next, count++) {
        if (!merge_texts(item, &left, &right))
            return json_tokenizer_fail(reading, JOULE_INVALID,
                                       "model.merges: merge %zu is not a pair of texts", count);
        size += right ? strlen(left) + 1 + strlen(right) : 0;
    }
    v->merges = arena_alloc(reading->arena, count * sizeof *v->merges);
    char *joined = arena_alloc(reading->arena, size);
    if (!v->merges || !joined)
        return no_memory(reading);
    for (const struct json_value *item = merges->first; item; item = item->next) {
        merge_texts(item, &left, &right);
        struct bytes merge = {left, strlen(left)};
        if (right) {
            size_t left_size = merge.size, right_size = strlen(right);
            merge = (struct bytes){joined, left_size + 1 + right_size};
            memcpy(joined, left, left_size);
            joined[left_size] = ' ';
            memcpy(joined + left_size + 1, right, right_size);
            joined += merge.size;
        }
        v->merges[v->merge_count++] = merge;
    }
    return JOULE_OK;
}

/* --- model ---------------------------------------------------------------------------------------------- */

static joule_status read_kind(struct json_tokenizer *reading, const struct json_value *model)
{
    const struct json_value *type = json_member(model, "type");
    const char *name = json_text_of(type);
    if (json_is_text(type, "Unigram"))
        reading->vocabulary->kind = VOCABULARY_UNIGRAM;
    else if (json_is_text(type, "BPE") || (!type && json_member(model, "merges")))
        reading->vocabulary->kind =
            json_flag(json_member(model, "byte_fallback"), false) ? VOCABULARY_SPM : VOCABULARY_BPE;
    else
        return json_tokenizer_fail(reading, JOULE_UNSUPPORTED,
                                   "model.type '%.40s' is not supported, only BPE and Unigram",
                                   name ? name : "");
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    for (size_t i = 0; i < sizeof affixes / sizeof *affixes; i++) {
        const char *affix = json_text_of(json_member(model, affixes[i]));
        if (affix && *affix)
            return json_tokenizer_fail(reading, JOULE_UNSUPPORTED, "model.%s is not supported", affixes[i]);
    }
    reading->ignores_merges = json_flag(json_member(model, "ignore_merges"), false);
    return JOULE_OK;
}

static void read_unknown(struct json_tokenizer *reading, const struct json_value *model)
{
    struct vocabulary *v = reading->vocabulary;
    uint64_t number;
    v->unknown = json_tokenizer_find(reading, json_text_of(json_member(model, "unk_token")));
    if (json_u64_of(json_member(model, "unk_id"), &number) && number < v->count)
        v->unknown = (int32_t)number;
    if (v->unknown >= 0 && v->types[v->unknown] == TOKEN_NORMAL)
        v->types[v->unknown] = TOKEN_UNKNOWN;
}

static joule_status read_model(struct json_tokenizer *reading)
{
    const struct json_value *model = json_member(reading->root, "model"),
                            *vocab = json_member(model, "vocab");
    const struct json_value *added = json_member(reading->root, "added_tokens");
    bool is_unigram = reading->vocabulary->kind == VOCABULARY_UNIGRAM;
    if (!vocab || vocab->kind != (is_unigram ? JSON_ARRAY : JSON_OBJECT))
        return json_tokenizer_fail(reading, JOULE_INVALID, "model.vocab is not %s",
                                   is_unigram ? "an array" : "an object");
    joule_status status = allocate_tokens(reading, vocab, added);
    if (status == JOULE_OK)
        status = is_unigram ? read_scored(reading, vocab) : read_numbered(reading, vocab);
    if (status == JOULE_OK)
        status = read_added(reading, added);
    if (status == JOULE_OK && !is_unigram)
        status = read_merges(reading, json_member(model, "merges"));
    if (status == JOULE_OK)
        read_unknown(reading, model);
    return status;
}

static joule_status read_all(struct json_tokenizer *reading)
{
    const struct json_value *model = json_member(reading->root, "model");
    if (!model)
        return json_tokenizer_fail(reading, JOULE_INVALID, "%s",
                                   "model is missing; this is not a tokenizer.json");
    joule_status status = read_kind(reading, model);
    if (status == JOULE_OK)
        status = json_read_steps(reading);
    if (status == JOULE_OK)
        status = read_model(reading);
    if (status == JOULE_OK)
        status = json_read_ends(reading);
    return status == JOULE_OK ? json_read_config(reading) : status;
}

joule_status tokenizer_json_read(struct arena *arena, struct vocabulary *vocabulary, const char *path,
                                 joule_error *out_error)
{
    struct arena tree = {.block_size = 1 << 18}; /* memory that is needed only while reading */
    struct json_tokenizer reading = {
        .arena = arena, .vocabulary = vocabulary, .path = path, .error = out_error};
    char *text;
    size_t size;
    *vocabulary = (struct vocabulary){.bos = -1, .eos = -1, .eot = -1, .unknown = -1, .padding = -1};
    joule_status status = file_read_all(path, MAX_FILE, arena, &text, &size, out_error);
    if (status != JOULE_OK)
        return status;
    joule_error error = {0};
    reading.root = json_parse(&tree, text, size, path, &error);
    status = reading.root ? read_all(&reading) : error_set(out_error, error.status, "%s", error.message);
    arena_free(&tree);
    return status;
}
