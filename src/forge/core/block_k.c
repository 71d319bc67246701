/* core/block_k.c - the block formats q4_k and q6_k: 256 elements in groups, whose scales are quantised too.
 *
 * Note: reading is exact. Writing uses the range of each group, without the search for better scales that
 * ggml does, so the bytes differ from those that ggml writes.
 */
#include "forge/core/block_type.h"
#include "forge/core/dtype.h"
#include "forge/core/number.h"

enum { Q4_K_GROUP = 32, Q4_K_GROUPS = K_BLOCK_ELEMENTS / Q4_K_GROUP };
enum { Q6_K_GROUP = 16, Q6_K_GROUPS = K_BLOCK_ELEMENTS / Q6_K_GROUP };

/* Layouts of a block in memory and in files. */
struct q4_k_block {
    uint16_t scale, min_scale; /* f16 */
    uint8_t scales[12];        /* two 6-bit numbers for each group: see get_scales */
    /* 32 bytes for each pair of groups: the first group in the low halves, the second in the high halves */
    uint8_t quants[K_BLOCK_ELEMENTS / 2];
};

struct q6_k_block {
    uint8_t low[K_BLOCK_ELEMENTS / 2];  /* the lower four bits of elements: see q6_k_place */
    uint8_t high[K_BLOCK_ELEMENTS / 4]; /* the upper two bits */
    int8_t scales[Q6_K_GROUPS];
    uint16_t scale; /* f16 */
};

_Static_assert(sizeof(struct q4_k_block) == Q4_K_BYTES && sizeof(struct q6_k_block) == Q6_K_BYTES,
               "blocks follow without a gap");

/* Returns `value` rounded to an f16. Returns NaN if it is NaN, or too large for f16. */
static double round_to_half(double value)
{
    double rounded = half_to_float(half_from_double(value));
    return isinf(rounded) ? NAN : rounded;
}

/* Returns value / unit, rounded to a whole number between min and max. Returns 0 if `unit` is 0 or the
 * result is NaN: the block is then all zeros or all NaN. */
static int quantise(double value, double unit, int min, int max)
{
    double quotient = unit != 0 ? nearbyint(value / unit) : 0;
    if (isnan(quotient))
        return 0;
    return quotient < min ? min : quotient > max ? max : (int)quotient;
}

/* --- q4_k: scale * scale of the group * quant - min_scale * min of the group --- */

/* Groups 0 to 3 have their scale in bytes 0 to 3 and their min in bytes 4 to 7, in the lower six bits.
 * Groups 4 to 7 have four bits of both in bytes 8 to 11. Their upper two bits are those of bytes 0 to 7. */
static void get_scales(const uint8_t s[12], int group, int *scale, int *min)
{
    int j = group % 4;
    *scale = group < 4 ? s[j] & 63 : (s[j + 8] & 15) | s[j] >> 6 << 4;
    *min = group < 4 ? s[j + 4] & 63 : s[j + 8] >> 4 | s[j + 4] >> 6 << 4;
}

static void set_scales(uint8_t s[12], int group, int scale, int min)
{
    int j = group % 4;
    if (group < 4) {
        s[j] |= (uint8_t)scale;
        s[j + 4] |= (uint8_t)min;
    } else {
        s[j + 8] |= (uint8_t)((scale & 15) | (min & 15) << 4);
        s[j] |= (uint8_t)(scale >> 4 << 6);
        s[j + 4] |= (uint8_t)(min >> 4 << 6);
    }
}

static void unpack_q4_k(const struct q4_k_block *block, double out[K_BLOCK_ELEMENTS])
{
    double scale = half_to_float(block->scale), min_scale = half_to_float(block->min_scale);
    for (int g = 0; g < Q4_K_GROUPS; g++) {
        int group_scale, group_min;
        get_scales(block->scales, g, &group_scale, &group_min);
        const uint8_t *quants = block->quants + g / 2 * Q4_K_GROUP;
        for (int i = 0; i < Q4_K_GROUP; i++)
            out[g * Q4_K_GROUP + i] =
                scale * group_scale * (quants[i] >> 4 * (g % 2) & 15) - min_scale * group_min;
    }
}

/* Sets the largest distance between elements of group `g` and the largest negative element, both at least 0.
 * Returns false if the group contains a NaN or an infinity. */
