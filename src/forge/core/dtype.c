/* core/dtype.c - the table of element types.
 *
 * Note: elements are copied with memcpy, because their addresses may be unaligned, for example in files.
 */
#include "forge/core/dtype.h"
#include "forge/core/number.h"

#include <string.h>

float half_to_float(uint16_t bits)
{
    return (float)widen(bits, f16_format);
}

uint16_t half_from_double(double value)
{
    return (uint16_t)narrow(value, f16_format);
}

uint16_t bfloat_from_double(double value)
{
    return (uint16_t)narrow(value, bf16_format);
}

/* --- load and store functions of types whose elements have an address --- */

/* Defines a load function. `expression` converts `element` to `out_type`. */
#define LOADER(function, type, out_type, expression)                                                         \
    static void function(const void *source, size_t first, size_t count, out_type *out)                      \
    {                                                                                                        \
        const char *from = (const char *)source + first * sizeof(type);                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            type element;                                                                                    \
            memcpy(&element, from + i * sizeof element, sizeof element);                                     \
            out[i] = (expression);                                                                           \
        }                                                                                                    \
    }

/* Defines a store function. `expression` converts `value` to `type`. */
#define STORER(function, type, in_type, expression)                                                          \
    static void function(void *target, size_t first, size_t count, const in_type *values)                    \
    {                                                                                                        \
        char *to = (char *)target + first * sizeof(type);                                                    \
        for (size_t i = 0; i < count; i++) {                                                                 \
            in_type value = values[i];                                                                       \
            type element = (type)(expression);                                                               \
            memcpy(to + i * sizeof element, &element, sizeof element);                                       \
        }                                                                                                    \
    }

