/* reference/reference_binary.c - operations on two elements (floats, integers or bool), and select.
 *
 * Note: integers are sign-extended to 64 bits and stored modulo 2^bits. So only division, comparisons and
 * powers depend on is_signed.
 */
#include "forge/reference/reference.h"
#include "forge/reference/reference_walk.h"

#include <math.h>
#include <string.h>

/* --- floats --------------------------------------------------------------------------------------------- */

static double mod_number(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0)
        return copysign(0, b);
    return (rest < 0) == (b < 0) ? rest : rest + b; /* NaN gives NaN in both cases */
}

double binary_number(forge_binary_kind kind, double a, double b)
{
    switch (kind) {
    case FORGE_ADD:
        return a + b;
    case FORGE_SUB:
        return a - b;
    case FORGE_MUL:
        return a * b;
    case FORGE_DIV:
        return a / b;
    case FORGE_POW:
        return pow(a, b);
    case FORGE_MAX:
        return a > b || isnan(a) ? a : b;
    case FORGE_MIN:
        return a < b || isnan(a) ? a : b;
    case FORGE_MOD:
        return mod_number(a, b);
    case FORGE_EQ:
        return a == b;
    case FORGE_NE:
        return a != b;
    case FORGE_LT:
        return a < b;
    case FORGE_LE:
        return a <= b;
    case FORGE_GT:
        return a > b;
    case FORGE_GE:
        return a >= b;
    case FORGE_AND:
    case FORGE_OR:
    case FORGE_XOR:
    case FORGE_BINARY_KINDS:
        break;
    }
    return NAN;
}

/* --- integers ------------------------------------------------------------------------------------------- */

static uint64_t magnitude(uint64_t x, bool is_negative)
{
    return is_negative ? -x : x;
}

/* Divides absolute values, because INT64_MIN / -1 traps. */
static uint64_t div_bits(uint64_t a, uint64_t b, bool is_signed)
{
    bool a_negative = is_signed && a >> 63, b_negative = is_signed && b >> 63;
    return b ? magnitude(magnitude(a, a_negative) / magnitude(b, b_negative), a_negative != b_negative) : 0;
}

static uint64_t mod_bits(uint64_t a, uint64_t b, bool is_signed)
{
    uint64_t rest = b ? a - b * div_bits(a, b, is_signed) : 0;
    bool is_other_sign = is_signed && (rest ^ b) >> 63;
    return rest && is_other_sign ? rest + b : rest;
}

static uint64_t pow_bits(uint64_t base, uint64_t exponent, bool is_signed)
{
    if (is_signed && exponent >> 63) /* 1 / base^-exponent, rounded towards zero */
        return base + 1 <= 2 && base ? (exponent & 1 ? base : 1) : 0;
    uint64_t power = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            power *= base;
    return power;
}

static bool is_less(uint64_t a, uint64_t b, bool is_signed)
{
    uint64_t flip = (uint64_t)is_signed << 63;
    return (a ^ flip) < (b ^ flip);
}

uint64_t binary_bits(forge_binary_kind kind, uint64_t a, uint64_t b, bool is_signed)
{
    switch (kind) {
    case FORGE_ADD:
        return a + b;
    case FORGE_SUB:
        return a - b;
    case FORGE_MUL:
        return a * b;
    case FORGE_DIV:
        return div_bits(a, b, is_signed);
    case FORGE_POW:
        return pow_bits(a, b, is_signed);
    case FORGE_MAX:
        return is_less(a, b, is_signed) ? b : a;
    case FORGE_MIN:
        return is_less(b, a, is_signed) ? b : a;
    case FORGE_MOD:
        return mod_bits(a, b, is_signed);
    case FORGE_AND:
        return a & b;
    case FORGE_OR:
        return a | b;
    case FORGE_XOR:
        return a ^ b;
    case FORGE_EQ:
        return a == b;
    case FORGE_NE:
        return a != b;
    case FORGE_LT:
        return is_less(a, b, is_signed);
    case FORGE_LE:
        return !is_less(b, a, is_signed);
    case FORGE_GT:
        return is_less(b, a, is_signed);
    case FORGE_GE:
        return !is_less(a, b, is_signed);
    case FORGE_BINARY_KINDS:
        break;
    }
    return 0;
}

/* --- tiles ---------------------------------------------------------------------------------------------- */

static void binary_numbers(forge_binary_kind kind, const struct walk *a, const struct walk *b,
                           const struct view *out, struct tile tile)
{
    double left[TILE], right[TILE];
    walk_load(a, tile.first, tile.count, left);
    walk_load(b, tile.first, tile.count, right);
    for (size_t i = 0; i < tile.count; i++)
        left[i] = binary_number(kind, left[i], right[i]);
    dtype_row(out->dtype)->store(out->data, tile.first, tile.count, left);
}

static void binary_integers(forge_binary_kind kind, const struct walk *a, const struct walk *b,
                            const struct view *out, struct tile tile)
{
    uint64_t left[TILE], right[TILE];
    walk_load_bits(a, tile.first, tile.count, left);
    walk_load_bits(b, tile.first, tile.count, right);
    for (size_t i = 0; i < tile.count; i++)
        left[i] = binary_bits(kind, left[i], right[i], a->dtype->kind == DTYPE_SIGNED);
    dtype_row(out->dtype)->store_bits(out->data, tile.first, tile.count, left);
}

/* Inputs: a and b, broadcast to the shape of the output. */
void reference_binary(const struct launch *launch, size_t first, size_t end)
{
    const struct kind_attributes *attributes = launch->attributes;
    const struct view *out = &launch->outputs[0];
    struct walk a = walk_of(&launch->inputs[0], &out->shape), b = walk_of(&launch->inputs[1], &out->shape);
    bool is_float = a.dtype->kind == DTYPE_FLOAT;
    for (struct tile tile = tile_of_rows(launch, first, end); tile.count; tile = tile_next(tile))
        (is_float ? binary_numbers : binary_integers)((forge_binary_kind)attributes->kind, &a, &b, out, tile);
}

/* Inputs: condition, a and b, broadcast to the shape of the output. Copies elements as bytes, because a
 * conversion to double could change a NaN. */
void reference_select(const struct launch *launch, size_t first, size_t end)
{
    const struct view *out = &launch->outputs[0];
    struct walk condition = walk_of(&launch->inputs[0], &out->shape);
    struct walk a = walk_of(&launch->inputs[1], &out->shape), b = walk_of(&launch->inputs[2], &out->shape);
    size_t size_bytes = a.dtype->block_bytes;
    for (struct tile tile = tile_of_rows(launch, first, end); tile.count; tile = tile_next(tile)) {
        uint64_t is_a[TILE];
        char chosen[TILE_BYTES], other[TILE_BYTES];
        walk_load_bits(&condition, tile.first, tile.count, is_a);
        walk_copy(&a, tile.first, tile.count, chosen);
        walk_copy(&b, tile.first, tile.count, other);
        for (size_t i = 0; i < tile.count; i++)
            if (!is_a[i])
                memcpy(chosen + i * size_bytes, other + i * size_bytes, size_bytes);
        memcpy((char *)out->data + tile.first * size_bytes, chosen, tile.count * size_bytes);
    }
}
