/* core/dtype.h - the table of element types: names, sizes, load and store functions.
 *
 * Note: the load and store functions are for conversions and the reference kernels. They are slower than
 * kernels that are written for one type. load_bits and store_bits are exact for all 64-bit integers, whereas
 * a double cannot represent all 64-bit integers.
 */
#ifndef FORGE_CORE_DTYPE_H
#define FORGE_CORE_DTYPE_H

#include <forge/dtype.h>

enum dtype_kind { DTYPE_BOOL, DTYPE_UNSIGNED, DTYPE_SIGNED, DTYPE_FLOAT };

/* The properties and functions of an element type. */
struct dtype_row {
    const char *name;
    enum dtype_kind kind;
    bool is_computed;
    unsigned bits;           /* bits of an element, without the block's scale */
    unsigned block_elements; /* 1 if each element has an address */
    unsigned block_bytes;
    /* Read and write elements [first, first + count) as doubles. Addresses need no alignment. Integers above
     * 2^53 are rounded. For block formats, `first` and `count` are multiples of block_elements. If a byte
     * contains two elements and only one is written, the other element does not change. */
    void (*load)(const void *source, size_t first, size_t count, double *out);
    void (*store)(void *target, size_t first, size_t count, const double *values);
    /* Read and write elements as 64-bit integers: sign-extended on load, modulo 2^bits on store. NULL for
     * floats and block formats. */
    void (*load_bits)(const void *source, size_t first, size_t count, uint64_t *out);
    void (*store_bits)(void *target, size_t first, size_t count, const uint64_t *values);
};

/* Returns the properties of `dtype`, in static storage; NULL if there is no such type. */
const struct dtype_row *dtype_row(forge_dtype dtype);

/* Convert between numbers and the bits of f16 and bf16. The conversion to float is exact; the conversion from
 * double rounds once. */
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

/* The block formats q8_0 and q4_0: 32 elements with a common scale (block.c). `first` and `count` are in
 * elements, multiples of BLOCK_ELEMENTS. */
enum { BLOCK_ELEMENTS = 32, Q8_0_BYTES = 34, Q4_0_BYTES = 18 };

void load_q8_0(const void *source, size_t first, size_t count, double *out);
void store_q8_0(void *target, size_t first, size_t count, const double *values);
void load_q4_0(const void *source, size_t first, size_t count, double *out);
void store_q4_0(void *target, size_t first, size_t count, const double *values);

/* The block formats q4_k and q6_k (block_k.c). `first` and `count` are in elements, multiples of
 * K_BLOCK_ELEMENTS. */
enum { K_BLOCK_ELEMENTS = 256, Q4_K_BYTES = 144, Q6_K_BYTES = 210 };

void load_q4_k(const void *source, size_t first, size_t count, double *out);
void store_q4_k(void *target, size_t first, size_t count, const double *values);
void load_q6_k(const void *source, size_t first, size_t count, double *out);
void store_q6_k(void *target, size_t first, size_t count, const double *values);

#endif
