/* forge/tensor.h - shapes, and arrays of elements in memory.
 *
 * Owns the shape, the buffer that holds bytes and the tensor that says where elements lie in them.
 * Newcomers: a tensor is a small value that may be copied freely; it never owns. Its buffer does, and lives until
 * forge_buffer_release: every view of it is void then.
 */
#ifndef FORGE_TENSOR_H
#define FORGE_TENSOR_H

#include <forge/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FORGE_MAX_RANK 8

/* A size: 0 or more elements, or, in graphs, a negative number that stands for an expression of symbols
 * (<forge/graph.h>). */
typedef int64_t forge_dim;

/* Sizes from the slowest dimension to the fastest. Its layout is final. */
typedef struct forge_shape {
    uint32_t rank;                  /* 0 (a single element) to FORGE_MAX_RANK */
    uint32_t reserved;              /* 0 */
    forge_dim dims[FORGE_MAX_RANK]; /* 0 from rank on, so that equal shapes are equal bytes */
} forge_shape;

/* forge_shape_of(2, 3, 4): three dimensions; no argument: rank 0 is (forge_shape){0}. */
#ifndef __cplusplus
#define forge_shape_of(...)                                                                                  \
    ((forge_shape){.rank = sizeof((forge_dim[]){__VA_ARGS__}) / sizeof(forge_dim), .dims = {__VA_ARGS__}})
#endif

/* Equal rank and dims. Any thread. */
FORGE_API bool forge_shape_equal(const forge_shape *a, const forge_shape *b);
/* Product of the dims. SIZE_MAX where a dim is an expression, where the rank is over FORGE_MAX_RANK, and where the dims
 * other than 0 have a product over INT64_MAX: no stride of a shape that has elements overflows. Any thread. */
FORGE_API size_t forge_shape_elements(const forge_shape *shape);
/* Writes "[2,3,4]", or "[]" for rank 0; like snprintf. Any thread. */
FORGE_API size_t forge_shape_format(const forge_shape *shape, char *out_text, size_t size);

/* Bytes with an owner. Counted references; the count may be changed from any thread. */
typedef struct forge_buffer forge_buffer;

/* `size_bytes` of zeroed memory of this process, aligned to 64 bytes, with one reference. Pages that nobody touches
 * cost nothing. NO_MEMORY. */
FORGE_API joule_status forge_buffer_new(size_t size_bytes, forge_buffer **out_buffer, joule_error *out_error);
/* Memory that somebody else owns; release(context) is called with the last reference, if not NULL, and not on failure.
 * INVALID: `memory` is NULL and has a size; NO_MEMORY. */
FORGE_API joule_status forge_buffer_wrap(void *memory, size_t size_bytes, void (*release)(void *context),
                                         void *context, forge_buffer **out_buffer, joule_error *out_error);
FORGE_API void forge_buffer_retain(forge_buffer *buffer);
/* NULL is allowed. */
FORGE_API void forge_buffer_release(forge_buffer *buffer);
FORGE_API void *forge_buffer_data(const forge_buffer *buffer);
FORGE_API size_t forge_buffer_size_bytes(const forge_buffer *buffer);

/* Elements in a buffer. Its layout is final. */
typedef struct forge_tensor {
    forge_buffer *buffer;
    size_t offset_bytes; /* of the element with all indices 0 */
    forge_dtype dtype;
    uint32_t reserved; /* 0 */
    forge_shape shape;
    /* in elements; may be 0 or negative. Types without addresses: packed only */
    int64_t strides[FORGE_MAX_RANK];
} forge_tensor;

/* A packed tensor of zeros in a new buffer, which the caller releases. INVALID: a dim is negative, the type is none,
 * the size overflows, or a row (the last dimension) cuts a block of a block format. NO_MEMORY names type, shape and
 * size. */
FORGE_API joule_status forge_tensor_new(forge_dtype dtype, const forge_shape *shape, forge_tensor *out_tensor,
                                        joule_error *out_error);
/* A packed view of a buffer from offset_bytes on. INVALID: as above, or it does not fit, or is not aligned to its type
 * (block formats: to their f16). */
FORGE_API joule_status forge_tensor_view(forge_buffer *buffer, size_t offset_bytes, forge_dtype dtype,
                                         const forge_shape *shape, forge_tensor *out_tensor,
                                         joule_error *out_error);
/* The address of the element with all indices 0. */
FORGE_API void *forge_tensor_data(const forge_tensor *tensor);
FORGE_API size_t forge_tensor_elements(const forge_tensor *tensor);
/* True where the elements follow each other in order without holes. */
FORGE_API bool forge_tensor_is_packed(const forge_tensor *tensor);

#ifdef __cplusplus
}

template <typename... Dims> inline forge_shape forge_shape_of(Dims... dims)
{
    return forge_shape{sizeof...(Dims), 0, {static_cast<forge_dim>(dims)...}};
}
#endif
#endif
