/* core/block.c - see dtype.h.
 *
 * Note: elements are multiplied in f32 by the inverse of the scale, before the scale is rounded to f16. ggml
 * computes in the same order, so this code and ggml write equal bytes for equal numbers.
 */
#include "forge/core/block_type.h"
#include "forge/core/dtype.h"
#include "forge/core/number.h"

/* Layout of a block in memory and in files. */
struct q8_0_block {
    uint16_t scale; /* as f16 */
    int8_t quants[BLOCK_ELEMENTS];
};

struct q4_0_block {
    uint16_t scale;
    /* byte i: element i in the low half and element i + 16 in the high half, each plus 8 */
    uint8_t quants[BLOCK_ELEMENTS / 2];
};

_Static_assert(sizeof(struct q8_0_block) == Q8_0_BYTES && sizeof(struct q4_0_block) == Q4_0_BYTES,
               "blocks follow without a gap");

/* Returns the element of `values` with the largest magnitude; the first of them if there are several. Returns
 * NaN if `values` contains a NaN. */
static float find_extreme(const double values[BLOCK_ELEMENTS])
{
    float extreme = 0;
    for (int i = 0; i < BLOCK_ELEMENTS; i++) {
        float value = (float)values[i];
        if (isnan(value))
            return value;
        if (fabsf(value) > fabsf(extreme))
            extreme = value;
    }
    return extreme;
}

/* Returns 1 / scale, the factor for elements. Returns 0 if `scale` is 0 in f16, because the block then
 * decodes to zeros. */
static float inverse_of(float scale)
{
    return half_from_double(scale) & 0x7fff ? 1 / scale : 0;
}

static void pack_q8_0(const double values[BLOCK_ELEMENTS], struct q8_0_block *block)
{
    float scale = fabsf(find_extreme(values)) / 127;
    float inverse = inverse_of(scale);
    block->scale = half_from_double(scale);
    for (int i = 0; i < BLOCK_ELEMENTS; i++)
        block->quants[i] = (int8_t)clamp_signed(roundf((float)values[i] * inverse), 8);
}

static void unpack_q8_0(const struct q8_0_block *block, double out[BLOCK_ELEMENTS])
{
    double scale = half_to_float(block->scale);
    for (int i = 0; i < BLOCK_ELEMENTS; i++)
        out[i] = block->quants[i] * scale;
}

static void pack_q4_0(const double values[BLOCK_ELEMENTS], struct q4_0_block *block)
{
    float scale = find_extreme(values) / -8;
    float inverse = inverse_of(scale);
    uint8_t nibbles[BLOCK_ELEMENTS];
    block->scale = half_from_double(scale);
    for (int i = 0; i < BLOCK_ELEMENTS; i++)
        nibbles[i] = (uint8_t)clamp_unsigned((float)values[i] * inverse + 8.5f, 4);
    for (int i = 0; i < BLOCK_ELEMENTS / 2; i++)
        block->quants[i] = (uint8_t)(nibbles[i] | nibbles[i + BLOCK_ELEMENTS / 2] << 4);
}

static void unpack_q4_0(const struct q4_0_block *block, double out[BLOCK_ELEMENTS])
{
    double scale = half_to_float(block->scale);
    for (int i = 0; i < BLOCK_ELEMENTS / 2; i++) {
        out[i] = ((block->quants[i] & 0xf) - 8) * scale;
        out[i + BLOCK_ELEMENTS / 2] = ((block->quants[i] >> 4) - 8) * scale;
    }
}

BLOCK_TYPE(q8_0, BLOCK_ELEMENTS)
BLOCK_TYPE(q4_0, BLOCK_ELEMENTS)
