/* forge/dtype.h - the types of a tensor's elements.
 *
 * Owns their names, sizes and conversions. Storage-only types (8-bit floats, 4-bit integers, block formats) can be
 * kept, loaded and cast, and nothing is computed in them.
 * Newcomers: elements of fewer than 8 bits and of block formats have no address of their own; sizes are asked for a
 * whole run of elements.
 */
#ifndef FORGE_DTYPE_H
#define FORGE_DTYPE_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values never change: they stand in files. */
typedef enum forge_dtype {
    FORGE_DTYPE_NONE = 0,
    FORGE_BOOL = 1, /* a byte that is 0 or 1 */
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
    /* For storage only. */
    FORGE_F8_E4M3 = 14, /* 4 bits of exponent, no infinity: what is too large becomes NaN */
    FORGE_F8_E5M2 = 15, /* 5 bits of exponent, with infinities */
    FORGE_U4 = 16,      /* two to a byte, the first in the low half */
    FORGE_I4 = 17,
    FORGE_Q8_0 = 18, /* blocks of 32: an f16 scale, then 32 i8 (ggml's layout) */
    FORGE_Q4_0 =
        19, /* blocks of 32: an f16 scale, then 16 bytes: element i low, i + 16 high, less 8 (ggml's) */
} forge_dtype;

/* "f32"; "none" for NONE, "unknown" for other values. Static storage. Any thread. */
FORGE_API const char *forge_dtype_name(forge_dtype dtype);
/* The type with this name; NONE where there is none. Any thread. */
FORGE_API forge_dtype forge_dtype_from_name(const char *name);

FORGE_API bool forge_dtype_is_float(forge_dtype dtype);   /* f8 and block formats too */
FORGE_API bool forge_dtype_is_integer(forge_dtype dtype); /* not bool */
/* True for types that operations compute in. */
FORGE_API bool forge_dtype_is_computed(forge_dtype dtype);

/* Elements that share one smallest addressable piece: 1, 2 (4-bit types), or a block. 0: no such type. */
FORGE_API size_t forge_dtype_block_elements(forge_dtype dtype);
/* Bytes of that piece. */
FORGE_API size_t forge_dtype_block_bytes(forge_dtype dtype);
/* Bytes of `count` elements in a row, the last block whole; SIZE_MAX on overflow, 0 for NONE. */
FORGE_API size_t forge_dtype_size_bytes(forge_dtype dtype, size_t count);

/* Writes `count` elements of `from` as elements of `to`.
 * - Between integers: modulo 2^bits, as C's casts to unsigned. To bool: not equal to 0, NaN included.
 * - Float to integer: towards zero, held at the ends of the range; NaN gives 0.
 * - To a float: one rounding, to nearest, ties to even; too large gives infinity (f8_e4m3: NaN).
 * - To a block format: the scale is the block's largest magnitude over 127 (q8_0), or its element of largest magnitude
 *   over -8 (q4_0), and the bytes are ggml's. A block with a NaN, an infinity or a scale too large for f16 holds NaN.
 * Between equal types bytes are copied. `source` and `target` need no alignment and must not overlap, but may be the
 * same where the types are. An odd number of 4-bit elements leaves the upper half of the last byte alone.
 * INVALID: no such type, NULL, or a block of a block format is cut. Any thread. */
FORGE_API joule_status forge_convert(forge_dtype from, const void *source, forge_dtype to, void *target,
                                     size_t count);

#ifdef __cplusplus
}
#endif
#endif
