/* infer/model/gguf_write.c - writes models as GGUF files: see gguf_write.h. */
#include "forge/infer/model/gguf_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "forge/core/random_access_file.h"
#include "forge/infer/model/gguf.h"
#include "forge/infer/model/model_reader.h"

enum { VERSION = 3, QUANTISATION_VERSION = 2, BATCH_BYTES = 1 << 20 };

/* A tensor of the new file. */
struct output {
    struct model_tensor source;
    forge_dtype dtype;
    /* Number of rows of a head, if row i and row i + pair_rows / 2 of each head become adjacent in the file;
     * 0: rows keep their order. */
    int64_t pair_rows;
};

struct writing {
    const struct model_file *file;
    const char *path;
    struct output *outputs; /* [count] */
    size_t count;
    float *divisors; /* data of the additional tensor rope_freqs.weight; NULL: none */
    joule_error *error;
};

/* --- plan ----------------------------------------------------------------------------------------------- */

static forge_dtype dtype_for(const struct model_tensor *tensor, forge_dtype weights)
{
    int64_t row = tensor->shape.dims[tensor->shape.rank - 1];
    if (tensor->shape.rank < 2)
        return FORGE_F32;
    if (weights == FORGE_DTYPE_NONE || strcmp(tensor->name, "position_embd.weight") == 0 ||
        row % (int64_t)forge_dtype_block_elements(weights) != 0)
        return tensor->dtype;
    return weights;
}

static joule_status check_rotary(const struct writing *w)
{
    const struct model_config *c = &w->file->config;
    if (c->rope_scaling == ROPE_YARN && c->rope_has_exact_ramp)
        return error_set(w->error, JOULE_UNSUPPORTED,
                         "cannot write %s: GGUF has no key for YaRN with \"truncate\": false", w->path);
    return JOULE_OK;
}

static joule_status plan_tensor(struct writing *w, const struct model_tensor *tensor, forge_dtype weights)
{
    const struct model_config *c = &w->file->config;
    struct output *output = &w->outputs[w->count++];
    bool has_pairs =
        string_ends(tensor->name, ".attn_q.weight") || string_ends(tensor->name, ".attn_k.weight");
    *output = (struct output){*tensor, dtype_for(tensor, weights), 0};
    if (has_pairs && c->architecture == ARCHITECTURE_LLAMA && !c->rope_is_interleaved) {
        output->pair_rows = c->head_dim;
        if (c->rope_dims != c->head_dim)
            return error_set(
                w->error, JOULE_UNSUPPORTED,
                "cannot write %s: a rotary embedding of only a part of each head is not supported", w->path);
    }
    if (gguf_dtype_number(output->dtype) < 0)
        return error_set(w->error, JOULE_UNSUPPORTED,
                         "cannot write %s: tensor '%s' would have the type %s, which GGUF does not have",
                         w->path, tensor->name, forge_dtype_name(output->dtype));
    return JOULE_OK;
}

/* Returns the number that divides frequency `i` in the scaling of Llama 3. */
static double llama3_divisor(const struct model_config *c, int64_t i)
{
    double wavelength = 2 * M_PI * pow(c->rope_base, 2 * (double)i / (double)c->rope_dims);
    double turns = c->rope_original_context / wavelength;
    if (turns > c->rope_high_factor)
        return 1;
    if (turns < c->rope_low_factor)
        return c->rope_factor;
    double smooth = (turns - c->rope_low_factor) / (c->rope_high_factor - c->rope_low_factor);
    return 1 / ((1 - smooth) / c->rope_factor + smooth);
}

/* Adds rope_freqs.weight for the scaling of Llama 3, which GGUF's keys do not express. */
static joule_status plan_divisors(struct writing *w)
{
    const struct model_config *c = &w->file->config;
    if (c->rope_scaling != ROPE_LLAMA3 || c->rope_divisors)
        return JOULE_OK;
    size_t count = (size_t)c->rope_dims / 2;
    w->divisors = calloc(count + 1, sizeof *w->divisors);
    if (!w->divisors)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        w->divisors[i] = (float)llama3_divisor(c, (int64_t)i);
    w->outputs[w->count++] = (struct output){
        {"rope_freqs.weight", FORGE_F32, forge_shape_of((int64_t)count), w->divisors, count * sizeof(float)},
        FORGE_F32,
        0};
    return JOULE_OK;
}

/* --- header --------------------------------------------------------------------------------------------- */

static size_t size_of(const struct output *output)
{
    return forge_dtype_size_bytes(output->dtype, forge_shape_elements(&output->source.shape));
}

static uint64_t align(uint64_t offset)
{
    return (offset + GGUF_DEFAULT_ALIGNMENT - 1) / GGUF_DEFAULT_ALIGNMENT * GGUF_DEFAULT_ALIGNMENT;
}

/* Returns GGUF's number for the most frequent element type of the weights (general.file_type). */
static uint32_t file_type_of(const struct writing *w)
{
    static const struct {
        forge_dtype dtype;
        uint32_t number;
    } numbers[] = {{FORGE_F32, 0},   {FORGE_F16, 1},   {FORGE_Q4_0, 2}, {FORGE_Q8_0, 7},
                   {FORGE_Q4_K, 15}, {FORGE_Q6_K, 18}, {FORGE_BF16, 32}};
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            if (strcmp(w->outputs[i].source.name, "blk.0.ffn_up.weight") == 0 &&
                numbers[k].dtype == w->outputs[i].dtype)
                return numbers[k].number;
    return 0;
}

