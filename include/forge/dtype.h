/* forge/dtype.h - the types of tensor elements: names, sizes and conversions.
 *
 * Storage-only types (8-bit floats, 4-bit integers, block formats) can be stored, loaded and converted; no
 * operation computes in them.
 * Note: a single 4-bit element or element of a block format has no address. So forge_dtype_size_bytes returns
 * the size of several consecutive elements.
 */
#ifndef FORGE_DTYPE_H
#define FORGE_DTYPE_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. Files contain these numbers, so the number of a type never changes. */
typedef enum forge_dtype {
    FORGE_DTYPE_NONE = 0,
    FORGE_BOOL = 1, /* one byte, 0 or 1 */
    FORGE_U8 = 2,
    FORGE_U16 = 3,
    FORGE_U32 = 4,
    FORGE_U64 = 5,
    FORGE_I8 = 6,
    FORGE_I16 = 7,
    FORGE_I32 = 8,
    FORGE_I64 = 9,
    FORGE_F16 = 10,  /* IEEE 754 binary16 */
    FORGE_BF16 = 11, /* the upper half of an f32 */
    FORGE_F32 = 12,
    FORGE_F64 = 13,
    /* Storage only. */
    FORGE_F8_E4M3 = 14, /* 4 exponent bits, no infinity: overflow becomes NaN */
    FORGE_F8_E5M2 = 15, /* 5 exponent bits, with infinities */
    FORGE_U4 = 16,      /* two elements in a byte, the first in the low half */
    FORGE_I4 = 17,
    FORGE_Q8_0 = 18, /* blocks of 32: an f16 scale, then 32 i8 (ggml's layout) */
    /* Blocks of 32 (ggml's layout): an f16 scale, then 16 bytes. Byte i contains element i in its low half
     * and element i + 16 in its high half. Each half stores the element plus 8. */
    FORGE_Q4_0 = 19,
    /* Blocks of 256 in groups of 32 (ggml's layout): f16 scale, f16 scale of minima, 12 bytes with a 6-bit
     * scale and a 6-bit minimum of each group, then 4 bits for each element. */
    FORGE_Q4_K = 20,
    /* Blocks of 256 in groups of 16 (ggml's layout): 4 bits, then 2 bits for each element, an i8 scale for
     * each group, f16 scale. */
    FORGE_Q6_K = 21,
} forge_dtype;

/* Returns the name of a type ("f32"), in static storage: "none" for FORGE_DTYPE_NONE, "unknown" for other
 * values. Any thread. */
FORGE_API const char *forge_dtype_name(forge_dtype dtype);
/* Returns the type with this name, or FORGE_DTYPE_NONE if there is none. Any thread. */
FORGE_API forge_dtype forge_dtype_from_name(const char *name);

/* Returns true for floating-point types, including 8-bit floats and block formats. Any thread. */
FORGE_API bool forge_dtype_is_float(forge_dtype dtype);
/* Returns true for integer types; false for bool. Any thread. */
FORGE_API bool forge_dtype_is_integer(forge_dtype dtype);
/* Returns true for types that operations compute in; false for storage-only types. Any thread. */
FORGE_API bool forge_dtype_is_computed(forge_dtype dtype);

/* Returns the number of elements in the smallest addressable unit: 1, 2 (4-bit types), 32 or 256 (block
 * formats); 0: no such type. Any thread. */
FORGE_API size_t forge_dtype_block_elements(forge_dtype dtype);
/* Returns the size in bytes of the smallest addressable unit; 0: no such type. Any thread. */
FORGE_API size_t forge_dtype_block_bytes(forge_dtype dtype);
/* Returns the size in bytes of `count` consecutive elements, rounded up to whole units; SIZE_MAX on overflow,
 * 0 for FORGE_DTYPE_NONE. Any thread. */
FORGE_API size_t forge_dtype_size_bytes(forge_dtype dtype, size_t count);

/* Converts `count` elements of type `from` to type `to`.
 * - Integer to integer: modulo 2^bits, like C's casts to unsigned.
 * - To bool: true if the element is not equal to 0; NaN becomes true.
 * - Float to integer: rounded towards zero and clamped to the type's range; NaN becomes 0.
 * - To float: rounded once, to nearest, ties to even; overflow becomes infinity (f8_e4m3: NaN).
 * - To a block format: the scale is the block's largest magnitude divided by 127 (q8_0), or its element of
 *   largest magnitude divided by -8 (q4_0); the bytes equal those of ggml. q4_k and q6_k use the range of
 *   each group; ggml searches for better scales. A block that contains a NaN or an infinity, or whose scale
 *   is too large for f16, becomes NaN.
 * - Between equal types: bytes are copied. `source` and `target` need no alignment. They must not overlap,
 *   but may be the same pointer if the types are the same. With an odd number of 4-bit elements, the upper
 *   half of the last byte is not changed. JOULE_INVALID: no such type, NULL, or `count` is not a multiple of
 *   a block format's block. Any thread. */
FORGE_API joule_status forge_convert(forge_dtype from, const void *source, forge_dtype to, void *target,
                                     size_t count);

#ifdef __cplusplus
}
#endif
#endif
