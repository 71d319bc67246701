/* infer/model/gguf_tensors.c - reads the descriptions of tensors in GGUF files, and checks where their data
 * are. */
#include "forge/infer/model/gguf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "forge/infer/model/model_reader.h"

enum { MAX_DIMS = 4, MIN_TENSOR_SIZE = 8 + 4 + 4 + 8, MAX_ALIGNMENT = 1 << 20 };

/* Element types by their number in files. FORGE_DTYPE_NONE: the type is not supported. */
static const struct {
    const char *name;
    forge_dtype dtype;
} types[] = {
    [0] = {"F32", FORGE_F32},
    [1] = {"F16", FORGE_F16},
    [2] = {"Q4_0", FORGE_Q4_0},
    [3] = {"Q4_1", FORGE_DTYPE_NONE},
    [6] = {"Q5_0", FORGE_DTYPE_NONE},
    [7] = {"Q5_1", FORGE_DTYPE_NONE},
    [8] = {"Q8_0", FORGE_Q8_0},
    [9] = {"Q8_1", FORGE_DTYPE_NONE},
    [10] = {"Q2_K", FORGE_DTYPE_NONE},
    [11] = {"Q3_K", FORGE_DTYPE_NONE},
    [12] = {"Q4_K", FORGE_Q4_K},
    [13] = {"Q5_K", FORGE_DTYPE_NONE},
    [14] = {"Q6_K", FORGE_Q6_K},
    [15] = {"Q8_K", FORGE_DTYPE_NONE},
    [16] = {"IQ2_XXS", FORGE_DTYPE_NONE},
    [17] = {"IQ2_XS", FORGE_DTYPE_NONE},
    [18] = {"IQ3_XXS", FORGE_DTYPE_NONE},
    [19] = {"IQ1_S", FORGE_DTYPE_NONE},
    [20] = {"IQ4_NL", FORGE_DTYPE_NONE},
    [21] = {"IQ3_S", FORGE_DTYPE_NONE},
    [22] = {"IQ2_S", FORGE_DTYPE_NONE},
    [23] = {"IQ4_XS", FORGE_DTYPE_NONE},
    [24] = {"I8", FORGE_DTYPE_NONE},
    [25] = {"I16", FORGE_DTYPE_NONE},
    [26] = {"I32", FORGE_DTYPE_NONE},
    [27] = {"I64", FORGE_DTYPE_NONE},
    [28] = {"F64", FORGE_DTYPE_NONE},
    [29] = {"IQ1_M", FORGE_DTYPE_NONE},
    [30] = {"BF16", FORGE_BF16},
    [34] = {"TQ1_0", FORGE_DTYPE_NONE},
    [35] = {"TQ2_0", FORGE_DTYPE_NONE},
    [39] = {"MXFP4", FORGE_DTYPE_NONE},
    [40] = {"NVFP4", FORGE_DTYPE_NONE},
};
enum { TYPES = sizeof types / sizeof *types };

int gguf_dtype_number(forge_dtype dtype)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].name && types[i].dtype == dtype && dtype != FORGE_DTYPE_NONE)
            return i;
    return -1;
}

/* --- descriptions --------------------------------------------------------------------------------------- */

/* The place of a tensor's data: offset from the start of all data, and size, in bytes. */
struct extent {
    uint64_t offset, size;
    const struct model_tensor *tensor;
};

static void take_name(struct gguf *g, struct model_tensor *tensor)
{
    size_t at = g->at;
    struct bytes name;
    if (!gguf_take_string(g, &name, "the name of a tensor"))
        return;
    bool is_valid = name.size > 0 && name.size <= GGUF_MAX_NAME;
    for (size_t i = 0; is_valid && i < name.size; i++)
        is_valid = (unsigned char)name.data[i] > ' ' && name.data[i] != 0x7f;
    if (!is_valid) {
        gguf_fail(
            g, JOULE_INVALID,
            "byte %zu: the name of a tensor is empty, has more than %d bytes or contains a control character",
            at, GGUF_MAX_NAME);
        return;
    }
    tensor->name = arena_copy(&g->file->arena, name.data, name.size);
    if (!tensor->name)
        g->status = model_no_memory(g->path, g->error);
}

/* Reads the shape. The file lists the contiguous dimension first; model_tensor has it last. */
static void take_shape(struct gguf *g, struct model_tensor *tensor)
{
    const char *count = gguf_take(g, 4, "the number of dimensions");
    if (!count)
        return;
    uint32_t rank = read_u32(count);
    if (rank == 0 || rank > MAX_DIMS) {
        gguf_fail(g, JOULE_INVALID, "tensor '%s' has %" PRIu32 " dimensions; 1 to %d are possible",
                  tensor->name, rank, MAX_DIMS);
        return;
    }
    const char *dims = gguf_take(g, 8 * (uint64_t)rank, "the dimensions of a tensor");
    tensor->shape.rank = rank;
    for (uint32_t i = 0; dims && i < rank; i++) {
        uint64_t dim = read_u64(dims + 8 * i);
        if (dim == 0 || dim > INT64_MAX)
            gguf_fail(g, JOULE_INVALID, "tensor '%s' has a dimension of %" PRIu64, tensor->name, dim);
        tensor->shape.dims[rank - 1 - i] = (forge_dim)dim;
    }
}

static void take_type(struct gguf *g, struct model_tensor *tensor)
{
    const char *bytes = gguf_take(g, 4, "the type of a tensor");
    if (!bytes)
        return;
    uint32_t type = read_u32(bytes);
    bool is_known = type < TYPES && types[type].name;
    if (!is_known || types[type].dtype == FORGE_DTYPE_NONE) {
        gguf_fail(g, JOULE_UNSUPPORTED,
                  "tensor '%s' has the type %s (%" PRIu32
                  "), which is not supported; F32, F16, BF16, Q8_0, Q4_0, Q4_K and Q6_K are",
                  tensor->name, is_known ? types[type].name : "unknown", type);
        return;
    }
    tensor->dtype = types[type].dtype;
}

