/* infer/model/model_check.c - checks an open model file against the tensors that its architecture needs. */
#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/infer/model/model_reader.h"

#define BLOCK_PREFIX "blk."

/* --- sizes ---------------------------------------------------------------------------------------------- */

/* Limits that keep all products of sizes far below 2^63. */
#define MAX_SIZE INT64_C(0x7fffffff)

static joule_status check_range(const char *path, const char *name, int64_t value, joule_error *out_error)
{
    if (value >= 1 && value <= MAX_SIZE)
        return JOULE_OK;
    return error_set(out_error, JOULE_INVALID,
                     "cannot read %s: the model's %s is %" PRId64 ", which is not between 1 and %" PRId64,
                     path, name, value, MAX_SIZE);
}

static joule_status check_scaling(const struct model_config *config, const char *path, joule_error *out_error)
{
    double original = config->rope_original_context;
    double low = config->rope_scaling == ROPE_YARN ? config->rope_beta_slow : config->rope_low_factor;
    double high = config->rope_scaling == ROPE_YARN ? config->rope_beta_fast : config->rope_high_factor;
    bool has_range = config->rope_scaling == ROPE_YARN || config->rope_scaling == ROPE_LLAMA3;
    if (has_range && !(original >= 1 && original <= (double)MAX_SIZE && low > 0 && high > low && high < 1e18))
        return error_set(
            out_error, JOULE_INVALID,
            "cannot read %s: the scaling of the model's rotary embedding has the original context "
            "%g and factors from %g to %g; the context must be at least 1, and the factors positive and "
            "ascending",
            path, original, low, high);
    return JOULE_OK;
}

static joule_status check_numbers(const struct model_config *config, const char *path, joule_error *out_error)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"epsilon of norms", config->norm_epsilon},
                   {"base of the rotary embedding", config->rope_base},
                   {"factor of the rotary embedding", config->rope_factor},
                   {"attention factor of the rotary embedding",
                    config->rope_scaling == ROPE_YARN ? config->rope_attention_factor : 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value > 0 && numbers[i].value < 1e30))
            return error_set(out_error, JOULE_INVALID,
                             "cannot read %s: the model's %s is %g, but must be above 0 and below 1e30", path,
                             numbers[i].name, numbers[i].value);
    return check_scaling(config, path, out_error);
}

static joule_status check_config(const struct model_config *config, const char *path, joule_error *out_error)
{
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"number of layers", config->layers},
                 {"width", config->width},
                 {"hidden width", config->hidden},
                 {"number of heads", config->heads},
                 {"number of key and value heads", config->kv_heads},
                 {"width of a head", config->head_dim},
                 {"size of the vocabulary", config->vocabulary},
                 {"context length", config->context}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        joule_status status = check_range(path, sizes[i].name, sizes[i].value, out_error);
        if (status != JOULE_OK)
            return status;
    }
    if (config->layers > MODEL_MAX_LAYERS)
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "cannot read %s: the model has %" PRId64 " layers; at most %d are supported", path,
                         config->layers, MODEL_MAX_LAYERS);
    if (config->heads % config->kv_heads != 0)
        return error_set(out_error, JOULE_INVALID,
                         "cannot read %s: the model's number of heads, %" PRId64
                         ", is not a multiple of its number of key and value heads, %" PRId64,
                         path, config->heads, config->kv_heads);
    if (config->rope_dims < 0 || config->rope_dims % 2 != 0 || config->rope_dims > config->head_dim)
        return error_set(out_error, JOULE_INVALID,
                         "cannot read %s: the model rotates %" PRId64 " elements of heads of %" PRId64
                         "; the number must be even, and not larger than a head",
                         path, config->rope_dims, config->head_dim);
    return check_numbers(config, path, out_error);
}

/* --- the tensors of architectures ----------------------------------------------------------------------- */

enum { LLAMA = 1 << ARCHITECTURE_LLAMA, QWEN2 = 1 << ARCHITECTURE_QWEN2, QWEN3 = 1 << ARCHITECTURE_QWEN3 };
enum { GPT2 = 1 << ARCHITECTURE_GPT2, ROTARY = LLAMA | QWEN2 | QWEN3, ALL = ROTARY | GPT2 };

/* Symbolic dimensions of tensors; dim_of computes their values from the model's sizes. NO_DIM: the dimension
 * does not exist. */
