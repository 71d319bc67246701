/* tools/forge/random_model.c - see random_model.h.
 *
 * Note: all matrices with the same number of inputs are parts of one array of random weights, at different
 * offsets. So a model needs only the memory of its largest matrix. */
#include "random_model.h"

#include <forge/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "common/options.h"
#include "forge/infer/model/gguf_write.h"

enum { SPECIAL_TOKENS = 3, BYTE_TOKENS = 256, MAX_NAME = 64, LAYER_TENSORS = 9, OTHER_TENSORS = 3 };
enum { SHIFT = 31 * 256, PIECE = 1 << 16 }; /* in elements; multiples of the block sizes of all types */

static const struct random_model shapes[] = {
    {"llama-1.1b", 2048, 5632, 22, 32, 4, 32000, 2048, FORGE_DTYPE_NONE},
    {"llama-0.5b", 1280, 3584, 24, 20, 4, 32000, 2048, FORGE_DTYPE_NONE},
    {"llama-0.1b", 768, 2048, 12, 12, 4, 32000, 2048, FORGE_DTYPE_NONE},
    {"llama-tiny", 256, 512, 2, 4, 2, 512, 512, FORGE_DTYPE_NONE},
};
static const forge_dtype dtypes[] = {FORGE_F32,  FORGE_F16,  FORGE_BF16, FORGE_Q8_0,
                                     FORGE_Q4_0, FORGE_Q4_K, FORGE_Q6_K};
const char random_model_shapes[] = "llama-1.1b, llama-0.5b, llama-0.1b or llama-tiny";
const char random_model_types[] = "f32, f16, bf16, q8_0, q4_0, q4_k or q6_k";

bool random_model_parse(const char *text, const char *subcommand, struct random_model *out)
{
    const char *colon = strchr(text, ':');
    forge_dtype dtype = colon ? forge_dtype_from_name(colon + 1) : FORGE_DTYPE_NONE;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    *out = (struct random_model){0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strlen(shapes[i].name) == length && memcmp(shapes[i].name, text, length) == 0)
            *out = shapes[i];
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i] == dtype)
            out->dtype = dtype;
    if (out->name && out->dtype)
        return true;
    complain(subcommand, "--random takes SHAPE:TYPE, not '%s'; SHAPE is %s; TYPE is %s", text,
             random_model_shapes, random_model_types);
    return false;
}

/* --- weights -------------------------------------------------------------------------------------------- */

/* Random weights for all matrices with `inputs` inputs. */
struct pool {
    int64_t inputs;
    char *data;
    size_t used; /* offset of the next matrix in elements */
};

struct making {
    struct model_file file;
    forge_dtype dtype;
    struct pool by_width, by_hidden;
    float *ones;
};

static joule_status fill_pool(struct pool *pool, int64_t inputs, int64_t rows, forge_dtype dtype,
                              size_t matrices, const forge_random *random)
{
    size_t count = (size_t)(inputs * rows) + matrices * SHIFT;
    float *piece = malloc(PIECE * sizeof *piece), scale = 2 / sqrtf((float)inputs);
    count = (count + PIECE - 1) / PIECE * PIECE;
    pool->inputs = inputs;
    pool->data = malloc(forge_dtype_size_bytes(dtype, count));
    for (size_t first = 0; piece && pool->data && first < count; first += PIECE) {
        forge_random_uniform(random, first, PIECE, piece);
        for (size_t i = 0; i < PIECE; i++)
            piece[i] = (piece[i] - 0.5f) * scale;
        forge_convert(FORGE_F32, piece, dtype, pool->data + forge_dtype_size_bytes(dtype, first), PIECE);
    }
    bool is_filled = piece && pool->data;
    free(piece);
    return is_filled ? JOULE_OK : JOULE_NO_MEMORY;
}

static void add_tensor(struct making *m, const char *name, forge_dtype dtype, forge_shape shape,
                       const void *data)
{
    struct model_tensor *tensor = &m->file.tensors[m->file.tensor_count++];
    size_t size = forge_dtype_size_bytes(dtype, forge_shape_elements(&shape));
    *tensor = (struct model_tensor){arena_copy(&m->file.arena, name, MAX_NAME), dtype, shape, data, size};
}

static void add_matrix(struct making *m, const char *name, int64_t rows, struct pool *pool)
{
    add_tensor(m, name, m->dtype, forge_shape_of(rows, pool->inputs),
               pool->data + forge_dtype_size_bytes(m->dtype, pool->used));
    pool->used += SHIFT;
}

static void add_norm(struct making *m, const char *name)
{
    add_tensor(m, name, FORGE_F32, forge_shape_of(m->file.config.width), m->ones);
}

static void add_layer(struct making *m, int64_t layer)
{
    const struct model_config *c = &m->file.config;
    int64_t key = c->kv_heads * c->head_dim;
    const struct {
        const char *name;
        int64_t rows; /* 0: a norm */
        struct pool *pool;
    } tensors[LAYER_TENSORS] = {
        {"attn_norm", 0, NULL},
        {"attn_q", c->width, &m->by_width},
        {"attn_k", key, &m->by_width},
        {"attn_v", key, &m->by_width},
        {"attn_output", c->width, &m->by_width},
        {"ffn_norm", 0, NULL},
        {"ffn_gate", c->hidden, &m->by_width},
        {"ffn_up", c->hidden, &m->by_width},
        {"ffn_down", c->width, &m->by_hidden},
    };
    for (size_t i = 0; i < LAYER_TENSORS; i++) {
        char name[MAX_NAME];
        string_print(name, sizeof name, "blk.%d.%s.weight", (int)layer, tensors[i].name);
        if (tensors[i].rows)
            add_matrix(m, name, tensors[i].rows, tensors[i].pool);
        else
            add_norm(m, name);
    }
}

