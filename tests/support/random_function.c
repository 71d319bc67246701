/* support/random_function.c - see random_function.h.
 *
 * Note: values have rank 3 at most and a standard deviation near 1. Results that could grow pass through a
 * bounded function. A maker is a function that adds one random operation. If a maker cannot use its random
 * values, it returns FORGE_NO_VALUE before it calls the builder. */
#include "support/random_function.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/infer.h"
#include "support/directional.h"

enum { MAX_VALUES = 64, VARIABLES = 4 };

struct maker {
    forge_builder *b;
    uint64_t state;
    forge_value values[MAX_VALUES];
    size_t count;
};

/* SplitMix64 (Steele, Lea, Flood). */
static uint32_t below(struct maker *m, uint32_t limit)
{
    uint64_t z = m->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ z >> 31) >> 32) % limit;
}

/* Returns one of the values so far. Recent values are preferred, so that functions become deep. */
static forge_value any_value(struct maker *m)
{
    uint32_t a = below(m, (uint32_t)m->count), b = below(m, (uint32_t)m->count);
    return m->values[a > b ? a : b];
}

static forge_shape shape_of(struct maker *m, forge_value x)
{
    return forge_value_shape(m->b, x);
}

static forge_value number(struct maker *m, double value)
{
    return forge_scalar(m->b, FORGE_F64, value);
}

static forge_value bounded(struct maker *m, forge_value x)
{
    return forge_unary(m->b, below(m, 2) ? FORGE_TANH : FORGE_SIN, x);
}

/* Returns a function of `x` whose values are at least 0.5. */
static forge_value positive(struct maker *m, forge_value x)
{
    return forge_add(m->b, forge_unary(m->b, FORGE_SQUARE, x), number(m, 0.5));
}

static forge_value indices(struct maker *m, forge_shape shape, forge_dim limit)
{
    forge_value i = forge_reshape(
        m->b, forge_iota(m->b, FORGE_I64, forge_shape_of((forge_dim)forge_shape_elements(&shape)), 0), shape);
    i = forge_add(m->b, forge_mul(m->b, i, forge_scalar(m->b, FORGE_I64, 1 + below(m, 5))),
                  forge_scalar(m->b, FORGE_I64, below(m, 4)));
    return forge_binary(m->b, FORGE_MOD, i, forge_scalar(m->b, FORGE_I64, (double)limit));
}

/* --- makers --------------------------------------------------------------------------------------------- */

static forge_value make_unary(struct maker *m)
{
    static const forge_unary_kind domains[] = {FORGE_RECIPROCAL, FORGE_SQRT, FORGE_RSQRT, FORGE_LOG,
                                               FORGE_LOG1P};
    static const forge_unary_kind tame[] = {FORGE_NEG,      FORGE_ABS,  FORGE_SIN,  FORGE_COS,
                                            FORGE_ERF,      FORGE_RELU, FORGE_TANH, FORGE_SIGMOID,
                                            FORGE_SOFTPLUS, FORGE_SILU, FORGE_GELU, FORGE_GELU_TANH};
    static const forge_unary_kind steep[] = {FORGE_EXP, FORGE_EXPM1, FORGE_SQUARE};
    forge_value x = any_value(m);
    switch (below(m, 4)) {
    case 0:
        return forge_unary(m->b, domains[below(m, 5)], positive(m, x));
    case 1:
        return bounded(m, forge_unary(m->b, steep[below(m, 3)], bounded(m, x)));
    default:
        return forge_unary(m->b, tame[below(m, 12)], x);
    }
}

static bool go_together(struct maker *m, forge_value a, forge_value b)
{
    forge_shape of_a = shape_of(m, a), of_b = shape_of(m, b), shape;
    return shapes_broadcast(&of_a, &of_b, &shape);
}