enum dim { NO_DIM, VOCABULARY, WIDTH, HIDDEN, QUERY, KEY, HEAD, CONTEXT, ROTATED, FUSED };

/* A tensor, and the architectures that have it. */
struct need {
    const char *name;  /* "blk.N.NAME" in files if the tensor is part of a layer */
    unsigned needed;   /* architectures that need it, as bits */
    unsigned optional; /* architectures that may have it */
    enum dim dims[2];
};

static const struct need model_needs[] = {
    {"token_embd.weight", ALL, 0, {VOCABULARY, WIDTH}},
    {"position_embd.weight", GPT2, 0, {CONTEXT, WIDTH}},
    {"output_norm.weight", ALL, 0, {WIDTH}},
    {"output_norm.bias", GPT2, 0, {WIDTH}},
    {"output.weight", 0, ALL, {VOCABULARY, WIDTH}},
    {"rope_freqs.weight", 0, ROTARY, {ROTATED}},
};

static const struct need layer_needs[] = {
    {"attn_norm.weight", ALL, 0, {WIDTH}},
    {"attn_norm.bias", GPT2, 0, {WIDTH}},
    {"attn_qkv.weight", GPT2, 0, {FUSED, WIDTH}},
    {"attn_qkv.bias", GPT2, 0, {FUSED}},
    {"attn_q.weight", ROTARY, 0, {QUERY, WIDTH}},
    {"attn_k.weight", ROTARY, 0, {KEY, WIDTH}},
    {"attn_v.weight", ROTARY, 0, {KEY, WIDTH}},
    {"attn_q.bias", QWEN2, 0, {QUERY}},
    {"attn_k.bias", QWEN2, 0, {KEY}},
    {"attn_v.bias", QWEN2, 0, {KEY}},
    {"attn_q_norm.weight", QWEN3, 0, {HEAD}},
    {"attn_k_norm.weight", QWEN3, 0, {HEAD}},
    {"attn_output.weight", ALL, 0, {WIDTH, QUERY}},
    {"attn_output.bias", GPT2, 0, {WIDTH}},
    {"ffn_norm.weight", ALL, 0, {WIDTH}},
    {"ffn_norm.bias", GPT2, 0, {WIDTH}},
    {"ffn_gate.weight", ROTARY, 0, {HIDDEN, WIDTH}},
    {"ffn_up.weight", ALL, 0, {HIDDEN, WIDTH}},
    {"ffn_up.bias", GPT2, 0, {HIDDEN}},
    {"ffn_down.weight", ALL, 0, {WIDTH, HIDDEN}},
    {"ffn_down.bias", GPT2, 0, {WIDTH}},
};
enum { MODEL_NEEDS = sizeof model_needs / sizeof *model_needs };
enum { LAYER_NEEDS = sizeof layer_needs / sizeof *layer_needs };

static const char *const architecture_names[] = {
    [ARCHITECTURE_LLAMA] = "llama",
    [ARCHITECTURE_QWEN2] = "qwen2",
    [ARCHITECTURE_QWEN3] = "qwen3",
    [ARCHITECTURE_GPT2] = "gpt2",
};

const char *model_architecture_name(enum architecture architecture)
{
    return architecture_names[architecture];
}

static int64_t dim_of(const struct model_config *config, enum dim dim)
{
    switch (dim) {
    case VOCABULARY:
        return config->vocabulary;
    case WIDTH:
        return config->width;
    case HIDDEN:
        return config->hidden;
    case QUERY:
        return config->heads * config->head_dim;
    case KEY:
        return config->kv_heads * config->head_dim;
    case HEAD:
        return config->head_dim;
    case CONTEXT:
        return config->context;
    case ROTATED:
        return config->rope_dims / 2;
    case FUSED:
        return (config->heads + 2 * config->kv_heads) * config->head_dim;
    case NO_DIM:
        break;
    }
    return 0;
}

static joule_status check_tensor(const struct model_config *config, const struct model_tensor *tensor,
                                 const struct need *need, const char *path, joule_error *out_error)
{
    forge_shape shape = {.rank = need->dims[1] ? 2 : 1};
    for (uint32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = dim_of(config, need->dims[i]);
    if (!forge_shape_equal(&shape, &tensor->shape)) {
        char is[100], expected[100];
        forge_shape_format(&tensor->shape, is, sizeof is);
        forge_shape_format(&shape, expected, sizeof expected);
        return error_set(out_error, JOULE_INVALID,
                         "cannot read %s: tensor '%s' has the shape %s, but the model's sizes require %s",
                         path, tensor->name, is, expected);
    }
    if (shape.rank == 1 && forge_dtype_block_elements(tensor->dtype) != 1)
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "cannot read %s: tensor '%s' has the type %s, which is supported for matrices only",
                         path, tensor->name, forge_dtype_name(tensor->dtype));
    return JOULE_OK;
}

