/* autodiff/gradient_rules.c - the derivative of each operation, expressed in operations. Derivatives that are
 * one expression are rows of gradient_rules.def.
 *
 * Note: the comment of forge_gradients defines the derivative at points where an operation is not
 * differentiable, such as relu at 0 or max of equal operands. A derivative is computed from the result y if
 * this saves work (exp, tanh), otherwise from the operand x.
 */
#include <math.h>
#include "forge/autodiff/gradient.h"
#include "forge/ir/library.h"

/* Returns `value` as a scalar of x's type. */
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

/* Compares a with c, element by element: returns 1 where the comparison `kind` is true, and 0 elsewhere. The
 * result has the type of `a`. */
static forge_value indicator(forge_builder *b, forge_binary_kind kind, forge_value a, forge_value c)
{
    return forge_cast(b, forge_value_dtype(b, a), forge_binary(b, kind, a, c));
}

/* Sums x over the dimensions along which a value of `shape` was broadcast to x's shape. Returns a value of
 * `shape`. */
static forge_value unbroadcast(forge_builder *b, forge_value x, forge_shape shape)
{
    forge_shape wide = forge_value_shape(b, x);
    uint32_t axes = 0, added = wide.rank - shape.rank;
    for (uint32_t k = 0; k < wide.rank; k++)
        if (k < added || (shape.dims[k - added] == 1 && wide.dims[k] != 1))
            axes |= 1u << k;
    if (axes)
        x = forge_reduce(b, FORGE_SUM, x, axes, true);
    return forge_reshape(b, x, shape);
}

void gradient_add(struct gradient *r, size_t i, forge_value value)
{
    forge_value narrow = unbroadcast(r->b, value, forge_value_shape(r->b, r->inputs[i]));
    r->sums[i] = r->sums[i] ? forge_add(r->b, r->sums[i], narrow) : narrow;
}

/* --- element by element --------------------------------------------------------------------------------- */

static forge_value one_minus(forge_builder *b, forge_value x)
{
    return forge_sub(b, number(b, x, 1), x);
}

static forge_value reciprocal(forge_builder *b, forge_value x)
{
    return forge_unary(b, FORGE_RECIPROCAL, x);
}

/* Returns the derivative of x * s, where s = sigmoid(x). It is s * (1 + x * (1 - s)). */
static forge_value silu_derivative(forge_builder *b, forge_value x)
{
    forge_value s = forge_sigmoid(b, x);
    return forge_mul(b, s, plus(b, forge_mul(b, x, one_minus(b, s)), 1));
}

/* Returns the derivative of x^p with respect to x. */
static forge_value pow_along_base(forge_builder *b, forge_value x, forge_value p)
{
    forge_value zero = number(b, x, 0);
    forge_value lower = forge_mul(b, p, forge_binary(b, FORGE_POW, x, plus(b, p, -1)));
    forge_value is_flat = forge_binary(b, FORGE_EQ, p, zero); /* x^0 is 1 everywhere, also at 0 */
    return forge_select(b, is_flat, zero, lower);
}

/* Returns the derivative of y = x^p with respect to p, which is y * log(x) for x > 0. At x = 0, the
 * derivative is 0 for p >= 0, because 0^p is 0 for all p > 0. At x = 0 and p < 0, it is infinite. */
static forge_value pow_along_exponent(forge_builder *b, forge_value x, forge_value p, forge_value y)
{
    forge_value zero = number(b, x, 0);
    forge_value is_flat =
        forge_binary(b, FORGE_AND, forge_binary(b, FORGE_EQ, x, zero), forge_binary(b, FORGE_GE, p, zero));
    forge_value safe = forge_select(b, is_flat, number(b, x, 1), x);
    return forge_mul(b, y, forge_log(b, safe));
}

/* Returns the gradient of max or min for the operand `own`: g where `own wins other` is true, g / 2 where
 * both operands are equal, and 0 elsewhere. wins: FORGE_GT for max, FORGE_LT for min. */
