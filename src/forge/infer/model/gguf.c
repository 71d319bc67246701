/* infer/model/gguf.c - reads models from GGUF files: their sizes and constants, tensors and vocabulary. */
#include "forge/infer/model/gguf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "forge/infer/model/model_reader.h"

enum { KEY_SIZE = 80 };

/* --- keys of the architecture --------------------------------------------------------------------------- */

/* Writes "ARCHITECTURE.NAME" to key[0..KEY_SIZE). Returns key. */
static const char *key_of(const struct gguf *g, const char *name, char *key)
{
    string_print(key, KEY_SIZE, "%s.%s", model_architecture_name(g->file->config.architecture), name);
    return key;
}

static bool get_size(struct gguf *g, const char *name, int64_t *out_value)
{
    char key[KEY_SIZE];
    return gguf_integer(g, key_of(g, name, key), out_value);
}

static void need_size(struct gguf *g, const char *name, int64_t *out_value)
{
    char key[KEY_SIZE];
    if (!get_size(g, name, out_value))
        gguf_fail(g, JOULE_INVALID, "key '%s' is missing", key_of(g, name, key));
}

/* Rounds the number to float, because files of ggml contain floats. The readers of other formats round in the
 * same way. */
static bool get_number(struct gguf *g, const char *name, double *out_value)
{
    char key[KEY_SIZE];
    if (!gguf_number(g, key_of(g, name, key), out_value))
        return false;
    *out_value = (float)*out_value;
    return true;
}

/* --- the model ------------------------------------------------------------------------------------------ */

static void get_architecture(struct gguf *g)
{
    const char *name = NULL;
    if (!gguf_text(g, "general.architecture", &name)) {
        gguf_fail(g, JOULE_INVALID, "key 'general.architecture' is missing");
        return;
    }
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strcmp(model_architecture_name((enum architecture)i), name) == 0) {
            g->file->config.architecture = (enum architecture)i;
            return;
        }
    gguf_fail(g, JOULE_UNSUPPORTED,
              "the architecture '%.40s' is not supported; only llama, qwen2, qwen3 and gpt2 are", name);
}

/* Uses the defaults of llama.cpp for absent keys. */
static void get_sizes(struct gguf *g, struct model_config *c)
{
    need_size(g, "block_count", &c->layers);
    need_size(g, "embedding_length", &c->width);
    need_size(g, "feed_forward_length", &c->hidden);
    need_size(g, "attention.head_count", &c->heads);
    need_size(g, "context_length", &c->context);
    if (g->status != JOULE_OK)
        return;
    if (c->heads < 1) {
        gguf_fail(g, JOULE_INVALID, "the number of heads is %" PRId64 ", but must be at least 1", c->heads);
        return;
    }
    c->kv_heads = c->heads;
    c->head_dim = c->width / c->heads;
    get_size(g, "attention.head_count_kv", &c->kv_heads);
    get_size(g, "attention.key_length", &c->head_dim);
    int64_t value_length = c->head_dim, experts = 0;
    get_size(g, "attention.value_length", &value_length);
    if (value_length != c->head_dim)
        gguf_fail(g, JOULE_UNSUPPORTED,
                  "keys have %" PRId64 " elements and values %" PRId64 "; different sizes are not supported",
                  c->head_dim, value_length);
    if (get_size(g, "expert_count", &experts) && experts > 0)
        gguf_fail(g, JOULE_UNSUPPORTED, "the model has %" PRId64 " experts, which are not supported",
                  experts);
}

static void get_epsilon(struct gguf *g, struct model_config *c)
{
    const char *name = c->architecture == ARCHITECTURE_GPT2 ? "attention.layer_norm_epsilon"
                                                            : "attention.layer_norm_rms_epsilon";
    char key[KEY_SIZE];
    if (!get_number(g, name, &c->norm_epsilon))
        gguf_fail(g, JOULE_INVALID, "key '%s' is missing", key_of(g, name, key));
}

static void get_yarn(struct gguf *g, struct model_config *c)
{
    double attention = 1;
    c->rope_original_context = (double)c->context;
    c->rope_beta_fast = 32;
    c->rope_beta_slow = 1;
    get_number(g, "rope.scaling.original_context_length", &c->rope_original_context);
    get_number(g, "rope.scaling.yarn_beta_fast", &c->rope_beta_fast);
    get_number(g, "rope.scaling.yarn_beta_slow", &c->rope_beta_slow);
    get_number(g, "rope.scaling.attn_factor", &attention);
    c->rope_attention_factor = attention * model_yarn_scale(c->rope_factor, 1);
}

