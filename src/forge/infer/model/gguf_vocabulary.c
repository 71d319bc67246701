/* infer/model/gguf_vocabulary.c - reads the vocabulary of GGUF files. */
#include "forge/infer/model/gguf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "forge/infer/model/model_reader.h"

#define KEY(name) "tokenizer.ggml." name

/* --- tokens --------------------------------------------------------------------------------------------- */

static void *allocate(struct gguf *g, uint64_t count, size_t item_size)
{
    /* The file contains at least one byte for each item, so the product does not overflow. */
    void *items = g->status == JOULE_OK ? arena_alloc(&g->file->arena, (size_t)count * item_size) : NULL;
    if (!items && g->status == JOULE_OK)
        g->status = model_no_memory(g->path, g->error);
    return items;
}

/* Returns the strings of an array; their bytes remain in the map. If out of memory, fails and returns
 * NULL. */
static struct bytes *get_strings(struct gguf *g, const struct gguf_value *value)
{
    struct bytes *strings = allocate(g, value->count, sizeof *strings);
    const char *next = value->data;
    for (uint64_t i = 0; strings && i < value->count; i++) {
        strings[i] = (struct bytes){next + 8, (size_t)read_u64(next)};
        next += 8 + strings[i].size;
    }
    return strings;
}

/* Returns true if the array has one item for each token. Otherwise fails. */
static bool check_count(struct gguf *g, const char *key, const struct gguf_value *value)
{
    if (value->count != g->file->vocabulary.count)
        gguf_fail(g, JOULE_INVALID, "key '%s' has %" PRIu64 " items for %zu tokens", key, value->count,
                  g->file->vocabulary.count);
    return g->status == JOULE_OK;
}

static void get_scores(struct gguf *g, struct vocabulary *v)
{
    static const char key[] = KEY("scores");
    const struct gguf_value *value = gguf_array(g, key, GGUF_F32, GGUF_F32);
    if (!value) {
        if (v->kind != VOCABULARY_BPE)
            gguf_fail(g, JOULE_INVALID, "key '%s' is missing, which this kind of tokenizer needs", key);
        return;
    }
    v->scores = check_count(g, key, value) ? allocate(g, value->count, sizeof *v->scores) : NULL;
    for (size_t i = 0; v->scores && i < v->count; i++) {
        v->scores[i] = read_f32(value->data + i * sizeof(float));
        if (!isfinite(v->scores[i]))
            gguf_fail(g, JOULE_INVALID, "the score of token %zu is not finite", i);
    }
}

static void get_types(struct gguf *g, struct vocabulary *v)
{
    static const char key[] = KEY("token_type");
    const struct gguf_value *value = gguf_array(g, key, GGUF_I32, GGUF_U32);
    v->types = !value || check_count(g, key, value) ? allocate(g, v->count, sizeof *v->types) : NULL;
    for (size_t i = 0; v->types && i < v->count; i++) {
        int64_t type = value ? gguf_integer_at(value, i) : TOKEN_NORMAL;
        if (type < 0 || type > TOKEN_BYTE)
            gguf_fail(g, JOULE_INVALID, "token %zu has the type %" PRId64 ", which is unknown", i, type);
        v->types[i] = (uint8_t)(type == 0 ? TOKEN_NORMAL : type); /* 0 means undefined */
    }
}

static void get_merges(struct gguf *g, struct vocabulary *v)
{
    const struct gguf_value *value = gguf_array(g, KEY("merges"), GGUF_STRING, GGUF_STRING);
    if (!value || v->kind != VOCABULARY_BPE)
        return;
    v->merges = get_strings(g, value);
    v->merge_count = v->merges ? (size_t)value->count : 0;
}

/* --- settings ------------------------------------------------------------------------------------------- */

/* Sets *id to the token that the file states, or to `otherwise` if the key is absent. The value -1, in any
 * width of integer, means that the model has no such token. */
static void get_id(struct gguf *g, const char *key, int32_t otherwise, int32_t *id)
{
    int64_t number = otherwise;
    size_t count = g->file->vocabulary.count;
    bool is_stated = gguf_integer(g, key, &number);
    if (is_stated && number != -1 && number != UINT32_MAX && (number < 0 || (uint64_t)number >= count))
        gguf_fail(g, JOULE_INVALID, "key '%s' is %" PRId64 ", but there are %zu tokens", key, number, count);
    *id = number >= 0 && (uint64_t)number < count ? (int32_t)number : -1;
}

/* Returns the token that ends a turn of a chat; -1: none. Finds it by its text, because many files do not
 * state its number. */
