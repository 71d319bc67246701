/* infer/model/llama2c.c - reads the model files of llama2.c (version 0) and their tokenizer files.
 *
 * A model file consists of seven 32-bit integers and 32-bit floats. The floats are one tensor after another,
 * each with the weights of all layers. A tokenizer file contains the length of the longest token, then score,
 * length and bytes of each token.
 */
#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/infer/model/model_reader.h"

enum { HEADER_SIZE = 7 * 4, ALL_LAYERS = -1, LAYER_TENSORS = 9, OTHER_TENSORS = 3, MAX_NAME = 40 };

#define VERSIONED_MAGIC 0x616b3432u /* "ak42", the first word of versions 1 and later */
#define NORM_EPSILON    1e-5f
#define SPACE_MARK      "\xe2\x96\x81" /* U+2581, which stands for a space in SentencePiece */

/* The state of reading a model file. */
struct reading {
    struct model_file *file;
    const char *path;
    const char *next; /* the next unread byte of the map */
    size_t left;      /* unread bytes */
    joule_error *error;
};

/* --- header --------------------------------------------------------------------------------------------- */

/* Sets the sizes of the model. *has_classifier: the file contains output.weight. */
static joule_status read_header(struct reading *r, bool *has_classifier)
{
    static const char *const names[] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                        "n_kv_heads", "vocab_size", "seq_len"};
    int64_t sizes[7];
    if (r->left < HEADER_SIZE)
        return error_set(r->error, JOULE_INVALID,
                         "cannot read %s: neither a GGUF file nor a model file of llama2.c: only %zu bytes",
                         r->path, r->left);
    if (read_u32(r->next) == VERSIONED_MAGIC)
        return error_set(r->error, JOULE_UNSUPPORTED,
                         "cannot read %s: version %" PRIu32
                         " of llama2.c's format is not supported; export the model with version 0",
                         r->path, read_u32(r->next + 4));
    for (size_t i = 0; i < 7; i++) {
        sizes[i] = (int32_t)read_u32(r->next + 4 * i);
        if (sizes[i] == 0 || (sizes[i] < 0 && i != 5))
            return error_set(
                r->error, JOULE_INVALID,
                "cannot read %s: neither a GGUF file nor a model file of llama2.c: %s is %" PRId64, r->path,
                names[i], sizes[i]);
    }
    *has_classifier = sizes[5] < 0;
    if (sizes[0] % sizes[3] != 0)
        return error_set(r->error, JOULE_INVALID,
                         "cannot read %s: dim, %" PRId64 ", is not a multiple of n_heads, %" PRId64, r->path,
                         sizes[0], sizes[3]);
    struct model_config *config = &r->file->config;
    *config = (struct model_config){.architecture = ARCHITECTURE_LLAMA,
                                    .layers = sizes[2],
                                    .width = sizes[0],
                                    .hidden = sizes[1],
                                    .heads = sizes[3],
                                    .kv_heads = sizes[4],
                                    .head_dim = sizes[0] / sizes[3],
                                    .vocabulary = sizes[5] < 0 ? -sizes[5] : sizes[5],
                                    .context = sizes[6],
                                    .norm_epsilon = NORM_EPSILON,
                                    .rope_base = 10000,
                                    .rope_dims = sizes[0] / sizes[3],
                                    .rope_is_interleaved = true,
                                    .rope_factor = 1};
    r->next += HEADER_SIZE;
    r->left -= HEADER_SIZE;
    return JOULE_OK;
}

/* --- tensors -------------------------------------------------------------------------------------------- */

/* Returns the next count * rows * columns floats of the file. Returns NULL, with a message, if the file ends
 * earlier. No argument is negative. */
static const char *take(struct reading *r, const char *name, int64_t count, int64_t rows, int64_t columns)
{
    forge_shape shape = forge_shape_of(count, rows, columns);
    size_t size = forge_dtype_size_bytes(FORGE_F32, forge_shape_elements(&shape));
    const char *data = r->next;
    if (size > r->left) {
        error_set(r->error, JOULE_INVALID,
                  "cannot read %s: the file ends in '%s', which needs %" PRId64 " x %" PRId64 " x %" PRId64
                  " floats; %zu bytes are left",
                  r->path, name, count, rows, columns, r->left);
        return NULL;
    }
    r->next += size;
    r->left -= size;
    return data;
}

/* Adds a tensor of [rows, columns] floats at `data`. rows 0: a vector of `columns` elements. */
static joule_status add_tensor(struct reading *r, const char *name, const char *data, int64_t rows,
                               int64_t columns)
{
    struct model_tensor *tensor = &r->file->tensors[r->file->tensor_count++];
    *tensor = (struct model_tensor){
        .name = arena_copy(&r->file->arena, name, MAX_NAME),
        .dtype = FORGE_F32,
        .shape = rows ? forge_shape_of(rows, columns) : forge_shape_of(columns),
        .data = data,
        .size_bytes = (size_t)(rows ? rows : 1) * (size_t)columns * sizeof(float),
    };
    return tensor->name ? JOULE_OK : model_no_memory(r->path, r->error);
}