#define FLOAT_TYPE(name, type, to_double, from_double)                                                       \
    LOADER(load_##name, type, double, to_double)                                                             \
    STORER(store_##name, type, double, from_double)

#define INTEGER_TYPE(name, type, clamp)                                                                      \
    LOADER(load_##name, type, double, (double)element)                                                       \
    STORER(store_##name, type, double, clamp(value, 8 * (int)sizeof(type)))                                  \
    LOADER(load_bits_##name, type, uint64_t, (uint64_t)element)                                              \
    STORER(store_bits_##name, type, uint64_t, value)

INTEGER_TYPE(u8, uint8_t, clamp_unsigned)
INTEGER_TYPE(u16, uint16_t, clamp_unsigned)
INTEGER_TYPE(u32, uint32_t, clamp_unsigned)
INTEGER_TYPE(u64, uint64_t, clamp_unsigned)
INTEGER_TYPE(i8, int8_t, clamp_signed)
INTEGER_TYPE(i16, int16_t, clamp_signed)
INTEGER_TYPE(i32, int32_t, clamp_signed)
INTEGER_TYPE(i64, int64_t, clamp_signed)

/* Booleans are read as bytes, because files may contain other values than 0 and 1, and a C bool must not. */
LOADER(load_boolean, uint8_t, double, element != 0)
STORER(store_boolean, uint8_t, double, value != 0)
LOADER(load_bits_boolean, uint8_t, uint64_t, element != 0)
STORER(store_bits_boolean, uint8_t, uint64_t, value != 0)

FLOAT_TYPE(f64, double, element, value)
FLOAT_TYPE(f32, float, element, value)
FLOAT_TYPE(f16, uint16_t, widen(element, f16_format), narrow(value, f16_format))
FLOAT_TYPE(bf16, uint16_t, widen(element, bf16_format), narrow(value, bf16_format))
FLOAT_TYPE(f8_e4m3, uint8_t, widen(element, f8_e4m3_format), narrow(value, f8_e4m3_format))
FLOAT_TYPE(f8_e5m2, uint8_t, widen(element, f8_e5m2_format), narrow(value, f8_e5m2_format))

/* --- two elements per byte --- */

static inline uint8_t get_nibble(const uint8_t *bytes, size_t index)
{
    return (uint8_t)(bytes[index / 2] >> (index % 2 * 4) & 0xf);
}

/* Writes one element, and does not change the other half of the byte. */
static inline void set_nibble(uint8_t *bytes, size_t index, unsigned nibble)
{
    unsigned shift = index % 2 * 4;
    bytes[index / 2] = (uint8_t)((bytes[index / 2] & (0xf0u >> shift)) | (nibble & 0xf) << shift);
}

static inline int sign_of_nibble(unsigned nibble)
{
    return (int)(nibble ^ 8) - 8;
}

/* Defines the load and store functions of a type with two elements per byte. `widened` converts `nibble` to
 * an integer. */
#define NIBBLE_TYPE(name, widened, clamp)                                                                    \
    static void load_##name(const void *source, size_t first, size_t count, double *out)                     \
    {                                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                                 \
            unsigned nibble = get_nibble(source, first + i);                                                 \
            out[i] = (widened);                                                                              \
        }                                                                                                    \
    }                                                                                                        \
    static void store_##name(void *target, size_t first, size_t count, const double *values)                 \
    {                                                                                                        \
        for (size_t i = 0; i < count; i++)                                                                   \
            set_nibble(target, first + i, (unsigned)clamp(values[i], 4));                                    \
    }                                                                                                        \
    static void load_bits_##name(const void *source, size_t first, size_t count, uint64_t *out)              \
    {                                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                                 \
            unsigned nibble = get_nibble(source, first + i);                                                 \
            out[i] = (uint64_t)(widened);                                                                    \
        }                                                                                                    \
    }                                                                                                        \
    static void store_bits_##name(void *target, size_t first, size_t count, const uint64_t *values)          \
    {                                                                                                        \
        for (size_t i = 0; i < count; i++)                                                                   \
            set_nibble(target, first + i, (unsigned)values[i]);                                              \
    }

NIBBLE_TYPE(u4, nibble, clamp_unsigned)
NIBBLE_TYPE(i4, sign_of_nibble(nibble), clamp_signed)

/* --- the table --- */

#define AS_DOUBLES(name)  load_##name, store_##name
#define AS_INTEGERS(name) AS_DOUBLES(name), load_bits_##name, store_bits_##name

static const struct dtype_row rows[] = {
    [FORGE_BOOL] = {"bool", DTYPE_BOOL, true, 8, 1, 1, AS_INTEGERS(boolean)},
    [FORGE_U8] = {"u8", DTYPE_UNSIGNED, true, 8, 1, 1, AS_INTEGERS(u8)},
    [FORGE_U16] = {"u16", DTYPE_UNSIGNED, true, 16, 1, 2, AS_INTEGERS(u16)},
    [FORGE_U32] = {"u32", DTYPE_UNSIGNED, true, 32, 1, 4, AS_INTEGERS(u32)},
    [FORGE_U64] = {"u64", DTYPE_UNSIGNED, true, 64, 1, 8, AS_INTEGERS(u64)},
    [FORGE_I8] = {"i8", DTYPE_SIGNED, true, 8, 1, 1, AS_INTEGERS(i8)},
    [FORGE_I16] = {"i16", DTYPE_SIGNED, true, 16, 1, 2, AS_INTEGERS(i16)},
    [FORGE_I32] = {"i32", DTYPE_SIGNED, true, 32, 1, 4, AS_INTEGERS(i32)},
    [FORGE_I64] = {"i64", DTYPE_SIGNED, true, 64, 1, 8, AS_INTEGERS(i64)},
    [FORGE_F16] = {"f16", DTYPE_FLOAT, true, 16, 1, 2, AS_DOUBLES(f16)},
    [FORGE_BF16] = {"bf16", DTYPE_FLOAT, true, 16, 1, 2, AS_DOUBLES(bf16)},
    [FORGE_F32] = {"f32", DTYPE_FLOAT, true, 32, 1, 4, AS_DOUBLES(f32)},
    [FORGE_F64] = {"f64", DTYPE_FLOAT, true, 64, 1, 8, AS_DOUBLES(f64)},
    [FORGE_F8_E4M3] = {"f8_e4m3", DTYPE_FLOAT, false, 8, 1, 1, AS_DOUBLES(f8_e4m3)},
    [FORGE_F8_E5M2] = {"f8_e5m2", DTYPE_FLOAT, false, 8, 1, 1, AS_DOUBLES(f8_e5m2)},
    [FORGE_U4] = {"u4", DTYPE_UNSIGNED, false, 4, 2, 1, AS_INTEGERS(u4)},
    [FORGE_I4] = {"i4", DTYPE_SIGNED, false, 4, 2, 1, AS_INTEGERS(i4)},
    [FORGE_Q8_0] = {"q8_0", DTYPE_FLOAT, false, 8, BLOCK_ELEMENTS, Q8_0_BYTES, AS_DOUBLES(q8_0)},
    [FORGE_Q4_0] = {"q4_0", DTYPE_FLOAT, false, 4, BLOCK_ELEMENTS, Q4_0_BYTES, AS_DOUBLES(q4_0)},
    [FORGE_Q4_K] = {"q4_k", DTYPE_FLOAT, false, 4, K_BLOCK_ELEMENTS, Q4_K_BYTES, AS_DOUBLES(q4_k)},
    [FORGE_Q6_K] = {"q6_k", DTYPE_FLOAT, false, 6, K_BLOCK_ELEMENTS, Q6_K_BYTES, AS_DOUBLES(q6_k)},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

const struct dtype_row *dtype_row(forge_dtype dtype)
{
    uint32_t index = (uint32_t)dtype;
    return index < ROW_COUNT && rows[index].name ? &rows[index] : NULL;
}

const char *forge_dtype_name(forge_dtype dtype)
{
    const struct dtype_row *row = dtype_row(dtype);
    return row ? row->name : dtype == FORGE_DTYPE_NONE ? "none" : "unknown";
}

forge_dtype forge_dtype_from_name(const char *name)
{
    for (uint32_t i = 0; name && i < ROW_COUNT; i++)
        if (rows[i].name && strcmp(rows[i].name, name) == 0)
            return (forge_dtype)i;
    return FORGE_DTYPE_NONE;
}

bool forge_dtype_is_float(forge_dtype dtype)
{
    const struct dtype_row *row = dtype_row(dtype);
    return row && row->kind == DTYPE_FLOAT;
}

bool forge_dtype_is_integer(forge_dtype dtype)
{
    const struct dtype_row *row = dtype_row(dtype);
    return row && (row->kind == DTYPE_UNSIGNED || row->kind == DTYPE_SIGNED);
}

bool forge_dtype_is_computed(forge_dtype dtype)
{
    const struct dtype_row *row = dtype_row(dtype);
    return row && row->is_computed;
}

size_t forge_dtype_block_elements(forge_dtype dtype)
{
    const struct dtype_row *row = dtype_row(dtype);
    return row ? row->block_elements : 0;
}

size_t forge_dtype_block_bytes(forge_dtype dtype)
{
    const struct dtype_row *row = dtype_row(dtype);
    return row ? row->block_bytes : 0;
}

size_t forge_dtype_size_bytes(forge_dtype dtype, size_t count)
{
    const struct dtype_row *row = dtype_row(dtype);
    if (!row)
        return 0;
    size_t blocks = count / row->block_elements + (count % row->block_elements != 0);
    size_t size;
    return __builtin_mul_overflow(blocks, row->block_bytes, &size) ? SIZE_MAX : size;
}