static int32_t find_end_of_turn(const struct vocabulary *v)
{
    static const char *const texts[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>"};
    int32_t found = -1;
    for (size_t k = 0; k < sizeof texts / sizeof *texts && found < 0; k++)
        for (size_t i = 0; i < v->count; i++)
            if (v->types[i] != TOKEN_NORMAL && v->tokens[i].size == strlen(texts[k]) &&
                memcmp(v->tokens[i].data, texts[k], v->tokens[i].size) == 0)
                found = (int32_t)i;
    return found;
}

static void get_ids(struct gguf *g, struct vocabulary *v)
{
    bool is_spm = v->kind == VOCABULARY_SPM, is_unigram = v->kind == VOCABULARY_UNIGRAM;
    get_id(g, KEY("bos_token_id"), is_spm ? 1 : -1, &v->bos);
    get_id(g, KEY("eos_token_id"), is_spm ? 2 : is_unigram ? 1 : -1, &v->eos);
    get_id(g, KEY("unknown_token_id"), is_spm ? 0 : is_unigram ? 2 : -1, &v->unknown);
    get_id(g, KEY("padding_token_id"), is_unigram ? 0 : -1, &v->padding);
    get_id(g, KEY("eot_token_id"), -1, &v->eot);
    if (v->eot < 0 && v->types)
        v->eot = find_end_of_turn(v);
}

static void get_flags(struct gguf *g, struct vocabulary *v)
{
    static const char *const llama3[] = {"llama3", "llama-v3", "llama-bpe", NULL};
    bool is_llama3 = v->kind == VOCABULARY_BPE && string_is_one_of(v->pre, llama3);
    v->adds_bos = v->kind == VOCABULARY_SPM || is_llama3;
    v->adds_eos = v->kind == VOCABULARY_UNIGRAM;
    v->adds_space_prefix = v->kind == VOCABULARY_SPM;
    v->ignores_merges = is_llama3;
    gguf_flag(g, KEY("add_bos_token"), &v->adds_bos);
    gguf_flag(g, KEY("add_eos_token"), &v->adds_eos);
    gguf_flag(g, KEY("add_space_prefix"), &v->adds_space_prefix);
    gguf_flag(g, KEY("remove_extra_whitespaces"), &v->removes_extra_spaces);
}

static void get_charsmap(struct gguf *g, struct vocabulary *v)
{
    const struct gguf_value *value = gguf_array(g, KEY("precompiled_charsmap"), GGUF_U8, GGUF_I8);
    if (value)
        v->charsmap = (struct bytes){value->data, (size_t)value->count};
}

/* Sets the kind of the vocabulary. Returns false if the file has no vocabulary, and after a failure. */
static bool get_kind(struct gguf *g, struct vocabulary *v)
{
    static const struct {
        const char *name;
        enum vocabulary_kind kind;
    } kinds[] = {{"llama", VOCABULARY_SPM}, {"gpt2", VOCABULARY_BPE}, {"t5", VOCABULARY_UNIGRAM}};
    const char *name = NULL;
    if (!gguf_text(g, KEY("model"), &name) || strcmp(name, "none") == 0 || strcmp(name, "no_vocab") == 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            v->kind = kinds[i].kind;
            return true;
        }
    gguf_fail(g, JOULE_UNSUPPORTED, "the tokenizer '%.40s' is not supported; only llama, gpt2 and t5 are",
              name);
    return false;
}

joule_status gguf_get_vocabulary(struct gguf *g)
{
    struct vocabulary *v = &g->file->vocabulary;
    if (!get_kind(g, v))
        return g->status;
    const struct gguf_value *tokens = gguf_array(g, KEY("tokens"), GGUF_STRING, GGUF_STRING);
    if (!tokens || tokens->count == 0 || tokens->count > INT32_MAX)
        return gguf_fail(g, JOULE_INVALID, "key '%s' is missing, empty or too large", KEY("tokens"));
    v->count = (size_t)tokens->count;
    v->tokens = get_strings(g, tokens);
    get_scores(g, v);
    get_types(g, v);
    get_merges(g, v);
    gguf_text(g, KEY("pre"), &v->pre);
    gguf_text(g, "tokenizer.chat_template", &v->chat_template);
    get_ids(g, v);
    get_flags(g, v);
    get_charsmap(g, v);
    if (g->status != JOULE_OK)
        v->count = v->merge_count = 0;
    return g->status;
}

joule_status gguf_read_vocabulary(struct model_file *file, const char *path, joule_error *out_error)
{
    struct gguf gguf;
    if (gguf_open(&gguf, file, path, out_error) != JOULE_OK || gguf_get_vocabulary(&gguf) != JOULE_OK)
        return gguf.status;
    return file->vocabulary.count ? JOULE_OK : gguf_fail(&gguf, JOULE_INVALID, "the file has no vocabulary");
}
