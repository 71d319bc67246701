/* core/number.h - converts doubles to and from narrower floats and integers.
 *
 * Note: the functions treat the bit patterns of floats as integers. The pattern of the largest finite number
 * plus 1 is the pattern of the overflow result (infinity or NaN). A carry out of the mantissa increments the
 * exponent. Functions are inline, so that the compiler specialises them for each element type.
 */
#ifndef FORGE_CORE_NUMBER_H
#define FORGE_CORE_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum {
    F64_MANTISSA_BITS = 52,
    F64_BIAS = 1023,
};
#define F64_INFINITY (UINT64_C(0x7ff) << F64_MANTISSA_BITS)
#define F64_MANTISSA (UINT64_MAX >> (64 - F64_MANTISSA_BITS))

/* A float format of at most 32 bits. */
struct small_float {
    int exponent_bits;
    int mantissa_bits;
    /* The pattern of the largest finite number, plus 1. It means infinity, or NaN if the format has no
     * infinity. */
    uint32_t overflow_pattern;
};

static const struct small_float f16_format = {5, 10, 0x7c00};
static const struct small_float bf16_format = {8, 7, 0x7f80};
static const struct small_float f8_e4m3_format = {4, 3, 0x7f};
static const struct small_float f8_e5m2_format = {5, 2, 0x7c};

static inline int bias_of(struct small_float format)
{
    return (1 << (format.exponent_bits - 1)) - 1;
}

/* Returns the exact value of `pattern` in `format`. A NaN keeps its payload. */
static inline double widen(uint32_t pattern, struct small_float format)
{
    int sign_place = format.exponent_bits + format.mantissa_bits;
    uint64_t sign = (uint64_t)(pattern >> sign_place) << 63;
    uint32_t magnitude = pattern & ((1u << sign_place) - 1);
    uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
    if (magnitude >= format.overflow_pattern)
        return double_of(sign | F64_INFINITY | mantissa * ((F64_MANTISSA + 1) >> format.mantissa_bits));
    int exponent = (int)(magnitude >> format.mantissa_bits);
    uint32_t significand = exponent > 0 ? mantissa | 1u << format.mantissa_bits : mantissa;
    int place = (exponent > 0 ? exponent : 1) - bias_of(format) - format.mantissa_bits;
    double unit = double_of((uint64_t)(F64_BIAS + place) << F64_MANTISSA_BITS);
    return double_of(bits_of(significand * unit) | sign);
}

/* Returns `value` without its lowest `count` bits, rounded to nearest, ties to even. */
static inline uint64_t drop_bits(uint64_t value, int count)
{
    uint64_t rest = value & ((UINT64_C(1) << count) - 1);
    uint64_t half = UINT64_C(1) << (count - 1);
    uint64_t kept = value >> count;
    return kept + (rest > half || (rest == half && (kept & 1)));
}

/* Returns the pattern of `value` in `format`, rounded to nearest, ties to even. The value is rounded only
 * once, from all 53 bits, whereas a conversion through f32 would round twice. A NaN keeps the upper bits of
 * its payload. */
static inline uint32_t narrow(double value, struct small_float format)
{
    uint64_t bits = bits_of(value);
    uint64_t magnitude = bits & (UINT64_MAX >> 1);
    uint32_t sign = (uint32_t)(bits >> 63) << (format.exponent_bits + format.mantissa_bits);
    int shift = F64_MANTISSA_BITS - format.mantissa_bits;
    if (magnitude > F64_INFINITY) {
        uint32_t payload = (uint32_t)((magnitude & F64_MANTISSA) >> shift);
        return sign | format.overflow_pattern | (payload ? payload : 1u << (format.mantissa_bits - 1));
    }
    /* The last place of subnormal results is fixed, so more bits are dropped. A subnormal double is far below
     * half of the last place of any format. */
    int exponent = (int)(magnitude >> F64_MANTISSA_BITS) - F64_BIAS + bias_of(format);
    int below = exponent < 1 ? 1 - exponent : 0;
    if (below > format.mantissa_bits + 1)
        return sign;
    uint64_t significand = (magnitude & F64_MANTISSA) | (UINT64_C(1) << F64_MANTISSA_BITS);
    uint32_t kept = (uint32_t)drop_bits(significand, shift + below);
    /* The implicit leading bit and any carry are added to the exponent field, which they increment. */
    uint32_t pattern = ((uint32_t)(exponent - 1 + below) << format.mantissa_bits) + kept;
    return sign | (pattern < format.overflow_pattern ? pattern : format.overflow_pattern);
}

/* Convert doubles to integers of 2 to 64 bits. Values are truncated towards zero and saturated; NaN becomes
 * 0. */
static inline int64_t clamp_signed(double value, int bits)
{
    double limit = (double)(UINT64_C(1) << (bits - 1));
    int64_t max = (int64_t)(UINT64_MAX >> (65 - bits));
    if (value >= limit)
        return max;
    if (value <= -limit)
        return -max - 1;
    return isnan(value) ? 0 : (int64_t)value;
}

static inline uint64_t clamp_unsigned(double value, int bits)
{
    double limit = 2 * (double)(UINT64_C(1) << (bits - 1));
    if (value >= limit)
        return UINT64_MAX >> (64 - bits);
    return value > 0 ? (uint64_t)value : 0; /* NaN fails the comparison */
}

#endif