static forge_value share_of_winner(forge_builder *b, forge_binary_kind wins, forge_value own,
                                   forge_value other, forge_value g)
{
    forge_value tie = times(b, indicator(b, FORGE_EQ, own, other), 0.5);
    return forge_mul(b, g, forge_add(b, indicator(b, wins, own, other), tie));
}

/* Returns floor(x / z), computed as round((x - y) / z) with y = x mod z. Calling floor on x / z is not exact:
 * the division rounds, so the result could be 1 too large. */
static forge_value floored_quotient(forge_builder *b, forge_value x, forge_value z, forge_value y)
{
    return forge_unary(b, FORGE_ROUND, forge_div(b, forge_sub(b, x, y), z));
}

/* Returns dy/dx, or FORGE_NO_VALUE if the kind has no derivative. */
static forge_value derivative(forge_builder *b, forge_unary_kind kind, forge_value x, forge_value y)
{
    switch (kind) {
#define UNARY(KIND, dy_dx)                                                                                   \
    case FORGE_##KIND:                                                                                       \
        return dy_dx;
#include "forge/autodiff/gradient_rules.def"
    default:
        return FORGE_NO_VALUE;
    }
}

/* Adds the gradient of y = relu(x). Uses only y, so that x need not stay in memory until the backward
 * pass. */
static void gradient_of_relu(struct gradient *r)
{
    forge_value zero = number(r->b, r->y, 0);
    gradient_add(r, 0, forge_select(r->b, forge_binary(r->b, FORGE_GT, r->y, zero), r->g, zero));
}

void gradient_unary(struct gradient *r)
{
    uint32_t kind = node_kind(&r->node);
    if (kind == FORGE_GELU || kind == FORGE_GELU_TANH) {
        struct composite_attributes back = {.name = "gelu_back", .numbers = {kind == FORGE_GELU_TANH}};
        gradient_add(r, 0, library_composite(r->b, &back, (forge_value[]){r->g, r->inputs[0]}, 2));
        return;
    }
    if (kind == FORGE_RELU) {
        gradient_of_relu(r);
        return;
    }
    forge_value dy_dx = derivative(r->b, (forge_unary_kind)kind, r->inputs[0], r->y);
    if (dy_dx)
        gradient_add(r, 0, forge_mul(r->b, r->g, dy_dx));
}

void gradient_binary(struct gradient *r)
{
    forge_builder *b = r->b;
    forge_value x = r->inputs[0], z = r->inputs[1], y = r->y, g = r->g;
    switch (node_kind(&r->node)) {
#define BINARY(KIND, along_x, along_z)                                                                       \
    case FORGE_##KIND:                                                                                       \
        gradient_add(r, 0, along_x);                                                                         \
        gradient_add(r, 1, along_z);                                                                         \
        break;
#include "forge/autodiff/gradient_rules.def"
    default:
        break;
    }
}

#define FAMILY(name, along_x)                                                                                \
    void gradient_##name(struct gradient *r)                                                                 \
    {                                                                                                        \
        forge_builder *b = r->b;                                                                             \
        forge_value x = r->inputs[0], g = r->g, gradient = along_x;                                          \
        (void)b, (void)x, (void)g;                                                                           \
        if (gradient)                                                                                        \
            gradient_add(r, 0, gradient);                                                                    \
    }
#include "forge/autodiff/gradient_rules.def"

void gradient_select(struct gradient *r)
{
    forge_value zero = number(r->b, r->g, 0);
    gradient_add(r, 1, forge_select(r->b, r->inputs[0], r->g, zero));
    gradient_add(r, 2, forge_select(r->b, r->inputs[0], zero, r->g));
}

/* --- across elements ------------------------------------------------------------------------------------ */

/* Returns a reduced value with its reduced dimensions restored as dimensions of size 1. */
static forge_value keep_dims(struct gradient *r, forge_value reduced)
{
    const struct reduce_attributes *a = r->node.attributes;
    forge_shape shape = forge_value_shape(r->b, r->inputs[0]);
    for (uint32_t k = 0; k < shape.rank; k++)
        if (a->axes >> k & 1)
            shape.dims[k] = 1;
    return forge_reshape(r->b, reduced, shape);
}

