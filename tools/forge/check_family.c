/* tools/forge/check_family.c - makes cases of the operations in ir/ops.def; see check_maker.h.
 *
 * Note: each make_ function draws shapes first and then adds arguments. The function `argument` chooses the
 * layout of an argument in memory.
 */
#include <string.h>
#include "check_maker.h"

/* Returns a random shape of rank min_rank to 3; in CASE_TIME always [2048, 2048]. */
static forge_shape any_shape(struct maker *m, uint32_t min_rank)
{
    if (m->purpose == CASE_TIME)
        return forge_shape_of(2048, 2048);
    forge_shape shape = {.rank = min_rank + maker_below(m, 4 - min_rank)};
    for (uint32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = maker_size(m, i + 1 == shape.rank ? 70 : 6, 1);
    return shape;
}

/* --- arguments ------------------------------------------------------------------------------------------ */

/* Adds an input and returns a transposed view of it that has the given shape. */
static forge_value transposed(struct maker *m, forge_dtype dtype, forge_shape shape, double low, double high)
{
    uint32_t order[FORGE_MAX_RANK], first = 1 + maker_below(m, shape.rank);
    forge_shape from = shape;
    for (uint32_t i = 0; i < shape.rank; i++) {
        order[i] = (i + first) % shape.rank;
        from.dims[order[i]] = shape.dims[i];
    }
    return forge_transpose(m->b, maker_input(m, dtype, from, low, high), order);
}

/* Returns an argument of the given shape: a new input, or in CASE_VALUE often a view of a new input
 * (transposed, sliced, flipped or broadcast). */
static forge_value argument(struct maker *m, forge_dtype dtype, forge_shape shape, double low, double high)
{
    uint32_t axis = shape.rank ? maker_below(m, shape.rank) : 0;
    forge_shape other = shape;
    if (m->purpose != CASE_VALUE || shape.rank == 0 || maker_below(m, 2))
        return maker_input(m, dtype, shape, low, high);
    switch (maker_below(m, 4)) {
    case 0:
        return transposed(m, dtype, shape, low, high);
    case 1:
        other.dims[axis] += 3;
        return forge_slice_along(m->b, maker_input(m, dtype, other, low, high), axis, 1,
                                 shape.dims[axis] + 1);
    case 2:
        return forge_flip(m->b, maker_input(m, dtype, shape, low, high), 1u << axis);
    default:
        other.dims[axis] = 1;
        return forge_broadcast(m->b, maker_input(m, dtype, other, low, high), shape);
    }
}

static forge_value floats(struct maker *m, forge_shape shape)
{
    return argument(m, m->dtype, shape, -1, 1);
}

/* --- makers --------------------------------------------------------------------------------------------- */

static forge_value make_iota(struct maker *m)
{
    forge_shape shape = any_shape(m, 1);
    return m->purpose == CASE_GRAD ? FORGE_NO_VALUE
                                   : forge_iota(m->b, maker_below(m, 2) ? m->dtype : FORGE_I64, shape,
                                                maker_below(m, shape.rank));
}

static forge_value make_unary(struct maker *m)
{
    forge_unary_kind kind =
        m->purpose == CASE_TIME ? FORGE_EXP : (forge_unary_kind)maker_below(m, FORGE_UNARY_KINDS);
    bool has_pole = kind == FORGE_LOG || kind == FORGE_SQRT || kind == FORGE_RSQRT ||
                    kind == FORGE_RECIPROCAL || kind == FORGE_LOG1P;
    forge_shape shape = any_shape(m, 0);
    if (kind == FORGE_NOT)
        return m->purpose == CASE_GRAD ? FORGE_NO_VALUE
                                       : forge_unary(m->b, kind, argument(m, FORGE_BOOL, shape, 0, 2));
    if (kind == FORGE_IS_NAN && m->purpose == CASE_GRAD)
        return FORGE_NO_VALUE;
    return forge_unary(
        m->b, kind, has_pole ? argument(m, m->dtype, shape, 0.25, 4) : argument(m, m->dtype, shape, -4, 4));
}

static forge_value make_binary(struct maker *m)
{
    uint32_t kinds = m->purpose == CASE_GRAD ? FORGE_MIN + 1 : FORGE_BINARY_KINDS;
    forge_binary_kind kind = m->purpose == CASE_TIME ? FORGE_ADD : (forge_binary_kind)maker_below(m, kinds);
    forge_shape shape = any_shape(m, 0), other = shape;
    if (kind == FORGE_AND || kind == FORGE_OR || kind == FORGE_XOR)
        return forge_binary(m->b, kind, argument(m, FORGE_I32, shape, -9, 9),
                            argument(m, FORGE_I32, shape, -9, 9));
    if (kind == FORGE_POW || kind == FORGE_DIV || kind == FORGE_MOD)
        return forge_binary(m->b, kind, argument(m, m->dtype, shape, 0.5, 2),
                            argument(m, m->dtype, shape, 0.5, 2));
    if (shape.rank && maker_below(m, 3) == 0) /* broadcast by the operation */
        other.dims[maker_below(m, shape.rank)] = 1;
    return forge_binary(m->b, kind, floats(m, shape), floats(m, other));
}

static forge_value make_select(struct maker *m)
{
    forge_shape shape = any_shape(m, 0);
    return forge_select(m->b, argument(m, FORGE_BOOL, shape, 0, 2), floats(m, shape), floats(m, shape));
}

static forge_value make_cast(struct maker *m)
{
    static const forge_dtype to[] = {FORGE_F32, FORGE_F64, FORGE_F16, FORGE_BF16, FORGE_I32, FORGE_U8};
    static const forge_dtype from[] = {FORGE_F32, FORGE_F64, FORGE_F16, FORGE_BF16,
                                       FORGE_I32, FORGE_U8,  FORGE_BOOL};
    forge_shape shape = any_shape(m, 0);
    if (m->purpose == CASE_GRAD)
        return FORGE_NO_VALUE; /* a cast to f32 and back would round away the small steps of finite
                                * differences */
    if (m->purpose == CASE_TIME)
        return forge_cast(m->b, FORGE_F32, argument(m, FORGE_U8, shape, 0, 256));
    forge_dtype dtype = from[maker_below(m, 7)];
    return forge_cast(m->b, to[maker_below(m, 6)],
                      argument(m, dtype, shape, 0, dtype == FORGE_BOOL ? 2 : 100));
}

static forge_value make_reduce(struct maker *m)
{
    uint32_t kinds = m->purpose == CASE_GRAD ? FORGE_PRODUCT + 1 : FORGE_REDUCE_KINDS;
    forge_reduce_kind kind = m->purpose == CASE_TIME ? FORGE_SUM : (forge_reduce_kind)maker_below(m, kinds);
    forge_shape shape = any_shape(m, 1);
    uint32_t axes = m->purpose == CASE_TIME ? 2 : 1 + maker_below(m, (1u << shape.rank) - 1);
    if (kind == FORGE_ARGMAX)
        axes = 1u << maker_below(m, shape.rank);
    return forge_reduce(m->b, kind, floats(m, shape), axes, maker_below(m, 2));
}

static forge_value make_matmul(struct maker *m)
{
    int64_t rows = maker_size(m, 40, 1024), inner = maker_size(m, 150, 1024),
            columns = maker_size(m, 70, 1024);
    uint32_t flags = m->purpose == CASE_TIME ? 0 : maker_below(m, 4);
    forge_shape a = forge_shape_of(rows, inner), b = forge_shape_of(inner, columns);
    if (flags & FORGE_TRANSPOSE_A)
        a = forge_shape_of(inner, rows);
    if (flags & FORGE_TRANSPOSE_B)
        b = forge_shape_of(columns, inner);
    if (m->purpose != CASE_TIME && maker_below(m, 4) == 0) {
        int64_t batch = 1 + maker_below(m, 3);
        a = forge_shape_of(batch, a.dims[0], a.dims[1]);
    }
    forge_value left = floats(m, a);
    return forge_matmul(m->b, left, floats(m, b), flags);
}

static forge_value make_reshape(struct maker *m)
{
    forge_shape shape = any_shape(m, 0);
    forge_shape flat = forge_shape_of((int64_t)forge_shape_elements(&shape));
    return forge_reshape(m->b, floats(m, shape), flat);
}

static forge_value make_broadcast(struct maker *m)
{
    forge_shape shape = any_shape(m, 0), wide = {.rank = shape.rank + 1, .dims = {1 + maker_below(m, 3)}};
    memcpy(wide.dims + 1, shape.dims, shape.rank * sizeof *shape.dims);
    return forge_broadcast(m->b, floats(m, shape), wide);
}

static forge_value make_transpose(struct maker *m)
{
    forge_shape shape = any_shape(m, 1);
    uint32_t order[FORGE_MAX_RANK], first = 1 + maker_below(m, shape.rank);
    for (uint32_t i = 0; i < shape.rank; i++)
        order[i] = (i + first) % shape.rank;
    if (m->purpose == CASE_TIME)
        memcpy(order, (uint32_t[]){1, 0}, 2 * sizeof *order);
    return forge_transpose(m->b, floats(m, shape), order);
}

static forge_value make_concat(struct maker *m)
{
    forge_shape shape = any_shape(m, 1), other = shape;
    uint32_t axis = maker_below(m, shape.rank);
    other.dims[axis] = maker_size(m, 9, 2048);
    forge_value first = floats(m, shape);
    return forge_concat(m->b, (forge_value[]){first, floats(m, other)}, 2, axis);
}

static forge_value make_slice(struct maker *m)
{
    forge_shape shape = any_shape(m, 1);
    uint32_t axis = maker_below(m, shape.rank);
    forge_dim start[FORGE_MAX_RANK] = {0}, limit[FORGE_MAX_RANK];
    int64_t step[FORGE_MAX_RANK];
    for (uint32_t i = 0; i < shape.rank; i++) {
        step[i] = 1;
        limit[i] = shape.dims[i];
    }
    start[axis] = maker_below(m, (uint32_t)shape.dims[axis]);
    step[axis] = (maker_below(m, 2) ? 1 : -1) * (1 + (int64_t)maker_below(m, 2));
    return forge_slice(m->b, floats(m, shape), start, limit, step);
}

static forge_value make_pad(struct maker *m)
{
    forge_shape shape = any_shape(m, 1);
    int64_t low[FORGE_MAX_RANK], high[FORGE_MAX_RANK];
    for (uint32_t i = 0; i < shape.rank; i++) {
        low[i] = maker_below(m, 3);
        high[i] = maker_below(m, 3);
    }
    return forge_pad(m->b, floats(m, shape), low, high, 0.5 * maker_below(m, 3));
}

static forge_shape image(struct maker *m, int64_t channels)
{
    int64_t n = maker_size(m, 3, 16), rows = 5 + maker_size(m, 12, 51), columns = 5 + maker_size(m, 20, 51);
    return forge_shape_of(n, channels, rows, columns);
}

static forge_value make_conv(struct maker *m)
{
    uint32_t groups = m->purpose == CASE_TIME ? 1 : 1 + maker_below(m, 3);
    int64_t in = maker_size(m, 9, 32) * groups, out = maker_size(m, 9, 64) * groups,
            kernel = maker_size(m, 3, 3);
    forge_conv_options o = {.struct_size = sizeof o, .groups = groups};
    for (int i = 0; i < 2 && m->purpose != CASE_TIME; i++) {
        o.stride[i] = 1 + maker_below(m, 2);
        o.dilation[i] = 1 + maker_below(m, 2);
        o.padding_before[i] = maker_below(m, (uint32_t)kernel);
        o.padding_after[i] = maker_below(m, (uint32_t)kernel);
    }
    o.is_transposed = m->purpose != CASE_TIME && maker_below(m, 4) == 0;
    forge_shape weight = forge_shape_of(out, in / groups, kernel, kernel);
    if (o.is_transposed)
        weight = forge_shape_of(in, out / groups, kernel, kernel);
    forge_value x = floats(m, image(m, in));
    return forge_conv(m->b, x, floats(m, weight), &o);
}

static forge_window any_window(struct maker *m)
{
    uint32_t span = 1 + maker_below(m, 3);
    return m->purpose == CASE_TIME ? (forge_window){.size = 2, .stride = 2}
                                   : (forge_window){.size = span,
                                                    .stride = 1 + maker_below(m, 3),
                                                    .before = maker_below(m, span)};
}

static forge_value make_window(struct maker *m)
{
    static const forge_reduce_kind kinds[] = {FORGE_MAXIMUM, FORGE_MINIMUM, FORGE_SUM, FORGE_MEAN};
    forge_window windows[2] = {any_window(m), any_window(m)};
    forge_reduce_kind kind = kinds[m->purpose == CASE_TIME ? 0 : maker_below(m, 4)];
    return forge_window_reduce(m->b, kind, floats(m, image(m, maker_size(m, 4, 32))), 12, windows,
                               kind == FORGE_MEAN && maker_below(m, 2));
}

static forge_value make_unfold(struct maker *m)
{
    forge_window windows[2] = {any_window(m), any_window(m)};
    return forge_unfold(m->b, floats(m, image(m, maker_size(m, 4, 32))), 12, windows,
                        0.5 * maker_below(m, 2));
}

static forge_value make_fold(struct maker *m)
{
    forge_window windows[2] = {any_window(m), any_window(m)};
    forge_shape whole = image(m, maker_size(m, 4, 32)), parts = whole;
    for (uint32_t i = 0; i < 2; i++) {
        const forge_window *w = &windows[i];
        int64_t last_start = whole.dims[2 + i] + w->before + w->after - (int64_t)w->size;
        parts.dims[2 + i] = last_start / (int64_t)(w->stride ? w->stride : w->size) + 1;
        parts.dims[4 + i] = w->size;
    }
    parts.rank = 6;
    return forge_fold(m->b, floats(m, parts), whole, 12, windows);
}

static forge_value make_share(struct maker *m)
{
    forge_window windows[2] = {any_window(m), any_window(m)};
    forge_value x = floats(m, image(m, maker_size(m, 4, 32)));
    forge_value y = forge_window_reduce(m->b, FORGE_MAXIMUM, x, 12, windows, false);
    return m->purpose == CASE_GRAD
               ? FORGE_NO_VALUE /* no gradient can be checked, because a step of x would also change its
                                 * maximum y */
               : forge_share(m->b, x, y, floats(m, forge_value_shape(m->b, y)), 12, windows);
}

static forge_value make_random(struct maker *m)
{
    forge_shape shape = any_shape(m, 1), one = {0};
    if (m->purpose == CASE_GRAD)
        return FORGE_NO_VALUE;
    forge_value key = maker_input(m, FORGE_U64, one, 0, 1000), step = maker_input(m, FORGE_U32, one, 0, 9);
    return forge_random_numbers(m->b, (forge_random_kind)maker_below(m, FORGE_RANDOM_KINDS), shape, key, step,
                                3);
}

static forge_value make_gather(struct maker *m)
{
    forge_shape shape = any_shape(m, 1);
    uint32_t axis = maker_below(m, shape.rank);
    forge_value x = floats(m, shape);
    double max = (double)shape.dims[axis];
    return forge_gather(m->b, x, argument(m, FORGE_I64, forge_shape_of(maker_size(m, 9, 2048)), -max, max),
                        axis);
}

static forge_value make_scatter(struct maker *m)
{
    forge_shape shape = any_shape(m, 1), updates = shape;
    uint32_t axis = maker_below(m, shape.rank);
    forge_scatter_kind kind = m->purpose == CASE_VALUE
                                  ? (forge_scatter_kind)maker_below(m, FORGE_SCATTER_KINDS)
                                  : FORGE_SCATTER_ADD;
    double max = (double)shape.dims[axis];
    updates.dims[axis] = maker_size(m, 9, 2048);
    forge_value x = floats(m, shape);
    forge_value where = argument(m, FORGE_I64, forge_shape_of(updates.dims[axis]), -max, max);
    return forge_scatter(m->b, x, where, floats(m, updates), axis, kind);
}

static forge_value make_scan(struct maker *m)
{
    static const forge_reduce_kind kinds[] = {FORGE_SUM, FORGE_PRODUCT, FORGE_MAXIMUM, FORGE_MINIMUM};
    forge_shape shape = any_shape(m, 1);
    bool is_timed = m->purpose == CASE_TIME;
    uint32_t axis = is_timed ? 1 : maker_below(m, shape.rank);
    uint32_t flags = m->purpose == CASE_VALUE ? maker_below(m, 4) : 0;
    return forge_scan(m->b, kinds[is_timed ? 0 : maker_below(m, 4)], floats(m, shape), axis, flags);
}

static forge_value make_sort(struct maker *m)
{
    forge_shape shape = m->purpose == CASE_TIME ? forge_shape_of(64, 1024) : any_shape(m, 1);
    uint32_t axis = maker_below(m, shape.rank);
    forge_value where, y = forge_sort(m->b, floats(m, shape), axis, maker_below(m, 2), &where);
    return m->purpose == CASE_VALUE && maker_below(m, 2) ? where : y;
}

static forge_value make_transfer(struct maker *m)
{
    return forge_transfer(m->b, floats(m, any_shape(m, 0)), "elsewhere");
}

/* Makes a stop_gradient. For finite differences a stop_gradient is the identity. So in CASE_GRAD its argument
 * is an integer input, whose gradient is not checked. */
static forge_value make_stop_gradient(struct maker *m)
{
    forge_shape shape = any_shape(m, 0);
    if (m->purpose != CASE_GRAD)
        return forge_stop_gradient(m->b, floats(m, shape));
    forge_value constant = forge_cast(m->b, m->dtype, argument(m, FORGE_I64, shape, -3, 3));
    return forge_mul(m->b, floats(m, shape), forge_stop_gradient(m->b, constant));
}

static forge_value make_collective(struct maker *m)
{
    forge_collective_kind kind = (forge_collective_kind)maker_below(m, FORGE_COLLECTIVE_KINDS);
    return forge_collective(m->b, kind, &(forge_group){"alone", 1}, floats(m, any_shape(m, 1)), 0);
}

static forge_value (*const makers[OP_COUNT])(struct maker *) = {
#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) [OP_##NAME] = make_##name,
#include "forge/ir/ops.def"
};

bool family_exists(enum op op)
{
    return makers[op];
}

forge_value family_make(struct maker *m, enum op op)
{
    return makers[op] ? makers[op](m) : FORGE_NO_VALUE;
}