static joule_status read_one(struct reading *r, const char *name, int64_t rows, int64_t columns)
{
    const char *data = take(r, name, 1, rows ? rows : 1, columns);
    return data ? add_tensor(r, name, data, rows, columns) : JOULE_INVALID;
}

/* Reads the tensors of all layers with this name. The file stores them one after another. */
static joule_status read_layers(struct reading *r, const char *name, int64_t rows, int64_t columns)
{
    int64_t layers = r->file->config.layers;
    const char *data = take(r, name, layers, rows ? rows : 1, columns);
    joule_status status = data ? JOULE_OK : JOULE_INVALID;
    for (int64_t i = 0; status == JOULE_OK && i < layers; i++) {
        char full[MAX_NAME];
        string_print(full, sizeof full, "blk.%" PRId64 ".%s.weight", i, name);
        status = add_tensor(r, full, data, rows, columns);
        data += r->file->tensors[r->file->tensor_count - 1].size_bytes;
    }
    return status;
}

static joule_status read_tensors(struct reading *r, bool has_classifier)
{
    const struct model_config *c = &r->file->config;
    int64_t query = c->heads * c->head_dim, key = c->kv_heads * c->head_dim;
    const struct {
        const char *name;
        int64_t rows, columns;
    } layer[] = {{"attn_norm", 0, c->width},        {"attn_q", query, c->width},
                 {"attn_k", key, c->width},         {"attn_v", key, c->width},
                 {"attn_output", c->width, query},  {"ffn_norm", 0, c->width},
                 {"ffn_gate", c->hidden, c->width}, {"ffn_down", c->width, c->hidden},
                 {"ffn_up", c->hidden, c->width}};
    _Static_assert(sizeof layer / sizeof *layer == LAYER_TENSORS, "one entry for each tensor of a layer");
    joule_status status = read_one(r, "token_embd.weight", c->vocabulary, c->width);
    for (size_t i = 0; status == JOULE_OK && i < LAYER_TENSORS; i++)
        status = read_layers(r, layer[i].name, layer[i].rows, layer[i].columns);
    if (status == JOULE_OK)
        status = read_one(r, "output_norm.weight", 0, c->width);
    /* Skips the table of sines and cosines, because the engine computes it itself. */
    if (status == JOULE_OK && !take(r, "freq_cis", 2, 1, c->context * c->head_dim / 2))
        status = JOULE_INVALID;
    if (status == JOULE_OK && has_classifier)
        status = read_one(r, "output.weight", c->vocabulary, c->width);
    if (status == JOULE_OK && r->left > 0)
        status = error_set(r->error, JOULE_INVALID,
                           "cannot read %s: the file has %zu bytes after the last weight", r->path, r->left);
    return status;
}

static joule_status read_model(struct model_file *file, const char *path, joule_error *out_error)
{
    struct model_map map;
    bool has_classifier = false;
    joule_status status = model_file_map(file, path, &map, out_error);
    if (status != JOULE_OK)
        return status;
    struct reading r = {file, path, map.data, map.size, out_error};
    status = read_header(&r, &has_classifier);
    if (status != JOULE_OK)
        return status;
    if (file->config.layers > MODEL_MAX_LAYERS)
        return error_set(
            out_error, JOULE_INVALID,
            "cannot read %s: neither a GGUF file nor a model file of llama2.c: n_layers is %" PRId64, path,
            file->config.layers);
    size_t count = (size_t)file->config.layers * LAYER_TENSORS + OTHER_TENSORS;
    file->tensors = arena_alloc(&file->arena, count * sizeof *file->tensors);
    return file->tensors ? read_tensors(&r, has_classifier) : model_no_memory(path, out_error);
}

/* --- tokenizer ------------------------------------------------------------------------------------------ */

/* Returns a copy of the token with U+2581 instead of each space, as in the vocabularies of GGUF files. data
 * NULL: out of memory. */
static struct bytes mark_spaces(struct arena *arena, struct bytes token)
{
    size_t spaces = 0, mark_size = strlen(SPACE_MARK);
    for (size_t i = 0; i < token.size; i++)
        spaces += token.data[i] == ' ';
    if (spaces == 0)
        return token;
    struct bytes marked = {NULL, token.size + spaces * (mark_size - 1)};
    char *to = arena_alloc(arena, marked.size);
    if (!to)
        return (struct bytes){NULL, 0};
    marked.data = to;
    for (size_t i = 0; i < token.size; i++) {
        size_t size = token.data[i] == ' ' ? mark_size : 1;
        memcpy(to, token.data[i] == ' ' ? SPACE_MARK : &token.data[i], size);
        to += size;
    }
    return marked;
}