static uint64_t put_general(const struct writing *w, FILE *out)
{
    gguf_put_integer(out, "general.file_type", file_type_of(w));
    gguf_put_integer(out, "general.quantization_version", QUANTISATION_VERSION);
    if (w->file->name)
        gguf_put_text(out, "general.name", w->file->name);
    return 2 + (w->file->name != NULL);
}

static void put_tensors(const struct writing *w, FILE *out)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct output *output = &w->outputs[i];
        const forge_shape *shape = &output->source.shape;
        gguf_put_string(out, (struct bytes){output->source.name, strlen(output->source.name)});
        gguf_put_u32(out, shape->rank);
        for (uint32_t k = shape->rank; k-- > 0;)
            gguf_put_u64(out, (uint64_t)shape->dims[k]);
        gguf_put_u32(out, (uint32_t)gguf_dtype_number(output->dtype));
        gguf_put_u64(out, offset);
        offset = align(offset + size_of(output));
    }
}

/* Returns the header, which the caller frees with free(); NULL if out of memory. Its size is a multiple of
 * the alignment. */
static char *make_header(const struct writing *w, size_t *out_size)
{
    char *header = NULL;
    FILE *out = open_memstream(&header, out_size);
    if (!out)
        return NULL;
    fputs(GGUF_MAGIC, out);
    gguf_put_u32(out, VERSION);
    gguf_put_u64(out, w->count);
    long count_at = ftell(out);
    gguf_put_u64(out, 0);
    uint64_t count = gguf_put_config(out, &w->file->config);
    count += put_general(w, out);
    count += gguf_put_vocabulary(out, &w->file->vocabulary);
    put_tensors(w, out);
    for (long at = ftell(out); at % GGUF_DEFAULT_ALIGNMENT; at++)
        fputc(0, out);
    if (ferror(out) + fclose(out) != 0) {
        free(header);
        return NULL;
    }
    memcpy(header + count_at, &count, sizeof count);
    return header;
}

/* --- data ----------------------------------------------------------------------------------------------- */

/* Returns the row of the source that becomes row `row` of the file. For example, the rows 0 1 2 3 of a head
 * are written in the order 0 2 1 3. */
static int64_t source_row(const struct output *output, int64_t row)
{
    int64_t rows = output->pair_rows;
    if (rows == 0)
        return row;
    int64_t in_head = row % rows;
    return row - in_head + in_head % 2 * (rows / 2) + in_head / 2;
}

/* Writes a tensor whose element type or order of rows changes, in batches of rows. */
static joule_status write_rows(struct draft *draft, const struct output *output)
{
    const struct model_tensor *source = &output->source;
    bool is_matrix = source->shape.rank == 2;
    int64_t rows = is_matrix ? source->shape.dims[0] : 1,
            columns = source->shape.dims[source->shape.rank - 1];
    size_t from = forge_dtype_size_bytes(source->dtype, (size_t)columns);
    size_t to = forge_dtype_size_bytes(output->dtype, (size_t)columns);
    size_t batch = to < BATCH_BYTES ? BATCH_BYTES / to : 1, filled = 0;
    char *bytes = malloc(batch * to);
    if (!bytes)
        return JOULE_NO_MEMORY;
    for (int64_t row = 0; row < rows; row++) {
        forge_convert(source->dtype, (const char *)source->data + (size_t)source_row(output, row) * from,
                      output->dtype, bytes + filled * to, (size_t)columns);
        if (++filled == batch || row + 1 == rows) {
            draft_write(draft, bytes, filled * to);
            filled = 0;
        }
    }
    free(bytes);
    return JOULE_OK;
}

static joule_status write_tensor(struct draft *draft, const struct output *output)
{
    static const char zeros[GGUF_DEFAULT_ALIGNMENT];
    joule_status status = JOULE_OK;
    size_t size = size_of(output);
    if (output->dtype == output->source.dtype && output->pair_rows == 0)
        draft_write(draft, output->source.data, size);
    else
        status = write_rows(draft, output);
    draft_write(draft, zeros, (size_t)(align(size) - size));
    return status;
}

static joule_status write_file(const struct writing *w)
{
    struct draft draft;
    size_t size = 0;
    char *header = make_header(w, &size);
    if (!header)
        return JOULE_NO_MEMORY;
    draft_begin(&draft, w->path, w->error);
    draft_write(&draft, header, size);
    joule_status status = draft.status;
    for (size_t i = 0; status == JOULE_OK && i < w->count; i++)
        status = write_tensor(&draft, &w->outputs[i]);
    free(header);
    return draft_end(&draft, status);
}

joule_status gguf_write(const struct model_file *file, forge_dtype weights, const char *path,
                        joule_error *out_error)
{
    if (weights != FORGE_DTYPE_NONE && gguf_dtype_number(weights) < 0)
        return error_set(out_error, JOULE_UNSUPPORTED, "cannot write %s: GGUF does not have the type %s",
                         path, forge_dtype_name(weights));
    struct writing w = {file, path, calloc(file->tensor_count + 1, sizeof *w.outputs), 0, NULL, out_error};
    joule_status status = w.outputs ? check_rotary(&w) : JOULE_NO_MEMORY;
    for (size_t i = 0; status == JOULE_OK && i < file->tensor_count; i++)
        status = plan_tensor(&w, &file->tensors[i], weights);
    if (status == JOULE_OK)
        status = plan_divisors(&w);
    if (status == JOULE_OK)
        status = write_file(&w);
    if (status == JOULE_NO_MEMORY)
        error_set(out_error, status, "cannot write %s: out of memory", path);
    free(w.divisors);
    free(w.outputs);
    return status;
}
