/* support/random_graph.c - see random_graph.h.
 *
 * Note: a maker is a function that adds one operation of random values. If the values do not fit the
 * operation, the maker returns FORGE_NO_VALUE before it calls the builder, because a builder that has refused
 * an operation is no longer usable. */
#include "support/random_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/ir/infer.h"

enum { MAX_VALUES = 256 };

struct maker {
    forge_builder *b;
    uint64_t state;
    unsigned flags;
    forge_value values[MAX_VALUES];
    size_t count;
    forge_slot parameters[4];
    forge_value reads[4];
    forge_dim symbol;
};

/* SplitMix64 (Steele, Lea, Flood). */
static uint64_t next(struct maker *m)
{
    uint64_t z = m->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t below(struct maker *m, uint32_t limit)
{
    return (uint32_t)(next(m) >> 32) % limit;
}

static forge_value any_value(struct maker *m)
{
    return m->values[below(m, (uint32_t)m->count)];
}

static bool is_float(struct maker *m, forge_value x)
{
    return forge_dtype_is_float(forge_value_dtype(m->b, x));
}

static bool is_known(const forge_shape *shape)
{
    return forge_shape_elements(shape) != SIZE_MAX;
}

static forge_shape any_shape(struct maker *m)
{
    forge_shape shape = {.rank = below(m, 4)};
    for (uint32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = 1 + below(m, 3);
    if (m->symbol < 0 && shape.rank && below(m, 3) == 0)
        shape.dims[0] = below(m, 2) ? m->symbol : forge_dim_mul(m->b, m->symbol, 1 + below(m, 3));
    return shape;
}

/* --- makers, one for each family ------------------------------------------------------------------------ */

static forge_value make_constant(struct maker *m)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_F32, FORGE_F64, FORGE_F16,
                                         FORGE_I64, FORGE_U8,  FORGE_BOOL};
    unsigned char bytes[512];
    forge_shape shape = any_shape(m);
    forge_dtype dtype = dtypes[below(m, sizeof dtypes / sizeof *dtypes)];
    forge_tensor tensor;
    forge_buffer *buffer;
    if (!is_known(&shape))
        return FORGE_NO_VALUE;
    /* bytes may have any bits, also those of NaNs, but a bool must be 0 or 1 */
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = dtype == FORGE_BOOL ? below(m, 2) : (unsigned char)next(m);
    assert_int_equal(forge_buffer_wrap(bytes, sizeof bytes, NULL, NULL, &buffer, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_view(buffer, 0, dtype, &shape, &tensor, NULL), JOULE_OK);
    forge_value value = forge_constant(m->b, &tensor);
    forge_buffer_release(buffer);
    return value;
}

static forge_value make_iota(struct maker *m)
{
    forge_shape shape = any_shape(m);
    return shape.rank ? forge_iota(m->b, below(m, 2) ? FORGE_F32 : FORGE_I64, shape, below(m, shape.rank))
                      : FORGE_NO_VALUE;
}

static forge_value make_unary(struct maker *m)
{
    forge_value x = any_value(m);
    forge_unary_kind kind = (forge_unary_kind)below(m, FORGE_UNARY_KINDS);
    if (kind == FORGE_NOT ? forge_value_dtype(m->b, x) != FORGE_BOOL : !is_float(m, x))
        return FORGE_NO_VALUE;
    return forge_unary(m->b, kind, x);
}

static bool go_together(struct maker *m, forge_value a, forge_value b)
{
    forge_shape of_a = forge_value_shape(m->b, a), of_b = forge_value_shape(m->b, b), shape;
    return forge_value_dtype(m->b, a) == forge_value_dtype(m->b, b) && shapes_broadcast(&of_a, &of_b, &shape);
}

static forge_value make_binary(struct maker *m)
{
    forge_value a = any_value(m), b = any_value(m);
    forge_binary_kind kind = (forge_binary_kind)below(m, FORGE_BINARY_KINDS);
    bool is_logical = kind == FORGE_AND || kind == FORGE_OR || kind == FORGE_XOR;
    if (!go_together(m, a, b) || (is_logical ? is_float(m, a) : forge_value_dtype(m->b, a) == FORGE_BOOL))
        return FORGE_NO_VALUE;
    return forge_binary(m->b, kind, a, b);
}

static forge_value make_select(struct maker *m)
{
    forge_value a = any_value(m), b = any_value(m);
    if (!go_together(m, a, b) || forge_value_dtype(m->b, a) == FORGE_BOOL)
        return FORGE_NO_VALUE;
    return forge_select(m->b, forge_binary(m->b, FORGE_LT, a, b), a, b);
}

static forge_value make_cast(struct maker *m)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_F32, FORGE_F64, FORGE_BF16, FORGE_I32};
    return forge_cast(m->b, dtypes[below(m, sizeof dtypes / sizeof *dtypes)], any_value(m));
}