static bool is_byte_token(struct bytes token)
{
    static const char digits[] = "0123456789ABCDEF";
    return token.size == 6 && memcmp(token.data, "<0x", 3) == 0 && token.data[5] == '>' &&
           memchr(digits, token.data[3], 16) && memchr(digits, token.data[4], 16);
}

static uint8_t type_of(size_t id, struct bytes token)
{
    if (id == 0)
        return TOKEN_UNKNOWN;
    if (id <= 2)
        return TOKEN_CONTROL;
    return is_byte_token(token) ? TOKEN_BYTE : TOKEN_NORMAL;
}

/* Reads the score and the text of token `i`. */
static joule_status read_token(struct reading *r, struct vocabulary *vocabulary, size_t i)
{
    if (r->left < 8 || read_u32(r->next + 4) > r->left - 8)
        return error_set(r->error, JOULE_INVALID, "cannot read %s: the file ends in token %zu of %zu",
                         r->path, i, vocabulary->count);
    float score = read_f32(r->next);
    struct bytes token = {r->next + 8, read_u32(r->next + 4)};
    r->next += 8 + token.size;
    r->left -= 8 + token.size;
    if (!__builtin_isfinite(score))
        return error_set(r->error, JOULE_INVALID, "cannot read %s: the score of token %zu is not finite",
                         r->path, i);
    /* Files of llama2.c have line breaks around the texts of <s> and </s>. */
    if ((i == 1 || i == 2) && token.size > 2 && token.data[0] == '\n' && token.data[token.size - 1] == '\n')
        token = (struct bytes){token.data + 1, token.size - 2};
    vocabulary->types[i] = type_of(i, token);
    vocabulary->scores[i] = score;
    vocabulary->tokens[i] = mark_spaces(&r->file->arena, token);
    return vocabulary->tokens[i].data ? JOULE_OK : model_no_memory(r->path, r->error);
}

/* Returns the number of complete tokens at the beginning of a file. */
static size_t count_tokens(struct reading r)
{
    size_t count = 0;
    for (; r.left >= 8 && read_u32(r.next + 4) <= r.left - 8; count++) {
        size_t size = 8 + (size_t)read_u32(r.next + 4);
        r.next += size;
        r.left -= size;
    }
    return count;
}

joule_status llama2c_read_vocabulary(struct model_file *file, const char *path, joule_error *out_error)
{
    struct model_map map;
    joule_status status = model_file_map(file, path, &map, out_error);
    if (status != JOULE_OK)
        return status;
    size_t skipped = map.size < 4 ? map.size : 4; /* the length of the longest token */
    struct reading r = {file, path, (const char *)map.data + skipped, map.size - skipped, out_error};
    size_t count = (size_t)file->config.vocabulary;
    if (count == 0 && (count = count_tokens(r)) < 3)
        return error_set(
            out_error, JOULE_INVALID,
            "cannot read %s: the file is not GGUF, tokenizer.json, a model of SentencePiece or a "
            "tokenizer.bin of llama2.c",
            path);
    if (count > r.left / 8 || count < 3)
        return error_set(
            out_error, JOULE_INVALID,
            "cannot read %s: the file has %zu bytes, which cannot contain the model's %zu tokens", path,
            map.size, count);
    struct vocabulary *v = &file->vocabulary;
    *v = (struct vocabulary){.kind = VOCABULARY_SPM,
                             .count = count,
                             .tokens = arena_alloc(&file->arena, count * sizeof *v->tokens),
                             .scores = arena_alloc(&file->arena, count * sizeof *v->scores),
                             .types = arena_alloc(&file->arena, count),
                             .bos = 1,
                             .eos = 2,
                             .eot = -1,
                             .padding = -1,
                             .adds_bos = true,
                             .adds_space_prefix = true};
    if (!v->tokens || !v->scores || !v->types)
        return model_no_memory(path, out_error);
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        status = read_token(&r, v, i);
    if (status == JOULE_OK && r.left > 0)
        status = error_set(out_error, JOULE_INVALID,
                           "cannot read %s: the file has %zu bytes after token %zu, the model's last one",
                           path, r.left, count - 1);
    return status;
}

joule_status llama2c_read(struct model_file *file, const char *path, const char *tokenizer_path,
                          joule_error *out_error)
{
    joule_status status = read_model(file, path, out_error);
    if (status == JOULE_OK)
        status = model_file_sort(file, path, out_error);
    if (status == JOULE_OK)
        status = model_file_check(file, path, out_error);
    if (status == JOULE_OK && tokenizer_path)
        status = llama2c_read_vocabulary(file, tokenizer_path, out_error);
    return status;
}
