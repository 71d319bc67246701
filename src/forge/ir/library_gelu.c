/* ir/library_gelu.c - the gradient of gelu, as a composite.
 *
 * Note: gelu itself is a single operation. Its derivative needs a dozen operations, so a composite lets a
 * device fuse them.
 */
#include <math.h>
#include "forge/ir/library.h"

enum { G, X };

static forge_value number(forge_builder *b, forge_value x, double value)
{
    return forge_scalar(b, forge_value_dtype(b, x), value);
}

static forge_value plus(forge_builder *b, forge_value x, double value)
{
    return forge_add(b, x, number(b, x, value));
}

static forge_value times(forge_builder *b, forge_value x, double value)
{
    return forge_mul(b, x, number(b, x, value));
}

static forge_value square(forge_builder *b, forge_value x)
{
    return forge_unary(b, FORGE_SQUARE, x);
}

/* Returns d gelu / dx = Phi(x) + x * phi(x). Phi is the distribution function, and phi the density, of the
 * standard normal distribution. */
static forge_value gelu_slope(forge_builder *b, forge_value x)
{
    forge_value area = times(b, plus(b, forge_unary(b, FORGE_ERF, times(b, x, M_SQRT1_2)), 1), 0.5);
    forge_value density = times(b, forge_exp(b, times(b, square(b, x), -0.5)), M_2_SQRTPI * M_SQRT1_2 * 0.5);
    return forge_add(b, area, forge_mul(b, x, density));
}

/* Returns dy / dx for y = x * (1 + t) / 2 and t = tanh(scale * (x + cubic * x^3)). */
static forge_value gelu_tanh_slope(forge_builder *b, forge_value x)
{
    const double scale = M_2_SQRTPI * M_SQRT1_2, cubic = 0.044715;
    forge_value x2 = square(b, x);
    forge_value t = forge_tanh(b, times(b, forge_mul(b, x, plus(b, times(b, x2, cubic), 1)), scale));
    forge_value inner = times(b, plus(b, times(b, x2, 3 * cubic), 1), scale);
    forge_value bend = forge_mul(b, forge_mul(b, x, forge_sub(b, number(b, x, 1), square(b, t))), inner);
    return times(b, forge_add(b, plus(b, t, 1), bend), 0.5);
}

/* Builds g * gelu'(x). in: g, which is the gradient of gelu's result, and x; both have the same shape. */
void library_gelu_back(forge_builder *b, const forge_value *in, size_t count, const void *context,
                       forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    out[0] = forge_mul(b, in[G], a->numbers[0] ? gelu_tanh_slope(b, in[X]) : gelu_slope(b, in[X]));
}
