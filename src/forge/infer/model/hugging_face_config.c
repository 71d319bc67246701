/* infer/model/hugging_face_config.c - reads config.json of Hugging Face's folders.
 *
 * Note: the defaults are those of the transformers library.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/core/random_access_file.h"
#include "forge/infer/model/hugging_face.h"
#include "forge/infer/model/model_reader.h"

enum { MAX_JSON_SIZE = 64 << 20 }; /* bytes */

const struct json_value *hf_read_json(struct arena *arena, const char *path, joule_status *out_status,
                                      joule_error *out_error)
{
    size_t size;
    char *text;
    joule_error error = {0};
    *out_status = file_read_all(path, MAX_JSON_SIZE, arena, &text, &size, out_error);
    if (*out_status != JOULE_OK)
        return NULL;
    const struct json_value *root = json_parse(arena, text, size, path, &error);
    if (!root)
        *out_status = error_set(out_error, error.status, "cannot read %s", error.message);
    return root;
}

/* --- values --------------------------------------------------------------------------------------------- */

/* The state of reading a configuration. After the first failure `status` is set. */
struct reading {
    const char *path;
    const struct json_value *root;
    joule_status status;
    joule_error *error;
};

#define FAIL(reading, reason, format, ...)                                                                   \
    ((reading)->status != JOULE_OK                                                                           \
         ? (reading)->status                                                                                 \
         : ((reading)->status = error_set((reading)->error, reason, "cannot read %s: " format,               \
                                          (reading)->path, ##__VA_ARGS__)))

/* Returns the member of an object, or NULL if the member is absent or null. */
static const struct json_value *member(const struct json_value *object, const char *name)
{
    const struct json_value *value = json_member(object, name);
    return value && value->kind != JSON_NULL ? value : NULL;
}

/* Returns a whole number, or `otherwise` if the member is absent. If `otherwise` is 0, the member must
 * exist. */
static int64_t size_of(struct reading *r, const char *name, int64_t otherwise)
{
    const struct json_value *value = member(r->root, name);
    uint64_t number = 0;
    if (!value && otherwise != 0)
        return otherwise;
    if (!value)
        FAIL(r, JOULE_INVALID, "'%s' is missing", name);
    else if (!json_u64_of(value, &number) || number > INT32_MAX)
        FAIL(r, JOULE_INVALID, "'%s' is not a whole number below 2^31", name);
    return (int64_t)number;
}

/* Returns a number, rounded to float as in other formats, or `otherwise` if the member is absent. If
 * `otherwise` is NaN, the member must exist. */
static double real_of(struct reading *r, const struct json_value *object, const char *name, double otherwise)
{
    const struct json_value *value = member(object, name);
    double number = value ? json_double_of(value) : otherwise;
    if (isnan(number))
        FAIL(r, JOULE_INVALID, "'%s' is %s", name, value ? "not a number" : "missing");
    return (float)number;
}

static bool flag_of(struct reading *r, const struct json_value *object, const char *name, bool otherwise)
{
    const struct json_value *value = member(object, name);
    if (value && value->kind != JSON_TRUE && value->kind != JSON_FALSE)
        FAIL(r, JOULE_INVALID, "'%s' is neither true nor false", name);
    return value ? value->kind == JSON_TRUE : otherwise;
}

/* Returns the id of a token; -1: none. If the member is a list of ids, returns the first. */
static int64_t id_of(const struct reading *r, const char *name)
{
    const struct json_value *value = member(r->root, name);
    uint64_t id = 0;
    if (value && value->kind == JSON_ARRAY)
        value = value->first;
    return value && json_u64_of(value, &id) && id <= INT32_MAX ? (int64_t)id : -1;
}

/* --- the model ------------------------------------------------------------------------------------------ */

static void read_architecture(struct reading *r, struct model_config *c)
{
    static const struct {
        const char *name;
        enum architecture architecture;
    } known[] = {{"LlamaForCausalLM", ARCHITECTURE_LLAMA},
                 {"MistralForCausalLM", ARCHITECTURE_LLAMA},
                 {"Qwen2ForCausalLM", ARCHITECTURE_QWEN2},
                 {"Qwen3ForCausalLM", ARCHITECTURE_QWEN3},
                 {"GPT2LMHeadModel", ARCHITECTURE_GPT2}};
    const struct json_value *list = member(r->root, "architectures");
    const char *name = json_text_of(list && list->kind == JSON_ARRAY ? list->first : NULL);
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            c->architecture = known[i].architecture;
            return;
        }
    if (!name)
        FAIL(r, JOULE_INVALID, "'architectures' is missing");
    else
        FAIL(r, JOULE_UNSUPPORTED,
             "the architecture '%.60s' is not supported; Llama, Mistral, Qwen2, Qwen3 and GPT-2 are", name);
}

static void check_activation(struct reading *r, const char *key, const char *expected)
{
    const struct json_value *value = member(r->root, key);
    const char *name = json_text_of(value);
    if (value && (!name || strcmp(name, expected) != 0))
        FAIL(r, JOULE_UNSUPPORTED, "the activation '%.40s' is not supported; only %s is", name ? name : "",
             expected);
}

static void read_gpt2(struct reading *r, struct model_config *c)
{
    c->layers = size_of(r, "n_layer", 0);
    c->width = size_of(r, "n_embd", 0);
    c->hidden = size_of(r, "n_inner", 4 * c->width);
    c->heads = c->kv_heads = size_of(r, "n_head", 0);
    c->head_dim = c->heads ? c->width / c->heads : 0;
    c->vocabulary = size_of(r, "vocab_size", 0);
    c->context = size_of(r, "n_positions", 0);
    c->norm_epsilon = real_of(r, r->root, "layer_norm_epsilon", 1e-5);
    c->rope_base = 10000;
    c->rope_factor = 1;
    check_activation(r, "activation_function", "gelu_new");
    if (!flag_of(r, r->root, "scale_attn_weights", true) ||
        flag_of(r, r->root, "scale_attn_by_inverse_layer_idx", false))
        FAIL(r, JOULE_UNSUPPORTED,
             "'scale_attn_weights': false and 'scale_attn_by_inverse_layer_idx': true are not supported");
}

/* Limits the context to the size of the sliding window, because this library always attends to all tokens. Up
 * to this length, both are the same. */
static void limit_context(struct reading *r, struct model_config *c)
{
    int64_t window = size_of(r, "sliding_window", INT32_MAX);
    bool is_used = c->architecture == ARCHITECTURE_LLAMA || flag_of(r, r->root, "use_sliding_window", false);
    if (is_used && window < c->context)
        c->context = window;
}

/* Returns the context of the model before its rotary embedding was scaled. A member of the root has
 * precedence over the member of `scaling`, as in transformers. */
static double original_context(struct reading *r, const struct json_value *scaling, double otherwise)
{
    const char *name = "original_max_position_embeddings";
    return real_of(r, member(r->root, name) ? r->root : scaling, name, otherwise);
}

/* Reads the settings of YaRN. As in transformers, a factor of 0 means the same as an absent factor. */
static void read_yarn(struct reading *r, const struct json_value *scaling, struct model_config *c)
{
    double scale = real_of(r, scaling, "mscale", 0), scale_all = real_of(r, scaling, "mscale_all_dim", 0);
    double fast = real_of(r, scaling, "beta_fast", 32), slow = real_of(r, scaling, "beta_slow", 1);
    double standard = scale != 0 && scale_all != 0 ? model_yarn_scale(c->rope_factor, scale) /
                                                         model_yarn_scale(c->rope_factor, scale_all)
                                                   : model_yarn_scale(c->rope_factor, 1);
    c->rope_original_context = original_context(r, scaling, (double)c->context);
    c->rope_beta_fast = fast != 0 ? fast : 32;
    c->rope_beta_slow = slow != 0 ? slow : 1;
    c->rope_attention_factor = real_of(r, scaling, "attention_factor", standard);
    c->rope_has_exact_ramp = !flag_of(r, scaling, "truncate", true);
}

/* Returns the context of a scaled embedding. */
static int64_t scaled_context(double context, double factor)
{
    double scaled = context * factor;
    return scaled >= 1 && scaled <= INT32_MAX ? (int64_t)scaled : 0;
}

static void read_scaling(struct reading *r, const struct json_value *scaling, struct model_config *c)
{
    const char *type = json_text_of(member(scaling, "rope_type"));
    if (!type)
        type = json_text_of(member(scaling, "type"));
    c->rope_factor = 1;
    if (!type || strcmp(type, "default") == 0)
        return;
    c->rope_factor = real_of(r, scaling, "factor", NAN);
    if (strcmp(type, "linear") == 0) {
        c->rope_scaling = ROPE_LINEAR;
        c->context = scaled_context((double)c->context, c->rope_factor);
    } else if (strcmp(type, "yarn") == 0) {
        c->rope_scaling = ROPE_YARN;
        read_yarn(r, scaling, c);
        c->context = scaled_context(c->rope_original_context, c->rope_factor);
    } else if (strcmp(type, "llama3") == 0) {
        c->rope_scaling = ROPE_LLAMA3;
        c->rope_low_factor = real_of(r, scaling, "low_freq_factor", NAN);
        c->rope_high_factor = real_of(r, scaling, "high_freq_factor", NAN);
        c->rope_original_context = original_context(r, scaling, (double)c->context);
    } else {
        FAIL(r, JOULE_UNSUPPORTED,
             "the scaling '%.40s' of the rotary embedding is not supported; linear, yarn and llama3 are",
             type);
    }
}

static void read_rotary(struct reading *r, struct model_config *c)
{
    c->layers = size_of(r, "num_hidden_layers", 0);
    c->width = size_of(r, "hidden_size", 0);
    c->hidden = size_of(r, "intermediate_size", 0);
    c->heads = size_of(r, "num_attention_heads", 0);
    c->kv_heads = size_of(r, "num_key_value_heads", c->heads);
    int64_t head_dim = c->architecture == ARCHITECTURE_QWEN3 ? 128 : c->heads ? c->width / c->heads : 0;
    c->head_dim = size_of(r, "head_dim", head_dim);
    c->vocabulary = size_of(r, "vocab_size", 0);
    c->context = size_of(r, "max_position_embeddings", 0);
    c->norm_epsilon = real_of(r, r->root, "rms_norm_eps", 1e-6);
    c->rope_dims = c->head_dim;
    /* Newer files have base and scaling in rope_parameters. The order of precedence is that of
     * transformers. */
    const struct json_value *scaling = member(r->root, "rope_scaling");
    if (!scaling || !scaling->first)
        scaling = member(r->root, "rope_parameters");
    c->rope_base = real_of(r, member(scaling, "rope_theta") ? scaling : r->root, "rope_theta", 10000);
    read_scaling(r, scaling, c);
    if (real_of(r, scaling, "partial_rotary_factor", 1) != 1 ||
        real_of(r, r->root, "partial_rotary_factor", 1) != 1)
        FAIL(r, JOULE_UNSUPPORTED, "a rotary embedding of only a part of each head is not supported");
    limit_context(r, c);
    check_activation(r, "hidden_act", "silu");
}

joule_status hf_read_config(struct model_file *file, const char *path, struct hf_settings *out_settings,
                            joule_error *out_error)
{
    struct reading r = {.path = path, .error = out_error};
    struct model_config *c = &file->config;
    r.root = hf_read_json(&file->arena, path, &r.status, out_error);
    if (!r.root)
        return r.status;
    read_architecture(&r, c);
    if (r.status != JOULE_OK)
        return r.status;
    bool is_gpt2 = c->architecture == ARCHITECTURE_GPT2;
    if (is_gpt2)
        read_gpt2(&r, c);
    else
        read_rotary(&r, c);
    *out_settings = (struct hf_settings){.is_tied = flag_of(&r, r.root, "tie_word_embeddings", is_gpt2),
                                         .bos = id_of(&r, "bos_token_id"),
                                         .eos = id_of(&r, "eos_token_id"),
                                         .name = json_text_of(member(r.root, "_name_or_path"))};
    return r.status;
}
