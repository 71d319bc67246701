/* infer/model/gguf_write_keys.c - writes the keys and values of GGUF files. */
#include "forge/infer/model/gguf_write.h"

#include <string.h>
#include "base/string.h"
#include "forge/infer/model/gguf.h"
#include "forge/infer/model/model_reader.h"

enum { KEY_SIZE = 80 };

#define KEY(name) "tokenizer.ggml." name

/* --- values --------------------------------------------------------------------------------------------- */

void gguf_put_u32(FILE *out, uint32_t value)
{
    fwrite(&value, sizeof value, 1, out);
}

void gguf_put_u64(FILE *out, uint64_t value)
{
    fwrite(&value, sizeof value, 1, out);
}

void gguf_put_string(FILE *out, struct bytes string)
{
    gguf_put_u64(out, string.size);
    fwrite(string.data, 1, string.size, out);
}

static void put_key(FILE *out, const char *key, uint32_t type)
{
    gguf_put_string(out, (struct bytes){key, strlen(key)});
    gguf_put_u32(out, type);
}

void gguf_put_integer(FILE *out, const char *key, int64_t value)
{
    put_key(out, key, GGUF_U32);
    gguf_put_u32(out, (uint32_t)value);
}

void gguf_put_number(FILE *out, const char *key, double value)
{
    float narrow = (float)value;
    put_key(out, key, GGUF_F32);
    fwrite(&narrow, sizeof narrow, 1, out);
}

void gguf_put_flag(FILE *out, const char *key, bool value)
{
    put_key(out, key, GGUF_BOOL);
    fputc(value, out);
}

void gguf_put_text(FILE *out, const char *key, const char *text)
{
    put_key(out, key, GGUF_STRING);
    gguf_put_string(out, (struct bytes){text, strlen(text)});
}

void gguf_put_array(FILE *out, const char *key, uint32_t type, uint64_t count)
{
    put_key(out, key, GGUF_ARRAY);
    gguf_put_u32(out, type);
    gguf_put_u64(out, count);
}

/* --- settings ------------------------------------------------------------------------------------------- */

/* The state of writing keys that begin with the name of the architecture. */
struct writing {
    FILE *out;
    const char *architecture;
    uint64_t count;
};

static void put_size(struct writing *w, const char *name, int64_t value)
{
    char key[KEY_SIZE];
    string_print(key, sizeof key, "%s.%s", w->architecture, name);
    gguf_put_integer(w->out, key, value);
    w->count++;
}

static void put_real(struct writing *w, const char *name, double value)
{
    char key[KEY_SIZE];
    string_print(key, sizeof key, "%s.%s", w->architecture, name);
    gguf_put_number(w->out, key, value);
    w->count++;
}

/* Writes the keys of the rotary embedding. The scaling of llama3 has no key: files express it as the tensor
 * rope_freqs.weight. */
static void put_rope(struct writing *w, const struct model_config *c)
{
    char key[KEY_SIZE];
    put_size(w, "rope.dimension_count", c->rope_dims);
    put_real(w, "rope.freq_base", c->rope_base);
    if (c->rope_scaling != ROPE_LINEAR && c->rope_scaling != ROPE_YARN)
        return;
    string_print(key, sizeof key, "%s.rope.scaling.type", w->architecture);
    gguf_put_text(w->out, key, c->rope_scaling == ROPE_YARN ? "yarn" : "linear");
    w->count++;
    put_real(w, "rope.scaling.factor", c->rope_factor);
    if (c->rope_scaling == ROPE_YARN) {
        put_size(w, "rope.scaling.original_context_length", (int64_t)c->rope_original_context);
        put_real(w, "rope.scaling.yarn_beta_fast", c->rope_beta_fast);
        put_real(w, "rope.scaling.yarn_beta_slow", c->rope_beta_slow);
        /* Readers multiply this number by the standard factor, so it is divided here. */
        put_real(w, "rope.scaling.attn_factor",
                 c->rope_attention_factor / model_yarn_scale(c->rope_factor, 1));
    }
}

