/* reference/reference_unary.c - operations on one element (floats, integers or bool).
 *
 * Note: if the formula in <forge/unary.def> loses digits or overflows, an equivalent formula is used here.
 * For infinities, the result is still that of the formula in unary.def. For example, x * sigmoid(x) of minus
 * infinity is NaN.
 */
#include "forge/reference/reference.h"
#include "forge/reference/reference_walk.h"

#include <math.h>

static double sigmoid(double x)
{
    double e = exp(-fabs(x)); /* exp(-x) could overflow */
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

static double sign(double x)
{
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* Uses 1 + tanh(y) = 2 sigmoid(2 y), which avoids cancellation. */
static double gelu_tanh(double x)
{
    double y = M_SQRT1_2 * M_2_SQRTPI * (x + 0.044715 * x * x * x);
    return x * sigmoid(2 * y);
}

static double unary_number(forge_unary_kind kind, double x)
{
    switch (kind) {
    case FORGE_NEG:
        return -x;
    case FORGE_ABS:
        return fabs(x);
    case FORGE_SIGN:
        return sign(x);
    case FORGE_RECIPROCAL:
        return 1 / x;
    case FORGE_SQUARE:
        return x * x;
    case FORGE_SQRT:
        return sqrt(x);
    case FORGE_RSQRT:
        return 1 / sqrt(x);
    case FORGE_EXP:
        return exp(x);
    case FORGE_EXPM1:
        return expm1(x);
    case FORGE_LOG:
        return log(x);
    case FORGE_LOG1P:
        return log1p(x);
    case FORGE_SIN:
        return sin(x);
    case FORGE_COS:
        return cos(x);
    case FORGE_ERF:
        return erf(x);
    case FORGE_FLOOR:
        return floor(x);
    case FORGE_CEIL:
        return ceil(x);
    case FORGE_ROUND:
        return nearbyint(x);
    case FORGE_RELU:
        return x <= 0 ? 0 : x; /* NaN stays NaN */
    case FORGE_SIGMOID:
        return sigmoid(x);
    case FORGE_TANH:
        return tanh(x);
    case FORGE_SOFTPLUS:
        return softplus(x);
    case FORGE_SILU:
        return x * sigmoid(x);
    case FORGE_GELU:
        return x * erfc(-x * M_SQRT1_2) / 2;
    case FORGE_GELU_TANH:
        return gelu_tanh(x);
    case FORGE_IS_NAN:
        return isnan(x) != 0;
    case FORGE_NOT:
    case FORGE_UNARY_KINDS:
        break;
    }
    return NAN;
}

static uint64_t unary_bits(forge_unary_kind kind, uint64_t x, bool is_signed)
{
    bool is_negative = is_signed && x >> 63;
    switch (kind) {
    case FORGE_NEG:
        return -x;
    case FORGE_ABS:
        return is_negative ? -x : x;
    case FORGE_SIGN:
        return is_negative ? UINT64_MAX : x != 0;
    case FORGE_SQUARE:
        return x * x;
    case FORGE_RELU:
        return is_negative ? 0 : x;
    case FORGE_NOT:
        return !x;
    default:
        return 0; /* the kind is for floats only */
    }
}

static void unary_numbers(forge_unary_kind kind, const struct walk *x, const struct view *out,
                          struct tile tile)
{
    double values[TILE];
    walk_load(x, tile.first, tile.count, values);
    for (size_t i = 0; i < tile.count; i++)
        values[i] = unary_number(kind, values[i]);
    dtype_row(out->dtype)->store(out->data, tile.first, tile.count, values);
}

static void unary_integers(forge_unary_kind kind, const struct walk *x, const struct view *out,
                           struct tile tile)
{
    uint64_t values[TILE];
    walk_load_bits(x, tile.first, tile.count, values);
    for (size_t i = 0; i < tile.count; i++)
        values[i] = unary_bits(kind, values[i], x->dtype->kind == DTYPE_SIGNED);
    dtype_row(out->dtype)->store_bits(out->data, tile.first, tile.count, values);
}

/* x and the output have the same shape. */
void reference_unary(const struct launch *launch, size_t first, size_t end)
{
    const struct kind_attributes *attributes = launch->attributes;
    const struct view *out = &launch->outputs[0];
    struct walk x = walk_of(&launch->inputs[0], &out->shape);
    bool is_float = x.dtype->kind == DTYPE_FLOAT;
    for (struct tile tile = tile_of_rows(launch, first, end); tile.count; tile = tile_next(tile))
        (is_float ? unary_numbers : unary_integers)((forge_unary_kind)attributes->kind, &x, out, tile);
}
