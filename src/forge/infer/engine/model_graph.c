/* infer/engine/model_graph.c - see model_graph.h. */
#include "forge/infer/engine/model_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "forge/ir/library.h"

struct build {
    forge_builder *b;
    const struct model_file *file;
    const struct model_config *config;
    const struct model_graph_sizes *sizes;
    int64_t layer;
    forge_value positions, sequences, places, tables; /* inputs */
    /* [t, rope_dims / 2]; FORGE_NO_VALUE: the model has no rotary embedding. */
    forge_value cosine, sine;
};

/* --- rotary embedding ----------------------------------------------------------------------------------- */

/* Scales a frequency of the rotary embedding as Llama 3.1 does: low frequencies are divided by rope_factor,
 * high ones are unchanged, and those between are interpolated. */
static double scale_llama3(const struct model_config *c, double frequency)
{
    double waves = c->rope_original_context * frequency / (2 * M_PI);
    if (waves > c->rope_high_factor)
        return frequency;
    if (waves < c->rope_low_factor)
        return frequency / c->rope_factor;
    double part = (waves - c->rope_low_factor) / (c->rope_high_factor - c->rope_low_factor);
    return (1 - part) * frequency / c->rope_factor + part * frequency;
}

/* Returns the index of the pair of elements whose angle makes `turns` full turns within the original
 * context. */
static double yarn_index(const struct model_config *c, double turns)
{
    return (double)c->rope_dims * log(c->rope_original_context / (turns * 2 * M_PI)) /
           (2 * log(c->rope_base));
}

static double scale_yarn(const struct model_config *c, int64_t i, double frequency)
{
    double low = yarn_index(c, c->rope_beta_fast), high = yarn_index(c, c->rope_beta_slow);
    if (!c->rope_has_exact_ramp) {
        low = floor(low);
        high = ceil(high);
    }
    low = low < 0 ? 0 : low;
    high = high > (double)c->rope_dims - 1 ? (double)c->rope_dims - 1 : high;
    double ramp = ((double)i - low) / (high > low ? high - low : 0.001);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    return frequency / c->rope_factor * ramp + frequency * (1 - ramp);
}

double model_rope_frequencies(const struct model_config *c, double *out)
{
    for (int64_t i = 0; i < c->rope_dims / 2; i++) {
        double frequency = pow(c->rope_base, -2.0 * (double)i / (double)c->rope_dims);
        if (c->rope_divisors)
            frequency /= (double)c->rope_divisors[i];
        if (c->rope_scaling == ROPE_LINEAR)
            frequency /= c->rope_factor;
        else if (c->rope_scaling == ROPE_LLAMA3)
            frequency = scale_llama3(c, frequency);
        else if (c->rope_scaling == ROPE_YARN)
            frequency = scale_yarn(c, i, frequency);
        out[i] = frequency;
    }
    return c->rope_scaling == ROPE_YARN ? c->rope_attention_factor : 1;
}

static void build_angles(struct build *s)
{
    double frequencies[512];
    int64_t half = s->config->rope_dims / 2;
    if (half <= 0 || half > 512) {
        forge_builder_fail(s->b, "cannot rotate %lld elements of a head: at most 1024 are supported",
                           (long long)s->config->rope_dims);
        return;
    }
    double factor = model_rope_frequencies(s->config, frequencies);
    forge_shape shape = forge_shape_of(1, half);
    forge_tensor tensor;
    joule_error error = {0};
    if (forge_tensor_new(FORGE_F64, &shape, &tensor, &error) != JOULE_OK) {
        forge_builder_fail(s->b, "%s", error.message);
        return;
    }
    memcpy(forge_tensor_data(&tensor), frequencies, (size_t)half * sizeof *frequencies);
    forge_value places =
        forge_reshape(s->b, forge_cast(s->b, FORGE_F64, s->positions), forge_shape_of(FORGE_REST, 1));
    forge_value angle = forge_mul(s->b, places, forge_constant(s->b, &tensor));
    forge_buffer_release(tensor.buffer);
    forge_value scale = forge_scalar(s->b, FORGE_F64, factor);
    s->cosine = forge_cast(s->b, FORGE_F32, forge_mul(s->b, forge_unary(s->b, FORGE_COS, angle), scale));
    s->sine = forge_cast(s->b, FORGE_F32, forge_mul(s->b, forge_unary(s->b, FORGE_SIN, angle), scale));
}

/* --- layers --------------------------------------------------------------------------------------------- */

/* Writes the name of a tensor of the current layer, or of the whole model if layer is below 0. */
static void tensor_name(const struct build *s, const char *name, const char *suffix, char out[64])
{
    if (s->layer >= 0)
        snprintf(out, 64, "blk.%lld.%s.%s", (long long)s->layer, name, suffix);
    else
        snprintf(out, 64, "%s.%s", name, suffix);
}