static forge_value make_reduce(struct maker *m)
{
    forge_value x = any_value(m);
    uint32_t rank = forge_value_shape(m->b, x).rank;
    forge_reduce_kind kind = (forge_reduce_kind)below(m, FORGE_REDUCE_KINDS);
    if (!is_float(m, x) || rank == 0)
        return FORGE_NO_VALUE;
    return forge_reduce(m->b, kind, x, kind == FORGE_ARGMAX ? 1u << below(m, rank) : below(m, 1u << rank),
                        below(m, 2));
}

static forge_value make_matmul(struct maker *m)
{
    forge_value a = any_value(m);
    forge_shape shape = forge_value_shape(m->b, a);
    if (shape.rank < 2 || !is_float(m, a))
        return FORGE_NO_VALUE;
    return forge_matmul(m->b, a, a, below(m, 2) ? FORGE_TRANSPOSE_A : FORGE_TRANSPOSE_B);
}

static forge_value make_reshape(struct maker *m)
{
    forge_value x = any_value(m);
    forge_shape shape = forge_value_shape(m->b, x), flat = {.rank = 1, .dims = {1}};
    for (uint32_t i = 0; i < shape.rank; i++)
        flat.dims[0] = forge_dim_mul(m->b, flat.dims[0], shape.dims[i]);
    return forge_reshape(m->b, x, flat);
}

static forge_value make_broadcast(struct maker *m)
{
    forge_value x = any_value(m);
    forge_shape shape = forge_value_shape(m->b, x), wide = {.rank = shape.rank + 1, .dims = {2}};
    if (shape.rank > 3)
        return FORGE_NO_VALUE;
    for (uint32_t i = 0; i < shape.rank; i++)
        wide.dims[i + 1] = shape.dims[i];
    return forge_broadcast(m->b, x, wide);
}

static forge_value make_transpose(struct maker *m)
{
    forge_value x = any_value(m);
    uint32_t rank = forge_value_shape(m->b, x).rank, order[FORGE_MAX_RANK], first = rank ? below(m, rank) : 0;
    for (uint32_t i = 0; i < rank; i++)
        order[i] = (i + first) % rank;
    return forge_transpose(m->b, x, order);
}

static forge_value make_concat(struct maker *m)
{
    forge_value x = any_value(m);
    uint32_t rank = forge_value_shape(m->b, x).rank;
    return rank ? forge_concat(m->b, (forge_value[]){x, x}, 2, below(m, rank)) : FORGE_NO_VALUE;
}

static forge_value make_slice(struct maker *m)
{
    forge_value x = any_value(m);
    forge_shape shape = forge_value_shape(m->b, x);
    if (shape.rank == 0)
        return FORGE_NO_VALUE;
    if (below(m, 2))
        return forge_flip(m->b, x, 1u << below(m, shape.rank));
    uint32_t axis = below(m, shape.rank);
    return shape.dims[axis] > 1 ? forge_slice_along(m->b, x, axis, 1, shape.dims[axis]) : FORGE_NO_VALUE;
}

static forge_value make_pad(struct maker *m)
{
    forge_value x = any_value(m);
    uint32_t rank = forge_value_shape(m->b, x).rank;
    int64_t low[FORGE_MAX_RANK], high[FORGE_MAX_RANK];
    for (uint32_t i = 0; i < rank; i++) {
        low[i] = below(m, 2);
        high[i] = below(m, 2);
    }
    return rank && is_float(m, x) ? forge_pad(m->b, x, low, high, below(m, 2)) : FORGE_NO_VALUE;
}

/* Returns a random value as [n, channels, rows, columns]. */
static forge_value image(struct maker *m)
{
    return forge_reshape(m->b, m->reads[below(m, 4)], forge_shape_of(1, 2, 3, 1));
}

static forge_value make_conv(struct maker *m)
{
    forge_conv_options options = {.struct_size = sizeof options,
                                  .stride = {1 + below(m, 2)},
                                  .padding_before = {below(m, 2), 1},
                                  .is_transposed = below(m, 4) == 0};
    forge_value weight = forge_reshape(m->b, m->reads[below(m, 4)], forge_shape_of(3, 2, 1, 1));
    if (options.is_transposed)
        weight = forge_reshape(m->b, weight, forge_shape_of(2, 3, 1, 1));
    return options.is_transposed && options.padding_before[0] ? FORGE_NO_VALUE
                                                              : forge_conv(m->b, image(m), weight, &options);
}

static const forge_window window = {.size = 2, .stride = 1, .before = 1};

static forge_value make_window(struct maker *m)
{
    forge_value x = image(m);
    return below(m, 2) ? forge_window_reduce(m->b, (forge_reduce_kind)below(m, 3), x, 4, &window, false)
                       : forge_avg_pool(m->b, x, 1, 1 + below(m, 2), 0, below(m, 2));
}