static bool find_range(const double *values, int g, double *range, double *depth)
{
    double low = 0, high = 0;
    for (int i = 0; i < Q4_K_GROUP; i++) {
        double value = values[g * Q4_K_GROUP + i];
        if (!isfinite(value))
            return false;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    *range = high - low;
    *depth = -low;
    return true;
}

static void pack_q4_k(const double values[K_BLOCK_ELEMENTS], struct q4_k_block *block)
{
    double range[Q4_K_GROUPS], depth[Q4_K_GROUPS], max_range = 0, max_depth = 0;
    bool is_finite = true;
    for (int g = 0; g < Q4_K_GROUPS; g++) {
        is_finite = is_finite && find_range(values, g, &range[g], &depth[g]);
        max_range = is_finite ? fmax(max_range, range[g]) : NAN;
        max_depth = is_finite ? fmax(max_depth, depth[g]) : NAN;
    }
    double scale = round_to_half(max_range / 15 / 63), min_scale = round_to_half(max_depth / 63);
    *block = (struct q4_k_block){half_from_double(scale), half_from_double(min_scale), {0}, {0}};
    for (int g = 0; g < Q4_K_GROUPS && is_finite; g++) {
        int group_scale = quantise(range[g] / 15, scale, 0, 63),
            group_min = quantise(depth[g], min_scale, 0, 63);
        set_scales(block->scales, g, group_scale, group_min);
        for (int i = 0; i < Q4_K_GROUP; i++) {
            double above = values[g * Q4_K_GROUP + i] + min_scale * group_min;
            int quant = quantise(above, scale * group_scale, 0, 15);
            block->quants[g / 2 * Q4_K_GROUP + i] |= (uint8_t)(quant << 4 * (g % 2));
        }
    }
}

/* --- q6_k: scale * scale of the group * (quant - 32) --- */

/* The place of an element's bits. */
struct q6_k_place {
    int low, low_shift, high, high_shift;
};

/* Each half of a block has 64 bytes of lower bits and 32 bytes of upper bits. Elements 0 to 63 of the half
 * have the low halves of the bytes, elements 64 to 127 the high halves. Element i has bits of byte i % 32 of
 * the upper bits. */
static struct q6_k_place q6_k_place(int element)
{
    int half = element / 128, i = element % 128;
    return (struct q6_k_place){64 * half + i % 64, i / 64 * 4, 32 * half + i % 32, i / 32 * 2};
}

static void unpack_q6_k(const struct q6_k_block *block, double out[K_BLOCK_ELEMENTS])
{
    double scale = half_to_float(block->scale);
    for (int i = 0; i < K_BLOCK_ELEMENTS; i++) {
        struct q6_k_place at = q6_k_place(i);
        int quant = (block->low[at.low] >> at.low_shift & 15) | (block->high[at.high] >> at.high_shift & 3)
                                                                    << 4;
        int group = i / Q6_K_GROUP;
        out[i] = scale * block->scales[group] * (quant - 32);
    }
}

static void pack_q6_k(const double values[K_BLOCK_ELEMENTS], struct q6_k_block *block)
{
    double largest[Q6_K_GROUPS] = {0}, max = 0;
    for (int i = 0; i < K_BLOCK_ELEMENTS; i++) {
        largest[i / Q6_K_GROUP] = fmax(largest[i / Q6_K_GROUP], fabs(values[i]));
        max = isnan(max) || !isfinite(values[i]) ? NAN : fmax(max, fabs(values[i]));
    }
    double scale = round_to_half(max / 31 / 127);
    *block = (struct q6_k_block){.scale = half_from_double(scale)};
    for (int g = 0; g < Q6_K_GROUPS; g++)
        block->scales[g] = (int8_t)quantise(largest[g] / 31, scale, 0, 127);
    for (int i = 0; i < K_BLOCK_ELEMENTS; i++) {
        struct q6_k_place at = q6_k_place(i);
        int group = i / Q6_K_GROUP;
        int quant = 32 + quantise(values[i], scale * block->scales[group], -32, 31);
        block->low[at.low] |= (uint8_t)((quant & 15) << at.low_shift);
        block->high[at.high] |= (uint8_t)(quant >> 4 << at.high_shift);
    }
}

/* --- the functions of the table --- */

BLOCK_TYPE(q4_k, K_BLOCK_ELEMENTS)
BLOCK_TYPE(q6_k, K_BLOCK_ELEMENTS)