static void set_size(struct gguf *g, struct model_tensor *tensor)
{
    size_t block = forge_dtype_block_elements(tensor->dtype), count = forge_shape_elements(&tensor->shape);
    int64_t row = tensor->shape.dims[tensor->shape.rank - 1];
    tensor->size_bytes = count == SIZE_MAX ? SIZE_MAX : forge_dtype_size_bytes(tensor->dtype, count);
    if (tensor->size_bytes > g->map.size)
        gguf_fail(g, JOULE_INVALID, "tensor '%s' is larger than the file", tensor->name);
    else if (row % (int64_t)block != 0)
        gguf_fail(g, JOULE_INVALID, "tensor '%s' has rows of %" PRId64 " elements; %s has blocks of %zu",
                  tensor->name, row, forge_dtype_name(tensor->dtype), block);
}

static void take_tensor(struct gguf *g, struct model_tensor *tensor, struct extent *extent)
{
    take_name(g, tensor);
    take_shape(g, tensor);
    take_type(g, tensor);
    const char *offset = gguf_take(g, 8, "the offset of a tensor");
    if (!offset)
        return;
    set_size(g, tensor);
    *extent = (struct extent){read_u64(offset), tensor->size_bytes, tensor};
}

/* --- data ----------------------------------------------------------------------------------------------- */

static int by_offset(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->size < y->size ? -1 : x->size > y->size;
}

/* Sets the data of the file's tensors. begin: offset of the first tensor's data in the file, at most the size
 * of the file. */
static void place_data(struct gguf *g, struct model_tensor *tensors, struct extent *extents, uint64_t begin,
                       uint64_t alignment)
{
    uint64_t size = g->map.size - begin, end = 0;
    for (size_t i = 0; i < g->tensor_count && g->status == JOULE_OK; i++) {
        const struct extent *extent = &extents[i];
        if (extent->offset % alignment != 0)
            gguf_fail(g, JOULE_INVALID,
                      "tensor '%s' begins at byte %" PRIu64
                      " of the data, which is not a multiple of %" PRIu64,
                      extent->tensor->name, extent->offset, alignment);
        else if (extent->offset > size || extent->size > size - extent->offset)
            gguf_fail(g, JOULE_INVALID,
                      "tensor '%s' has %" PRIu64 " bytes from byte %" PRIu64
                      " of the data on, which has %" PRIu64 " bytes",
                      extent->tensor->name, extent->size, extent->offset, size);
        else
            tensors[i].data = (const char *)g->map.data + begin + extent->offset;
    }
    if (g->status != JOULE_OK)
        return;
    qsort(extents, g->tensor_count, sizeof *extents, by_offset);
    for (size_t i = 0; i < g->tensor_count; i++) {
        if (extents[i].offset < end)
            gguf_fail(g, JOULE_INVALID, "tensors '%s' and '%s' overlap", extents[i - 1].tensor->name,
                      extents[i].tensor->name);
        end = extents[i].offset + extents[i].size;
    }
}

/* --- files ---------------------------------------------------------------------------------------------- */

/* Reads the descriptions of one file's tensors. tensors, extents: [g->tensor_count]. */
static void read_file(struct gguf *g, struct model_tensor *tensors, struct extent *extents)
{
    int64_t alignment = GGUF_DEFAULT_ALIGNMENT;
    gguf_integer(g, "general.alignment", &alignment);
    if (alignment < 8 || alignment > MAX_ALIGNMENT || alignment % 8 != 0)
        gguf_fail(g, JOULE_INVALID, "key 'general.alignment' is %" PRId64, alignment);
    for (size_t i = 0; i < g->tensor_count && g->status == JOULE_OK; i++)
        take_tensor(g, &tensors[i], &extents[i]);
    if (g->status != JOULE_OK || g->tensor_count == 0)
        return;
    uint64_t unit = (uint64_t)alignment, begin = (g->at + unit - 1) / unit * unit;
    if (begin > g->map.size)
        gguf_fail(g, JOULE_INVALID, "byte %zu: the file ends before the data of the tensors", g->at);
    else
        place_data(g, tensors, extents, begin, unit);
}

/* Returns the number of tensors in all parts. Fails if a part is too small for its tensors. */
static size_t count_tensors(struct gguf *g)
{
    size_t count = 0;
    for (struct gguf *part = g; part && g->status == JOULE_OK; part = part->next) {
        if (part->tensor_count > (part->map.size - part->at) / MIN_TENSOR_SIZE)
            g->status = gguf_fail(part, JOULE_INVALID, "byte 8: %" PRIu64 " tensors are larger than the file",
                                  part->tensor_count);
        count += (size_t)part->tensor_count;
    }
    return count;
}

joule_status gguf_read_tensors(struct gguf *g)
{
    struct model_file *file = g->file;
    size_t count = count_tensors(g);
    if (g->status != JOULE_OK)
        return g->status;
    struct extent *extents = arena_alloc(&file->arena, count * sizeof *extents);
    file->tensors = arena_alloc(&file->arena, count * sizeof *file->tensors);
    if (!extents || !file->tensors)
        return g->status = model_no_memory(g->path, g->error);
    for (struct gguf *part = g; part && g->status == JOULE_OK; part = part->next) {
        read_file(part, file->tensors + file->tensor_count, extents + file->tensor_count);
        file->tensor_count += part->tensor_count;
        g->status = part->status;
    }
    return g->status;
}