uint64_t gguf_put_config(FILE *out, const struct model_config *c)
{
    struct writing w = {out, model_architecture_name(c->architecture), 1};
    bool is_gpt2 = c->architecture == ARCHITECTURE_GPT2;
    gguf_put_text(out, "general.architecture", w.architecture);
    put_size(&w, "block_count", c->layers);
    put_size(&w, "context_length", c->context);
    put_size(&w, "embedding_length", c->width);
    put_size(&w, "feed_forward_length", c->hidden);
    put_size(&w, "vocab_size", c->vocabulary);
    put_size(&w, "attention.head_count", c->heads);
    put_size(&w, "attention.head_count_kv", c->kv_heads);
    put_size(&w, "attention.key_length", c->head_dim);
    put_size(&w, "attention.value_length", c->head_dim);
    put_real(&w, is_gpt2 ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
             c->norm_epsilon);
    if (!is_gpt2)
        put_rope(&w, c);
    return w.count;
}

/* --- the vocabulary ------------------------------------------------------------------------------------- */

static void put_strings(FILE *out, const char *key, const struct bytes *strings, size_t count)
{
    gguf_put_array(out, key, GGUF_STRING, count);
    for (size_t i = 0; i < count; i++)
        gguf_put_string(out, strings[i]);
}

/* Writes tokens, scores, types and merges. Returns the number of keys. */
static uint64_t put_tokens(FILE *out, const struct vocabulary *v)
{
    put_strings(out, KEY("tokens"), v->tokens, v->count);
    if (v->scores) {
        gguf_put_array(out, KEY("scores"), GGUF_F32, v->count);
        fwrite(v->scores, sizeof *v->scores, v->count, out);
    }
    gguf_put_array(out, KEY("token_type"), GGUF_I32, v->count);
    for (size_t i = 0; i < v->count; i++)
        gguf_put_u32(out, v->types[i]);
    if (v->kind == VOCABULARY_BPE)
        put_strings(out, KEY("merges"), v->merges, v->merge_count);
    return 2 + (v->scores != NULL) + (v->kind == VOCABULARY_BPE);
}

/* Writes the special tokens. The number of a missing token is written as UINT32_MAX, because readers assume
 * defaults for absent keys. */
static uint64_t put_ids(FILE *out, const struct vocabulary *v)
{
    gguf_put_integer(out, KEY("bos_token_id"), v->bos);
    gguf_put_integer(out, KEY("eos_token_id"), v->eos);
    gguf_put_integer(out, KEY("unknown_token_id"), v->unknown);
    gguf_put_integer(out, KEY("padding_token_id"), v->padding);
    if (v->eot >= 0)
        gguf_put_integer(out, KEY("eot_token_id"), v->eot);
    return 4 + (v->eot >= 0);
}

static uint64_t put_flags(FILE *out, const struct vocabulary *v)
{
    gguf_put_flag(out, KEY("add_bos_token"), v->adds_bos);
    gguf_put_flag(out, KEY("add_eos_token"), v->adds_eos);
    gguf_put_flag(out, KEY("add_space_prefix"), v->adds_space_prefix);
    gguf_put_flag(out, KEY("remove_extra_whitespaces"), v->removes_extra_spaces);
    return 4;
}

static uint64_t put_texts(FILE *out, const struct vocabulary *v)
{
    if (v->pre)
        gguf_put_text(out, KEY("pre"), v->pre);
    if (v->chat_template)
        gguf_put_text(out, "tokenizer.chat_template", v->chat_template);
    if (v->charsmap.size > 0) {
        gguf_put_array(out, KEY("precompiled_charsmap"), GGUF_U8, v->charsmap.size);
        fwrite(v->charsmap.data, 1, v->charsmap.size, out);
    }
    return (uint64_t)(v->pre != NULL) + (v->chat_template != NULL) + (v->charsmap.size > 0);
}

uint64_t gguf_put_vocabulary(FILE *out, const struct vocabulary *v)
{
    static const char *const kinds[] = {
        [VOCABULARY_SPM] = "llama", [VOCABULARY_BPE] = "gpt2", [VOCABULARY_UNIGRAM] = "t5"};
    gguf_put_text(out, KEY("model"), v->count ? kinds[v->kind] : "no_vocab");
    if (v->count == 0)
        return 1;
    uint64_t count = 1;
    count += put_tokens(out, v);
    count += put_ids(out, v);
    count += put_flags(out, v);
    return count + put_texts(out, v);
}