/* Checks the tensors of one list. layer: the number of the layer; below 0: the tensors do not belong to a
 * layer. Adds the number of tensors that exist to *count. */
static joule_status check_list(const struct model_file *file, const struct need *needs, size_t need_count,
                               int64_t layer, const char *path, size_t *count, joule_error *out_error)
{
    for (size_t i = 0; i < need_count; i++) {
        char name[64];
        unsigned bit = 1u << file->config.architecture;
        if (layer < 0)
            string_copy(name, sizeof name, needs[i].name);
        else
            string_print(name, sizeof name, BLOCK_PREFIX "%" PRId64 ".%s", layer, needs[i].name);
        const struct model_tensor *tensor =
            (needs[i].needed | needs[i].optional) & bit ? model_file_find(file, name) : NULL;
        if (!tensor && needs[i].needed & bit)
            return error_set(out_error, JOULE_INVALID,
                             "cannot read %s: tensor '%s' is missing, which the architecture %s needs", path,
                             name, architecture_names[file->config.architecture]);
        joule_status status =
            tensor ? check_tensor(&file->config, tensor, &needs[i], path, out_error) : JOULE_OK;
        if (status != JOULE_OK)
            return status;
        *count += tensor != NULL;
    }
    return JOULE_OK;
}

/* Returns true if a tensor has one of the names of the architecture. */
static bool is_known(const struct model_config *config, const char *name)
{
    unsigned bit = 1u << config->architecture;
    const struct need *needs = model_needs;
    size_t count = MODEL_NEEDS;
    if (string_starts(name, BLOCK_PREFIX)) {
        const char *digits = name + strlen(BLOCK_PREFIX), *dot = strchr(digits, '.');
        char layer[24];
        uint64_t number;
        if (!dot || (size_t)(dot - digits) >= sizeof layer)
            return false;
        string_copy(layer, (size_t)(dot - digits) + 1, digits);
        if (!string_to_u64(layer, 10, &number) || number >= (uint64_t)config->layers)
            return false;
        name = dot + 1;
        needs = layer_needs;
        count = LAYER_NEEDS;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(needs[i].name, name) == 0)
            return (needs[i].needed | needs[i].optional) & bit;
    return false;
}

/* Sets the message for a file with a tensor that the architecture does not have. Such a file is refused,
 * because results without this tensor, for example a bias, would all be wrong. */
static joule_status fail_unknown(const struct model_file *file, const char *path, joule_error *out_error)
{
    for (size_t i = 0; i < file->tensor_count; i++)
        if (!is_known(&file->config, file->tensors[i].name))
            return error_set(out_error, JOULE_UNSUPPORTED,
                             "cannot read %s: tensor '%s' is not supported for the architecture %s", path,
                             file->tensors[i].name, architecture_names[file->config.architecture]);
    return error_set(out_error, JOULE_INVALID, "cannot read %s: a layer has two numbers, such as 1 and 01",
                     path);
}

joule_status model_file_check(const struct model_file *file, const char *path, joule_error *out_error)
{
    size_t count = 0;
    joule_status status = check_config(&file->config, path, out_error);
    if (status == JOULE_OK)
        status = check_list(file, model_needs, MODEL_NEEDS, -1, path, &count, out_error);
    for (int64_t i = 0; status == JOULE_OK && i < file->config.layers; i++)
        status = check_list(file, layer_needs, LAYER_NEEDS, i, path, &count, out_error);
    if (status == JOULE_OK && count != file->tensor_count)
        status = fail_unknown(file, path, out_error);
    if (status == JOULE_OK && file->vocabulary.count > (uint64_t)file->config.vocabulary)
        status = error_set(
            out_error, JOULE_INVALID,
            "cannot read %s: the vocabulary has %zu tokens, but the model has embeddings for %" PRId64, path,
            file->vocabulary.count, file->config.vocabulary);
    return status;
}