/* Returns the number of elements in each reduction, as a scalar. The sizes may be symbols. */
static forge_value count_reduced(struct gradient *r)
{
    const struct reduce_attributes *a = r->node.attributes;
    forge_value ones =
        forge_broadcast(r->b, number(r->b, r->inputs[0], 1), forge_value_shape(r->b, r->inputs[0]));
    return forge_reduce(r->b, FORGE_SUM, ones, a->axes, true);
}

/* Returns, for each element, the product of all other elements of its reduction. If another element is 0, the
 * result is 0. Otherwise it is the product of all nonzero elements, divided by the element itself unless that
 * is 0. */
static forge_value product_of_others(struct gradient *r)
{
    const struct reduce_attributes *a = r->node.attributes;
    forge_builder *b = r->b;
    forge_value x = r->inputs[0], zero = number(b, x, 0), one = number(b, x, 1);
    forge_value is_zero = forge_binary(b, FORGE_EQ, x, zero), safe = forge_select(b, is_zero, one, x);
    forge_value product = forge_reduce(b, FORGE_PRODUCT, safe, a->axes, true);
    forge_value zeros =
        forge_reduce(b, FORGE_SUM, forge_cast(b, forge_value_dtype(b, x), is_zero), a->axes, true);
    forge_value others = forge_sub(b, zeros, forge_cast(b, forge_value_dtype(b, x), is_zero));
    forge_value are_nonzero = forge_binary(b, FORGE_EQ, others, zero);
    return forge_select(b, are_nonzero, forge_div(b, product, safe), zero);
}

void gradient_reduce(struct gradient *r)
{
    const struct reduce_attributes *a = r->node.attributes;
    forge_builder *b = r->b;
    forge_value g = keep_dims(r, r->g), x = r->inputs[0], is_chosen;
    forge_shape shape = forge_value_shape(b, x);
    switch (a->kind) {
    case FORGE_SUM:
        gradient_add(r, 0, forge_broadcast(b, g, shape));
        break;
    case FORGE_MEAN:
        gradient_add(r, 0, forge_broadcast(b, forge_div(b, g, count_reduced(r)), shape));
        break;
    case FORGE_MAXIMUM:
    case FORGE_MINIMUM:
        is_chosen = indicator(b, FORGE_EQ, x, keep_dims(r, r->y));
        g = forge_div(b, g, forge_reduce(b, FORGE_SUM, is_chosen, a->axes, true));
        gradient_add(r, 0, forge_mul(b, is_chosen, g));
        break;
    case FORGE_PRODUCT:
        gradient_add(r, 0, forge_mul(b, g, product_of_others(r)));
        break;
    default: /* argmax has no derivative */
        break;
    }
}

/* Adds the gradients of the matrix product y = a c. The gradient of a is g c^T, and the gradient of c is a^T
 * g. a: [..., rows, depth]; c: [..., depth, columns]; y, g: [..., rows, columns]. A transpose flag exchanges
 * the last two dimensions of its operand. */
void gradient_matmul(struct gradient *r)
{
    const struct matmul_attributes *m = r->node.attributes;
    bool ta = m->flags & FORGE_TRANSPOSE_A, tb = m->flags & FORGE_TRANSPOSE_B;
    forge_value a = r->inputs[0], c = r->inputs[1], g = r->g;
    if (ta)
        gradient_add(r, 0, forge_matmul(r->b, c, g, (tb ? FORGE_TRANSPOSE_A : 0) | FORGE_TRANSPOSE_B));
    else
        gradient_add(r, 0, forge_matmul(r->b, g, c, tb ? 0 : FORGE_TRANSPOSE_B));
    if (tb)
        gradient_add(r, 1, forge_matmul(r->b, g, a, FORGE_TRANSPOSE_A | (ta ? FORGE_TRANSPOSE_B : 0)));
    else
        gradient_add(r, 1, forge_matmul(r->b, a, g, ta ? 0 : FORGE_TRANSPOSE_A));
}