static joule_status make_tensors(struct making *m, uint64_t seed)
{
    const struct model_config *c = &m->file.config;
    size_t count = (size_t)c->layers * LAYER_TENSORS + OTHER_TENSORS;
    m->file.tensors = arena_alloc(&m->file.arena, count * sizeof *m->file.tensors);
    m->ones = malloc((size_t)c->width * sizeof *m->ones);
    joule_status status = m->file.tensors && m->ones ? JOULE_OK : JOULE_NO_MEMORY;
    int64_t rows = c->vocabulary > c->hidden ? c->vocabulary : c->hidden;
    if (status == JOULE_OK)
        status = fill_pool(&m->by_width, c->width, rows, m->dtype, count, &(forge_random){.key = seed});
    if (status == JOULE_OK)
        status = fill_pool(&m->by_hidden, c->hidden, c->width, m->dtype, count,
                           &(forge_random){.key = seed, .stream = 1});
    if (status != JOULE_OK)
        return status;
    for (int64_t i = 0; i < c->width; i++)
        m->ones[i] = 1;
    add_matrix(m, "token_embd.weight", c->vocabulary, &m->by_width);
    for (int64_t layer = 0; layer < c->layers; layer++)
        add_layer(m, layer);
    add_norm(m, "output_norm.weight");
    add_matrix(m, "output.weight", c->vocabulary, &m->by_width);
    return m->file.arena.is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}

/* --- vocabulary ----------------------------------------------------------------------------------------- */

/* Writes piece `i` of the vocabulary. Piece 0 is a space. The words a, b, ... z, aa, ab, ... follow, each
 * first without and then after a space. */
static void name_piece(size_t i, char out[MAX_NAME])
{
    char letters[16];
    size_t length = 0, number = (i + 1) / 2;
    for (; number > 0; number = (number - 1) / 26)
        letters[length++] = (char)('a' + (number - 1) % 26);
    string_copy(out, MAX_NAME, i % 2 ? "" : "\xe2\x96\x81"); /* U+2581 stands for a space */
    size_t at = strlen(out);
    while (length > 0)
        out[at++] = letters[--length];
    out[at] = '\0';
}

static void name_token(size_t i, char out[MAX_NAME], uint8_t *out_type)
{
    static const char *const special[SPECIAL_TOKENS] = {"<unk>", "<s>", "</s>"};
    if (i < SPECIAL_TOKENS) {
        string_copy(out, MAX_NAME, special[i]);
        *out_type = i == 0 ? TOKEN_UNKNOWN : TOKEN_CONTROL;
    } else if (i < SPECIAL_TOKENS + BYTE_TOKENS) {
        string_print(out, MAX_NAME, "<0x%02X>", (unsigned)(i - SPECIAL_TOKENS));
        *out_type = TOKEN_BYTE;
    } else {
        name_piece(i - SPECIAL_TOKENS - BYTE_TOKENS, out);
        *out_type = TOKEN_NORMAL;
    }
}

static joule_status make_vocabulary(struct model_file *file)
{
    struct arena *arena = &file->arena;
    struct vocabulary *v = &file->vocabulary;
    size_t count = (size_t)file->config.vocabulary;
    *v = (struct vocabulary){.kind = VOCABULARY_SPM,
                             .count = count,
                             .tokens = arena_alloc(arena, count * sizeof *v->tokens),
                             .scores = arena_alloc(arena, count * sizeof *v->scores),
                             .types = arena_alloc(arena, count),
                             .bos = 1,
                             .eos = 2,
                             .eot = -1,
                             .unknown = 0,
                             .padding = -1,
                             .adds_bos = true,
                             .adds_space_prefix = true};
    if (!v->tokens || !v->scores || !v->types)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        char name[MAX_NAME];
        name_token(i, name, &v->types[i]);
        v->tokens[i] = (struct bytes){arena_copy(arena, name, MAX_NAME), strlen(name)};
        if (v->types[i] == TOKEN_NORMAL)
            v->scores[i] = -(float)(i - SPECIAL_TOKENS - BYTE_TOKENS);
    }
    return arena->is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}

/* --- file ----------------------------------------------------------------------------------------------- */

joule_status random_model_write(const struct random_model *model, uint64_t seed, const char *path,
                                joule_error *out_error)
{
    struct making m = {.dtype = model->dtype};
    int64_t head_dim = model->width / model->heads;
    m.file.config = (struct model_config){.architecture = ARCHITECTURE_LLAMA,
                                          .layers = model->layers,
                                          .width = model->width,
                                          .hidden = model->hidden,
                                          .heads = model->heads,
                                          .kv_heads = model->kv_heads,
                                          .head_dim = head_dim,
                                          .vocabulary = model->vocabulary,
                                          .context = model->context,
                                          .norm_epsilon = 1e-5f,
                                          .rope_base = 10000,
                                          .rope_dims = head_dim,
                                          .rope_is_interleaved = true,
                                          .rope_factor = 1};
    m.file.arena.block_size = 1 << 20;
    char name[MAX_NAME];
    string_print(name, sizeof name, "random %s %s", model->name, forge_dtype_name(model->dtype));
    m.file.name = name;
    joule_status status = make_tensors(&m, seed);
    if (status == JOULE_OK)
        status = make_vocabulary(&m.file);
    if (status == JOULE_OK)
        status = gguf_write(&m.file, FORGE_DTYPE_NONE, path, out_error);
    else
        error_set(out_error, status, "cannot write %s: out of memory", path);
    free(m.by_width.data);
    free(m.by_hidden.data);
    free(m.ones);
    arena_free(&m.file.arena);
    return status;
}