static forge_value make_unfold(struct maker *m)
{
    return forge_unfold(m->b, image(m), 4, &window, below(m, 2) ? 0.5 : 0);
}

static forge_value make_fold(struct maker *m)
{
    return forge_fold(m->b, forge_unfold(m->b, image(m), 4, &window, 0), forge_shape_of(1, 2, 3, 1), 4,
                      &window);
}

static forge_value make_share(struct maker *m)
{
    forge_value x = image(m), y = forge_window_reduce(m->b, FORGE_MAXIMUM, x, 4, &window, false);
    return forge_share(m->b, x, y, forge_exp(m->b, y), 4, &window);
}

static forge_value make_random(struct maker *m)
{
    forge_shape shape = any_shape(m);
    /* The sum depends on a value, because the compiler would fold a constant. */
    forge_value sum = forge_reduce(m->b, FORGE_SUM, m->values[2], 1, false);
    return forge_random_numbers(m->b, (forge_random_kind)below(m, FORGE_RANDOM_KINDS), shape,
                                forge_cast(m->b, FORGE_U64, sum), forge_scalar(m->b, FORGE_U32, 3),
                                below(m, 5));
}

static forge_value make_gather(struct maker *m)
{
    forge_value x = any_value(m);
    return forge_value_shape(m->b, x).rank && is_float(m, x) ? forge_gather(m->b, x, m->values[2], 0)
                                                             : FORGE_NO_VALUE;
}

static forge_value make_scatter(struct maker *m)
{
    forge_value x = m->reads[below(m, 4)];
    return forge_scatter(m->b, x, m->values[2], forge_gather(m->b, x, m->values[2], 0), 0,
                         (forge_scatter_kind)below(m, FORGE_SCATTER_KINDS));
}

static forge_value make_scan(struct maker *m)
{
    static const forge_reduce_kind kinds[] = {FORGE_SUM, FORGE_PRODUCT, FORGE_MAXIMUM, FORGE_MINIMUM};
    forge_value x = any_value(m);
    uint32_t rank = forge_value_shape(m->b, x).rank;
    if (rank == 0 || forge_value_dtype(m->b, x) == FORGE_BOOL)
        return FORGE_NO_VALUE;
    return forge_scan(m->b, kinds[below(m, 4)], x, below(m, rank), below(m, 4));
}

static forge_value make_sort(struct maker *m)
{
    forge_value x = any_value(m), indices;
    uint32_t rank = forge_value_shape(m->b, x).rank;
    if (rank == 0)
        return FORGE_NO_VALUE;
    uint32_t axis = below(m, rank);
    forge_value y = below(m, 2) ? forge_sort(m->b, x, axis, below(m, 2), &indices)
                                : forge_top_k(m->b, x, 1, axis, &indices);
    return below(m, 3) ? y : indices;
}

static forge_value make_transfer(struct maker *m)
{
    return forge_transfer(m->b, any_value(m), below(m, 2) ? "b" : NULL);
}

static forge_value make_stop_gradient(struct maker *m)
{
    return forge_stop_gradient(m->b, any_value(m));
}

static forge_value make_collective(struct maker *m)
{
    forge_value x = any_value(m);
    forge_collective_kind kind = (forge_collective_kind)below(m, FORGE_COLLECTIVE_KINDS);
    return forge_value_shape(m->b, x).rank && is_float(m, x)
               ? forge_collective(m->b, kind, &(forge_group){"a group", 1}, x, 0)
               : FORGE_NO_VALUE;
}

static forge_value twice(forge_builder *b, const forge_value *inputs, size_t count, const void *context)
{
    (void)count, (void)context;
    return forge_log_softmax(b, forge_add(b, inputs[0], inputs[0]));
}

static forge_value make_composite(struct maker *m)
{
    forge_value x = any_value(m);
    if (!is_float(m, x) || forge_value_shape(m->b, x).rank == 0)
        return FORGE_NO_VALUE;
    return below(m, 2) ? forge_log_softmax(m->b, x)
                       : forge_composite(m->b, "my own \"twice\"", &x, 1, twice, NULL);
}

static forge_value (*const makers[])(struct maker *) = {
    make_constant,  make_iota,   make_unary,  make_unary,    make_binary,     make_binary,
    make_select,    make_cast,   make_reduce, make_matmul,   make_reshape,    make_broadcast,
    make_transpose, make_concat, make_slice,  make_pad,      make_composite,  make_conv,
    make_window,    make_unfold, make_fold,   make_random,   make_gather,     make_scatter,
    make_scan,      make_sort,   make_share,  make_transfer, make_collective, make_stop_gradient,
};

/* --- whole graphs --------------------------------------------------------------------------------------- */

