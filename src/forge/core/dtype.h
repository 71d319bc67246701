/* core/dtype.h - one row for each element type.
 *
 * Owns the table behind <forge/dtype.h>: sizes, and how elements are read and written as doubles or 64-bit integers.
 * Newcomers: load and store are for the reference's generality, not for speed; kernels that matter are written for a
 * type. What no double holds exactly, 64-bit integers, goes through load_bits and store_bits.
 */
#ifndef FORGE_CORE_DTYPE_H
#define FORGE_CORE_DTYPE_H

#include <forge/dtype.h>

enum dtype_kind { DTYPE_BOOL, DTYPE_UNSIGNED, DTYPE_SIGNED, DTYPE_FLOAT };

struct dtype_row {
    const char *name;
    enum dtype_kind kind;
    bool is_computed;
    unsigned bits;           /* of one element; block formats: of their integers */
    unsigned block_elements; /* 1 for all that have an address of their own */
    unsigned block_bytes;
    /* Elements [first, first + count) as doubles, at any address. Integers above 2^53 are rounded. Block formats: whole
     * blocks. Half a byte that is not asked for stays as it is. */
    void (*load)(const void *source, size_t first, size_t count, double *out);
    void (*store)(void *target, size_t first, size_t count, const double *values);
    /* Integer types and bool only: sign-extended, modulo 2^bits. */
    void (*load_bits)(const void *source, size_t first, size_t count, uint64_t *out);
    void (*store_bits)(void *target, size_t first, size_t count, const uint64_t *values);
};

/* NULL where there is no such type. */
const struct dtype_row *dtype_row(forge_dtype dtype);

float half_to_float(uint16_t bits);
uint16_t half_from_double(double value);
static inline float bfloat_to_float(uint16_t bits)
{
    union {
        uint32_t bits;
        float value;
    } u = {.bits = (uint32_t)bits << 16};
    return u.value;
}
uint16_t bfloat_from_double(double value);

#endif