static bool has_tensor(const struct build *s, const char *name, const char *suffix)
{
    char full[64];
    tensor_name(s, name, suffix, full);
    return model_file_find(s->file, full) != NULL;
}

/* Returns the value of a tensor of the model, which is a slot with the tensor's name. */
static forge_value weight(struct build *s, const char *name, const char *suffix)
{
    char full[64];
    tensor_name(s, name, suffix, full);
    const struct model_tensor *tensor = model_file_find(s->file, full);
    if (!tensor) {
        forge_builder_fail(s->b, "cannot build the model: it has no tensor '%s'", full);
        return FORGE_NO_VALUE;
    }
    return forge_read(s->b, forge_state(s->b, full, tensor->dtype, tensor->shape, (forge_init){0}));
}

static forge_value weight_f32(struct build *s, const char *name, const char *suffix)
{
    return forge_cast(s->b, FORGE_F32, weight(s, name, suffix));
}

/* Returns x weight^T, plus the bias if the model has one. x: [t, in]; result: [t, out]. */
static forge_value linear(struct build *s, const char *name, forge_value x)
{
    forge_value in[3] = {x, weight(s, name, "weight")};
    size_t count = 2;
    if (has_tensor(s, name, "bias"))
        in[count++] = weight_f32(s, name, "bias");
    struct composite_attributes attributes = {.name = "linear"};
    forge_dtype dtype = forge_value_dtype(s->b, in[1]);
    if (dtype != FORGE_BF16 || !s->sizes->keeps_f32)
        attributes.numbers[0] = library_linear_rounding(dtype);
    forge_scope_push(s->b, name);
    forge_value y = library_composite(s->b, &attributes, in, count);
    forge_scope_pop(s->b);
    return y;
}

/* Returns x normalised over its last dimension: layer_norm if the model has a bias, else rms_norm. */
static forge_value norm(struct build *s, const char *name, forge_value x)
{
    bool has_bias = has_tensor(s, name, "bias");
    forge_value in[3] = {x, weight_f32(s, name, "weight")};
    struct composite_attributes attributes = {.reals = {s->config->norm_epsilon}, .numbers = {1}};
    strcpy(attributes.name, has_bias ? "layer_norm" : "rms_norm");
    if (has_bias)
        in[2] = weight_f32(s, name, "bias");
    forge_scope_push(s->b, name);
    forge_value y = library_composite(s->b, &attributes, in, has_bias ? 3 : 2);
    forge_scope_pop(s->b);
    return y;
}

/* Returns x [t, heads * d] as heads [t, heads, d], with the norm of Qwen3 if the model has it. is_rotated:
 * applies the rotary embedding. */
static forge_value to_heads(struct build *s, forge_value x, int64_t heads, const char *norm_name,
                            bool is_rotated)
{
    struct composite_attributes attributes = {.name = "rotary", .numbers = {s->config->rope_is_interleaved}};
    x = forge_reshape(s->b, x, forge_shape_of(FORGE_REST, heads, s->config->head_dim));
    if (norm_name && has_tensor(s, norm_name, "weight"))
        x = norm(s, norm_name, x);
    if (!is_rotated || s->cosine == FORGE_NO_VALUE)
        return x;
    return library_composite(s->b, &attributes, (forge_value[]){x, s->cosine, s->sine}, 3);
}

/* Writes keys or values to the layer's cache, and returns the cache: [places, kv_heads, d]. */
static forge_value write_cache(struct build *s, bool is_value, forge_value x)
{
    char name[32];
    const struct composite_attributes attributes = {.name = "cache_write"};
    model_graph_cache_name(s->layer, is_value, name);
    forge_shape shape =
        forge_shape_of(s->sizes->pages * s->sizes->page_size, s->config->kv_heads, s->config->head_dim);
    forge_slot slot = forge_state(s->b, name, s->sizes->cache_dtype, shape, (forge_init){0});
    forge_value in[] = {forge_read(s->b, slot), x, s->places};
    forge_value written = library_composite(s->b, &attributes, in, 3);
    forge_write(s->b, slot, written, true);
    return written;
}

static void split_qkv(struct build *s, forge_value x, forge_value out[3])
{
    int64_t q = s->config->heads * s->config->head_dim, kv = s->config->kv_heads * s->config->head_dim;
    if (!has_tensor(s, "attn_qkv", "weight")) {
        out[0] = linear(s, "attn_q", x);
        out[1] = linear(s, "attn_k", x);
        out[2] = linear(s, "attn_v", x);
        return;
    }
    forge_value all = linear(s, "attn_qkv", x);
    out[0] = forge_slice_along(s->b, all, 1, 0, q);
    out[1] = forge_slice_along(s->b, all, 1, q, q + kv);
    out[2] = forge_slice_along(s->b, all, 1, q + kv, q + 2 * kv);
}