static forge_value make_binary(struct maker *m)
{
    forge_value x = any_value(m), y = any_value(m);
    if (!go_together(m, x, y))
        return FORGE_NO_VALUE;
    switch (below(m, 8)) {
    case 0:
        return forge_sub(m->b, x, y);
    case 1:
        return bounded(m, forge_mul(m->b, x, y));
    case 2:
        return bounded(m, forge_div(m->b, x, positive(m, y)));
    case 3:
        return bounded(m, forge_binary(m->b, FORGE_POW, positive(m, x), bounded(m, y)));
    case 4:
        return forge_binary(m->b, FORGE_MAX, x, y);
    case 5:
        return forge_binary(m->b, FORGE_MIN, x, y);
    case 6:
        return forge_select(m->b, forge_binary(m->b, FORGE_LT, x, y), forge_neg(m->b, y), bounded(m, x));
    default:
        return forge_add(m->b, x, y);
    }
}

static forge_value make_cast(struct maker *m)
{
    forge_value whole = forge_cast(m->b, FORGE_I32, forge_unary(m->b, FORGE_FLOOR, any_value(m)));
    return bounded(m, forge_cast(m->b, FORGE_F64, whole));
}

static forge_value make_reduce(struct maker *m)
{
    static const forge_reduce_kind kinds[] = {FORGE_SUM, FORGE_MEAN, FORGE_MAXIMUM, FORGE_MINIMUM,
                                              FORGE_PRODUCT};
    forge_value x = any_value(m);
    uint32_t rank = shape_of(m, x).rank;
    if (rank == 0)
        return FORGE_NO_VALUE;
    forge_value y = forge_reduce(m->b, kinds[below(m, 5)], x, 1 + below(m, (1u << rank) - 1), below(m, 2));
    return bounded(m, y);
}

static forge_value make_matmul(struct maker *m)
{
    forge_value x = any_value(m);
    if (shape_of(m, x).rank < 2)
        return FORGE_NO_VALUE;
    return bounded(m, forge_matmul(m->b, x, forge_unary(m->b, FORGE_COS, x),
                                   below(m, 2) ? FORGE_TRANSPOSE_A : FORGE_TRANSPOSE_B));
}

static forge_value make_move(struct maker *m)
{
    forge_value x = any_value(m);
    forge_shape shape = shape_of(m, x), flat = forge_shape_of((forge_dim)forge_shape_elements(&shape));
    uint32_t axis = shape.rank ? below(m, shape.rank) : 0, order[FORGE_MAX_RANK];
    int64_t low[FORGE_MAX_RANK], high[FORGE_MAX_RANK];
    for (uint32_t i = 0; i < shape.rank; i++) {
        order[i] = (i + axis) % shape.rank;
        low[i] = below(m, 2);
        high[i] = below(m, 2);
    }
    switch (shape.rank ? below(m, 7) : 0) {
    case 0:
        return forge_reshape(m->b, x, flat);
    case 1:
        return forge_transpose(m->b, x, order);
    case 2:
        return forge_concat(m->b, (forge_value[]){x, forge_neg(m->b, x), x}, 2 + below(m, 2), axis);
    case 3:
        return forge_flip(m->b, x, 1u << axis);
    case 4:
        return forge_pad(m->b, x, low, high, 0.5);
    case 5:
        return forge_broadcast(
            m->b, x,
            (forge_shape){.rank = shape.rank + 1, .dims = {2, shape.dims[0], shape.dims[1], shape.dims[2]}});
    default:
        return shape.dims[axis] > 1 ? forge_slice_along(m->b, x, axis, below(m, 2), shape.dims[axis])
                                    : FORGE_NO_VALUE;
    }
}

static forge_value make_gather(struct maker *m)
{
    forge_value x = any_value(m);
    forge_shape shape = shape_of(m, x);
    if (shape.rank == 0)
        return FORGE_NO_VALUE;
    uint32_t axis = below(m, shape.rank);
    if (below(m, 2))
        return forge_gather(m->b, x, indices(m, forge_shape_of(3), shape.dims[axis]), axis);
    return forge_gather_along(m->b, x, indices(m, shape, shape.dims[axis]), axis);
}

/* Several updates may have the same target element, and some target elements have no update. */
static forge_value make_scatter(struct maker *m)
{
    forge_value x = any_value(m);
    forge_shape shape = shape_of(m, x);
    if (shape.rank == 0)
        return FORGE_NO_VALUE;
    uint32_t axis = below(m, shape.rank);
    forge_scatter_kind kind = (forge_scatter_kind)below(m, FORGE_SCATTER_KINDS);
    forge_value updates = forge_unary(m->b, FORGE_COS, x);
    if (below(m, 2))
        return forge_scatter_along(m->b, x, indices(m, shape, shape.dims[axis] + 1), updates, axis, kind);
    return forge_scatter(m->b, x, indices(m, forge_shape_of(shape.dims[axis]), shape.dims[axis] + 1), updates,
                         axis, kind);
}