static void get_scaling(struct gguf *g, struct model_config *c)
{
    const char *type = "linear";
    char key[KEY_SIZE];
    double factor = 0;
    gguf_text(g, key_of(g, "rope.scaling.type", key), &type);
    if (!get_number(g, "rope.scaling.factor", &factor))
        get_number(g, "rope.scale_linear", &factor);
    c->rope_factor = 1;
    if (strcmp(type, "none") == 0 || factor == 0)
        factor = 1;
    if (strcmp(type, "none") != 0 && strcmp(type, "linear") != 0 && strcmp(type, "yarn") != 0)
        gguf_fail(g, JOULE_UNSUPPORTED,
                  "the scaling '%.40s' of the rotary embedding is not supported; none, linear and yarn are",
                  type);
    if (strcmp(type, "yarn") == 0) {
        c->rope_scaling = ROPE_YARN;
        c->rope_factor = factor;
        get_yarn(g, c);
    } else if (factor != 1) {
        c->rope_scaling = ROPE_LINEAR;
        c->rope_factor = factor;
    }
}

static void get_rope(struct gguf *g, struct model_config *c)
{
    c->rope_base = 10000;
    c->rope_factor = 1;
    if (c->architecture == ARCHITECTURE_GPT2)
        return;
    c->rope_is_interleaved = c->architecture == ARCHITECTURE_LLAMA;
    c->rope_dims = c->head_dim;
    get_size(g, "rope.dimension_count", &c->rope_dims);
    get_number(g, "rope.freq_base", &c->rope_base);
    get_scaling(g, c);
}

/* Sets the size of the vocabulary to the number of embeddings, because files may state fewer tokens. */
static void get_vocabulary_size(struct gguf *g, struct model_config *c)
{
    const struct model_tensor *embeddings = model_file_find(g->file, "token_embd.weight");
    if (g->file->tensor_count == 0)
        gguf_fail(g, JOULE_INVALID, "the file has no tensors, only a vocabulary");
    else if (!embeddings || embeddings->shape.rank != 2)
        gguf_fail(g, JOULE_INVALID, "tensor 'token_embd.weight' is missing or not a matrix");
    else
        c->vocabulary = embeddings->shape.dims[0];
}

/* Copies rope_freqs.weight as floats, because the tensor may have any element type. model_file_check has
 * checked its shape. */
static void get_divisors(struct gguf *g, struct model_config *c)
{
    const struct model_tensor *tensor = model_file_find(g->file, "rope_freqs.weight");
    if (!tensor || g->status != JOULE_OK)
        return;
    size_t count = forge_shape_elements(&tensor->shape);
    float *divisors = arena_alloc(&g->file->arena, count * sizeof *divisors);
    if (!divisors) {
        g->status = model_no_memory(g->path, g->error);
        return;
    }
    forge_convert(tensor->dtype, tensor->data, FORGE_F32, divisors, count);
    for (size_t i = 0; i < count; i++)
        if (!(divisors[i] > 0) || isinf(divisors[i]))
            gguf_fail(g, JOULE_INVALID,
                      "element %zu of tensor 'rope_freqs.weight' is %g, but must be positive and finite", i,
                      (double)divisors[i]);
    c->rope_divisors = divisors;
}

joule_status gguf_read(struct model_file *file, const char *path, joule_error *out_error)
{
    struct gguf gguf, *g = &gguf;
    gguf_open(g, file, path, out_error);
    gguf_open_parts(g);
    get_architecture(g);
    gguf_text(g, "general.name", &file->name);
    gguf_read_tensors(g);
    if (g->status == JOULE_OK)
        g->status = model_file_sort(file, path, out_error);
    get_vocabulary_size(g, &file->config);
    get_sizes(g, &file->config);
    get_epsilon(g, &file->config);
    get_rope(g, &file->config);
    gguf_get_vocabulary(g);
    if (g->status == JOULE_OK)
        g->status = model_file_check(file, path, out_error);
    get_divisors(g, &file->config);
    return g->status;
}