static forge_value attention(struct build *s, forge_value x)
{
    const struct model_config *c = s->config;
    struct composite_attributes attributes = {.name = "paged_attention",
                                              .reals = {1 / sqrt((double)c->head_dim)},
                                              .numbers = {(uint32_t)s->sizes->page_size}};
    forge_value qkv[3];
    forge_scope_push(s->b, "attention");
    split_qkv(s, x, qkv);
    forge_value q = to_heads(s, qkv[0], c->heads, "attn_q_norm", true);
    forge_value k = write_cache(s, false, to_heads(s, qkv[1], c->kv_heads, "attn_k_norm", true));
    forge_value v = write_cache(s, true, to_heads(s, qkv[2], c->kv_heads, NULL, false));
    forge_value in[] = {q, k, v, s->tables, s->sequences, s->positions};
    forge_value y = library_composite(s->b, &attributes, in, 6);
    y = linear(s, "attn_output", forge_reshape(s->b, y, forge_shape_of(FORGE_REST, c->heads * c->head_dim)));
    forge_scope_pop(s->b);
    return y;
}

static forge_value feed_forward(struct build *s, forge_value x)
{
    forge_scope_push(s->b, "feed_forward");
    forge_value inner;
    if (has_tensor(s, "ffn_gate", "weight")) {
        const struct composite_attributes attributes = {.name = "swiglu"};
        forge_value gate = linear(s, "ffn_gate", x), up = linear(s, "ffn_up", x);
        inner = library_composite(s->b, &attributes, (forge_value[]){gate, up}, 2);
    } else {
        inner = forge_unary(s->b, FORGE_GELU_TANH, linear(s, "ffn_up", x));
    }
    forge_value y = linear(s, "ffn_down", inner);
    forge_scope_pop(s->b);
    return y;
}

static forge_value layer(struct build *s, forge_value x)
{
    char name[32];
    snprintf(name, sizeof name, "layer%lld", (long long)s->layer);
    forge_scope_push(s->b, name);
    x = forge_add(s->b, x, attention(s, norm(s, "attn_norm", x)));
    x = forge_add(s->b, x, feed_forward(s, norm(s, "ffn_norm", x)));
    forge_scope_pop(s->b);
    return x;
}

/* --- the model ------------------------------------------------------------------------------------------ */

static forge_value embed(struct build *s, forge_value tokens)
{
    const struct composite_attributes attributes = {.name = "embedding"};
    forge_value x =
        library_composite(s->b, &attributes, (forge_value[]){weight(s, "token_embd", "weight"), tokens}, 2);
    if (!has_tensor(s, "position_embd", "weight"))
        return x;
    forge_value in[] = {weight(s, "position_embd", "weight"), s->positions};
    return forge_add(s->b, x, library_composite(s->b, &attributes, in, 2));
}

static void build_model(struct build *s)
{
    const struct model_graph_sizes *sizes = s->sizes;
    forge_builder *b = s->b;
    forge_dim rows = forge_symbol(b, "rows", 1, sizes->max_rows, 1);
    forge_dim sequences = forge_symbol(b, "sequences", 1, sizes->max_sequences, 1);
    forge_dim outputs = forge_symbol(b, "outputs", 1, sizes->max_outputs, 1);
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(rows));
    s->positions = forge_input(b, "positions", FORGE_I32, forge_shape_of(rows));
    s->sequences = forge_input(b, "sequences", FORGE_I32, forge_shape_of(rows));
    s->places = forge_input(b, "places", FORGE_I32, forge_shape_of(rows));
    s->tables = forge_input(b, "tables", FORGE_I32, forge_shape_of(sequences, sizes->sequence_pages));
    forge_value output_rows = forge_input(b, "output_rows", FORGE_I32, forge_shape_of(outputs));
    s->layer = -1;
    forge_value x = embed(s, tokens);
    if (s->config->architecture != ARCHITECTURE_GPT2)
        build_angles(s);
    for (s->layer = 0; s->layer < s->config->layers; s->layer++)
        x = layer(s, x);
    s->layer = -1;
    x = norm(s, "output_norm", forge_gather(b, x, output_rows, 0));
    forge_output(b, "logits", linear(s, has_tensor(s, "output", "weight") ? "output" : "token_embd", x));
}

joule_status model_graph_build(const struct model_file *file, const struct model_graph_sizes *sizes,
                               forge_graph **out_graph, joule_error *out_error)
{
    struct build s = {.b = forge_builder_new(), .file = file, .config = &file->config, .sizes = sizes};
    build_model(&s);
    return forge_builder_finish(s.b, out_graph, out_error);
}

void model_graph_cache_name(int64_t layer, bool is_value, char out_name[32])
{
    snprintf(out_name, 32, "cache.%lld.%s", (long long)layer, is_value ? "values" : "keys");
}