static forge_value make_scan(struct maker *m)
{
    static const forge_reduce_kind kinds[] = {FORGE_SUM, FORGE_PRODUCT, FORGE_MAXIMUM, FORGE_MINIMUM};
    forge_value x = any_value(m);
    uint32_t rank = shape_of(m, x).rank, kind = below(m, 4), flags = below(m, 4);
    /* the first element of an exclusive minimum or maximum would be infinite */
    if (rank == 0 || (kind > 1 && flags & FORGE_SCAN_EXCLUSIVE))
        return FORGE_NO_VALUE;
    return bounded(m, forge_scan(m->b, kinds[kind], x, below(m, rank), flags));
}

static forge_value make_sort(struct maker *m)
{
    forge_value x = any_value(m), indices;
    uint32_t rank = shape_of(m, x).rank;
    if (rank == 0)
        return FORGE_NO_VALUE;
    uint32_t axis = below(m, rank);
    return below(m, 2) ? forge_sort(m->b, x, axis, below(m, 2), &indices)
                       : forge_top_k(m->b, x, 1, axis, &indices);
}

/* Returns a random value in the shape [images, channels, elements]. A value of rank 2 is used as one image.
 * Returns FORGE_NO_VALUE if the rank is not 2 or 3. */
static forge_value image(struct maker *m)
{
    forge_value x = any_value(m);
    forge_shape shape = shape_of(m, x);
    if (shape.rank == 2)
        return forge_reshape(m->b, x, forge_shape_of(1, shape.dims[0], shape.dims[1]));
    return shape.rank == 3 ? x : FORGE_NO_VALUE;
}

static forge_value make_conv(struct maker *m)
{
    forge_value x = image(m);
    if (!x)
        return FORGE_NO_VALUE;
    forge_dim channels = shape_of(m, x).dims[1];
    bool is_by_channel = below(m, 2), is_transposed = below(m, 2);
    forge_conv_options options = {.struct_size = sizeof options,
                                  .groups = is_by_channel ? (uint32_t)channels : 1,
                                  .stride = {1 + below(m, 2)},
                                  .dilation = {1 + below(m, 2)},
                                  .padding_before = {is_transposed ? 0 : 2},
                                  .is_transposed = is_transposed};
    forge_shape shape =
        is_by_channel ? forge_shape_of(channels, 1, 2) : forge_shape_of(channels, channels, 2);
    forge_value all = forge_reshape(m->b, m->values[0], forge_shape_of(6));
    forge_value weight = forge_gather(m->b, all, indices(m, shape, 6), 0);
    return bounded(m, forge_conv(m->b, x, weight, &options));
}

static forge_value make_window(struct maker *m)
{
    static const forge_window windows[] = {{.size = 2, .stride = 1, .before = 1},
                                           {.size = 1, .stride = 2},
                                           {.size = 2, .dilation = 2, .before = 1, .after = 1}};
    forge_value x = image(m);
    if (!x)
        return FORGE_NO_VALUE;
    const forge_window *window = &windows[below(m, 3)];
    /* a window that contains only padding has no mean */
    uint32_t axes = 1u << (1 + below(m, 2));
    if (shape_of(m, x).dims[axes == 2 ? 1 : 2] < 3)
        return FORGE_NO_VALUE;
    if (below(m, 3))
        return forge_window_reduce(m->b, (forge_reduce_kind)below(m, 4), x, axes, window, false);
    forge_value parts = forge_unfold(m->b, x, axes, window, 0.5);
    return forge_fold(m->b, forge_unary(m->b, FORGE_SIN, parts), shape_of(m, x), axes, window);
}

static forge_value make_random(struct maker *m)
{
    forge_value key = forge_scalar(m->b, FORGE_U64, below(m, 100)), x = any_value(m);
    forge_value u = forge_random_numbers(m->b, FORGE_RANDOM_UNIFORM, shape_of(m, x), key,
                                         forge_scalar(m->b, FORGE_U32, 1), below(m, 9));
    return forge_mul(m->b, x, forge_cast(m->b, FORGE_F64, u));
}