/* Limits the sizes of values, so that programs are fast, and excludes empty values, which have no maximum. */
static bool is_small(struct maker *m, forge_value x)
{
    forge_shape shape = forge_value_shape(m->b, x);
    double elements = 1;
    for (uint32_t i = 0; i < shape.rank; i++)
        elements *= shape.dims[i] < 0 ? 4 : (double)shape.dims[i];
    return shape.rank <= 4 && elements > 0 && elements <= 256;
}

static void begin(struct maker *m)
{
    static const char *const names[] = {"w", "encoder.layer0.weight", "a slot", "\xc3\xa4\xff\"\\"};
    if (m->flags & RANDOM_GRAPH_SYMBOLS)
        m->symbol = forge_symbol(m->b, "B", 2, 64, 2);
    m->values[m->count++] = forge_input(m->b, "x", FORGE_F32, any_shape(m));
    m->values[m->count++] = forge_input(m->b, "an input", FORGE_F32, forge_shape_of(2, 3));
    m->values[m->count++] = forge_input(m->b, "label", FORGE_I64, forge_shape_of(2));
    for (int i = 0; i < 4; i++) {
        forge_init init = {(forge_init_kind)(i % 3), -0.1 * i, i ? 0.3 : 0};
        m->parameters[i] = forge_state(m->b, names[i], FORGE_F32, forge_shape_of(2, 3), init);
        m->values[m->count++] = m->reads[i] = forge_read(m->b, m->parameters[i]);
    }
    m->values[m->count++] = forge_cross_entropy(m->b, m->reads[0], m->values[2]);
}

static void grow(struct maker *m, unsigned nodes)
{
    static const char *const scopes[] = {"encoder", "layer 0", "fc1", "0"};
    static const char *const places[] = {NULL, "a", "b"};
    unsigned depth = 0;
    for (unsigned tries = 0; tries < 4 * nodes && m->count < nodes && m->count < MAX_VALUES; tries++) {
        if (below(m, 8) == 0 && depth < 3) {
            forge_scope_push(m->b, scopes[below(m, 4)]);
            depth++;
        } else if (below(m, 6) == 0 && depth > 0) {
            forge_scope_pop(m->b);
            depth--;
        }
        forge_phase_set(m->b, (forge_phase)(below(m, 6) ? 0 : below(m, 4)));
        if (m->flags & RANDOM_GRAPH_PLACES && below(m, 4) == 0)
            forge_place_set(m->b, places[below(m, 3)]);
        forge_value value = makers[below(m, sizeof makers / sizeof *makers)](m);
        if (value && is_small(m, value))
            m->values[m->count++] = value;
    }
}

/* Returns the sum of all f32 values. It may be NaN. */
static forge_value loss_of(struct maker *m)
{
    forge_value loss = forge_scalar(m->b, FORGE_F32, 0.1);
    for (size_t i = 0; i < m->count; i++)
        if (forge_value_dtype(m->b, m->values[i]) == FORGE_F32)
            loss = forge_add(m->b, loss,
                             forge_reduce(m->b, FORGE_SUM, m->values[i],
                                          (1u << forge_value_shape(m->b, m->values[i]).rank) - 1, false));
    return loss;
}

static void end(struct maker *m)
{
    static const char *const names[] = {"y", "an output", "z"};
    forge_place_set(m->b, NULL);
    /* The write is in place, so no other operation may read the value. Otherwise the graph does not
     * compile. */
    forge_slot own =
        forge_state(m->b, "own", FORGE_F32, forge_shape_of(3), (forge_init){FORGE_INIT_NORMAL, 0, 1});
    forge_write(m->b, own, forge_neg(m->b, forge_read(m->b, own)), true);
    for (int i = 0; i < 3; i++)
        forge_output(m->b, names[i], m->values[m->count - 1 - (size_t)i]);
    if (!(m->flags & RANDOM_GRAPH_GRADIENTS)) {
        forge_write(m->b, m->parameters[1], forge_neg(m->b, m->reads[2]), false);
        return;
    }
    forge_value gradients[4], loss = loss_of(m);
    forge_phase_set(m->b, FORGE_PHASE_BACKWARD);
    forge_gradients(m->b, loss, m->reads, 4, gradients);
    forge_phase_set(m->b, FORGE_PHASE_OPTIMISER);
    for (int i = 0; i < 4; i++)
        forge_write(m->b, m->parameters[i], forge_sub(m->b, m->reads[i], gradients[i]), false);
    forge_output(m->b, "loss", loss);
}

forge_graph *random_graph(uint64_t seed, unsigned nodes, unsigned flags)
{
    struct maker m = {.b = forge_builder_new(), .state = seed, .flags = flags};
    forge_graph *graph = NULL;
    joule_error error = {0};
    begin(&m);
    grow(&m, nodes);
    end(&m);
    if (forge_builder_finish(m.b, &graph, &error) != JOULE_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    return graph;
}
