/* forge/tensor.h - shapes, buffers of memory, and tensors, which describe the elements in a buffer.
 *
 * A tensor is a small structure that may be copied. It does not own memory. Its buffer owns the memory until
 * the last reference to the buffer is released (forge_buffer_release). After that, all tensors in the buffer
 * are invalid.
 */
#ifndef FORGE_TENSOR_H
#define FORGE_TENSOR_H

#include <forge/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FORGE_MAX_RANK 8

/* The size of a dimension: 0 or more elements. In graphs, a negative number is the id of an expression of
 * symbols (<forge/graph.h>). */
typedef int64_t forge_dim;

/* Sizes from the slowest dimension to the fastest. Its layout is final. */
typedef struct forge_shape {
    uint32_t rank;                  /* 0 (a single element) to FORGE_MAX_RANK */
    uint32_t reserved;              /* 0 */
    forge_dim dims[FORGE_MAX_RANK]; /* entries from `rank` on are 0, so equal shapes have equal bytes */
} forge_shape;

/* forge_shape_of(2, 3, 4) is a shape of rank 3. Write rank 0 as (forge_shape){0}. */
#ifndef __cplusplus
#define forge_shape_of(...)                                                                                  \
    ((forge_shape){.rank = sizeof((forge_dim[]){__VA_ARGS__}) / sizeof(forge_dim), .dims = {__VA_ARGS__}})
#endif

/* Returns true if rank and dims are equal. Any thread. */
FORGE_API bool forge_shape_equal(const forge_shape *a, const forge_shape *b);
/* Returns the number of elements: the product of the dims. Returns SIZE_MAX if a dim is an expression, if
 * rank is above FORGE_MAX_RANK, or if the product of the dims other than 0 exceeds INT64_MAX. So strides of a
 * valid shape never overflow. Any thread. */
FORGE_API size_t forge_shape_elements(const forge_shape *shape);
/* Writes a shape as text: "[2,3,4]", or "[]" for rank 0. Returns the length of the full text, like snprintf.
 * size: bytes of out_text. Any thread. */
FORGE_API size_t forge_shape_format(const forge_shape *shape, char *out_text, size_t size);

/* A block of memory with a reference count. Any thread may change the count. */
typedef struct forge_buffer forge_buffer;

/* Allocates size_bytes bytes of zeroed memory, aligned to 64 bytes, with one reference. Pages that are never
 * accessed use no memory. JOULE_NO_MEMORY: out of memory. */
FORGE_API joule_status forge_buffer_new(size_t size_bytes, forge_buffer **out_buffer, joule_error *out_error);
/* Creates a buffer with one reference for memory that the caller owns. release(context) is called when the
 * last reference is released; `release` may be NULL. It is not called if this function fails. JOULE_INVALID:
 * `memory` is NULL but size_bytes is not 0. JOULE_NO_MEMORY: out of memory. */
FORGE_API joule_status forge_buffer_wrap(void *memory, size_t size_bytes, void (*release)(void *context),
                                         void *context, forge_buffer **out_buffer, joule_error *out_error);
/* Adds a reference. Any thread. */
FORGE_API void forge_buffer_retain(forge_buffer *buffer);
/* Removes a reference. Frees the buffer with the last reference. NULL is allowed. Any thread. */
FORGE_API void forge_buffer_release(forge_buffer *buffer);
/* Returns the address of the first byte. */
FORGE_API void *forge_buffer_data(const forge_buffer *buffer);
/* Returns the size in bytes. */
FORGE_API size_t forge_buffer_size_bytes(const forge_buffer *buffer);

/* Elements in a buffer. Its layout is final. */
typedef struct forge_tensor {
    forge_buffer *buffer;
    size_t offset_bytes; /* offset of the element with all indices 0 */
    forge_dtype dtype;
    uint32_t reserved; /* 0 */
    forge_shape shape;
    /* Distances in elements; may be 0 or negative. Tensors of 4-bit and block types must be packed. */
    int64_t strides[FORGE_MAX_RANK];
} forge_tensor;

/* Creates a packed tensor of zeros in a new buffer, which the caller releases. JOULE_INVALID: a dim is
 * negative, the type is FORGE_DTYPE_NONE, the size overflows, or the last dimension is not a multiple of a
 * block format's block. JOULE_NO_MEMORY: out of memory; the message names type, shape and size. */
FORGE_API joule_status forge_tensor_new(forge_dtype dtype, const forge_shape *shape, forge_tensor *out_tensor,
                                        joule_error *out_error);
/* Creates a packed view of a buffer from offset_bytes on, without a reference to the buffer. JOULE_INVALID: a
 * case of forge_tensor_new, the tensor does not fit in the buffer, or the offset is not aligned to the type
 * (block formats: to their f16 scale). */
FORGE_API joule_status forge_tensor_view(forge_buffer *buffer, size_t offset_bytes, forge_dtype dtype,
                                         const forge_shape *shape, forge_tensor *out_tensor,
                                         joule_error *out_error);
/* Returns the address of the element with all indices 0. */
FORGE_API void *forge_tensor_data(const forge_tensor *tensor);
/* Returns the number of elements. */
FORGE_API size_t forge_tensor_elements(const forge_tensor *tensor);
/* Returns true if the elements are in row-major order without gaps. */
FORGE_API bool forge_tensor_is_packed(const forge_tensor *tensor);

#ifdef __cplusplus
}

template <typename... Dims> inline forge_shape forge_shape_of(Dims... dims)
{
    return forge_shape{sizeof...(Dims), 0, {static_cast<forge_dim>(dims)...}};
}
#endif
#endif