static forge_value saddle(forge_builder *b, const forge_value *inputs, size_t count, const void *context)
{
    (void)count, (void)context;
    return forge_sub(b, forge_mul(b, inputs[0], forge_tanh(b, inputs[0])),
                     forge_mul(b, inputs[1], inputs[1]));
}

static forge_value make_composite(struct maker *m)
{
    forge_value x = any_value(m), y = any_value(m);
    if (shape_of(m, x).rank && below(m, 2))
        return forge_log_softmax(m->b, x);
    return go_together(m, x, y)
               ? bounded(m, forge_composite(m->b, "saddle", (forge_value[]){x, y}, 2, saddle, NULL))
               : FORGE_NO_VALUE;
}

static forge_value make_norm(struct maker *m)
{
    forge_value x = any_value(m);
    uint32_t rank = shape_of(m, x).rank, all = (1u << rank) - 1;
    if (rank == 0)
        return FORGE_NO_VALUE;
    forge_value centred = forge_sub(m->b, x, forge_reduce(m->b, FORGE_MEAN, x, all, true));
    forge_value spread = forge_reduce(m->b, FORGE_MEAN, forge_mul(m->b, centred, centred), all, true);
    return forge_mul(m->b, centred, forge_unary(m->b, FORGE_RSQRT, forge_add(m->b, spread, number(m, 0.1))));
}

static forge_value (*const makers[])(struct maker *) = {
    make_unary,  make_unary,  make_unary,  make_binary, make_binary,    make_binary,  make_cast,
    make_reduce, make_matmul, make_move,   make_move,   make_gather,    make_scatter, make_scan,
    make_sort,   make_conv,   make_window, make_random, make_composite, make_norm,
};

/* --- whole graphs --------------------------------------------------------------------------------------- */

static bool is_small(struct maker *m, forge_value x)
{
    forge_shape shape = shape_of(m, x);
    return shape.rank <= 3 && forge_shape_elements(&shape) <= 64;
}

/* Begins or ends regions of forge_recompute_begin at random. Uses its own random numbers, so that the built
 * function is the same with and without regions. */
static void mark(struct maker *m, struct maker *marks, bool *is_in_region)
{
    if (below(marks, 3))
        return;
    (*is_in_region ? forge_recompute_end : forge_recompute_begin)(m->b);
    *is_in_region = !*is_in_region;
}

/* Returns the sum of all elements of the last few values, each transformed differently. */
static forge_value loss_of(struct maker *m)
{
    forge_value loss = FORGE_NO_VALUE;
    for (size_t i = m->count - 2; i < m->count; i++) {
        forge_value x = bounded(m, forge_add(m->b, m->values[i], number(m, 0.3 * (double)i)));
        uint32_t all = (1u << shape_of(m, x).rank) - 1;
        x = all ? forge_reduce(m->b, FORGE_SUM, x, all, false) : x;
        loss = loss ? forge_add(m->b, loss, x) : x;
    }
    return loss;
}

forge_value random_function(forge_builder *b, const void *context)
{
    static const forge_shape shapes[VARIABLES] = {
        {2, 0, {2, 3}}, {3, 0, {2, 2, 3}}, {1, 0, {3}}, {2, 0, {2, 1}}};
    const struct random_function *f = context;
    struct maker m = {.b = b, .state = f->seed}, marks = {.state = ~f->seed};
    bool is_in_region = false, has_regions = f->flags & RANDOM_FUNCTION_RECOMPUTES;
    for (unsigned i = 0; i < VARIABLES; i++)
        m.values[m.count++] = directional_variable(b, i, shapes[i]);
    for (unsigned tries = 0; tries < 4 * f->nodes && m.count < VARIABLES + f->nodes && m.count < MAX_VALUES;
         tries++) {
        if (has_regions)
            mark(&m, &marks, &is_in_region);
        forge_value value = makers[below(&m, sizeof makers / sizeof *makers)](&m);
        if (value && is_small(&m, value))
            m.values[m.count++] = value;
    }
    if (is_in_region)
        forge_recompute_end(b);
    return loss_of(&m);
}
