/* Checks windows against plain loops of their definition, and random numbers against the generator's
 * function. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/random.h>
#include "forge/core/dtype.h"
#include "forge/ir/builder.h"
#include "support/views.h"

/* Returns an array of integers from -9 (or, if unsigned, 0) to 9. Floats sometimes have a NaN or infinity. */
static struct view array_of(forge_dtype dtype, forge_shape shape)
{
    size_t count = forge_shape_elements(&shape);
    double *values = calloc(count + 1, sizeof *values);
    struct view view = view_packed(dtype, calloc(count + 1, 8), shape);
    for (size_t i = 0; i < count; i++) {
        values[i] = (double)pick(dtype == FORGE_U8 ? 0 : -9, 9);
        if (forge_dtype_is_float(dtype) && pick(0, 99) == 0)
            values[i] = pick(0, 1) ? NAN : -INFINITY;
    }
    dtype_row(dtype)->store(view.data, 0, count, values);
    free(values);
    return view;
}

static void index_of(const forge_shape *shape, size_t position, int64_t *out)
{
    for (uint32_t k = shape->rank; k-- > 0; position /= (size_t)shape->dims[k])
        out[k] = (int64_t)(position % (size_t)shape->dims[k]);
}

/* Returns the position in `shape` of an element of the window at `place`; -1: padding. taps: the element's
 * position in the window, for each axis in order. */
static int64_t find(const forge_shape *shape, uint32_t axes, const forge_window *windows,
                    const int64_t *place, const int64_t *taps)
{
    int64_t position = 0;
    for (uint32_t k = 0; k < shape->rank; k++) {
        int64_t at = place[k];
        if (axes >> k & 1) {
            at = at * windows->stride + *taps++ * windows->dilation - windows->before;
            windows++;
        }
        if (at < 0 || at >= shape->dims[k])
            return -1;
        position = position * shape->dims[k] + at;
    }
    return position;
}

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Reduces one window, element by element. Returns the result. */
static double reduce(forge_reduce_kind kind, const struct view *parts, const struct view *inside,
                     size_t first, size_t size, bool count_padding, double min, double max)
{
    double result = kind == FORGE_MAXIMUM ? min : kind == FORGE_MINIMUM ? max : 0, count = 0;
    for (size_t i = first; i < first + size; i++) {
        double x = view_number(parts, i);
        if (view_number(inside, i) == 0)
            continue;
        count++;
        if (kind == FORGE_MAXIMUM || kind == FORGE_MINIMUM)
            result = isnan(x) || isnan(result) ? NAN
                     : kind == FORGE_MAXIMUM   ? fmax(x, result)
                                               : fmin(x, result);
        else
            result += x;
    }
    return kind == FORGE_MEAN ? result / (count_padding ? (double)size : count) : result;
}

struct trial {
    forge_shape shape, wide; /* shape of x; shape of the unfolded windows, with the windows' own dimensions */
    uint32_t axes;
    forge_window windows[4];
    size_t size; /* number of elements in a window */
};

static struct trial any_trial(void)
{
    struct trial t = {.shape.rank = (uint32_t)pick(1, 4), .size = 1};
    t.axes = (uint32_t)pick(1, (1 << t.shape.rank) - 1);
    forge_window *w = t.windows;
    for (uint32_t k = 0; k < t.shape.rank; k++) {
        t.shape.dims[k] = pick(1, 4);
        if (!(t.axes >> k & 1))
            continue;
        *w = (forge_window){(uint32_t)pick(1, 3), (uint32_t)pick(1, 3), (uint32_t)pick(1, 3), 0, 0};
        int64_t span = w->dilation * (w->size - 1) + 1;
        w->before = (uint32_t)pick(0, span - 1);
        w->after = (uint32_t)pick(0, span - 1);
        t.shape.dims[k] += span;
        t.size *= w++->size;
    }
    return t;
}

/* Runs unfold on x and compares the result with find(). Returns the result. */
static struct view lay_out(struct trial *t, const struct view *x, double padding)
{
    forge_builder *b = forge_builder_new();
    forge_value y = forge_unfold(b, forge_input(b, "x", x->dtype, t->shape), t->axes, t->windows, padding);
    if (b->has_failed)
        fail_msg("%s", b->error.message);
    t->wide = forge_value_shape(b, y);
    size_t count = forge_shape_elements(&t->wide);
    struct view parts = view_packed(x->dtype, calloc(count + 1, 8), t->wide);
    run_reference(OP_UNFOLD, graph_producer(b->graph, y)->attributes, x, 1, &parts, 1);
    for (size_t i = 0; i < count; i++) {
        int64_t index[FORGE_MAX_RANK];
        index_of(&t->wide, i, index);
        int64_t from = find(&t->shape, t->axes, t->windows, index, index + t->shape.rank);
        assert_true(is_same(view_number(&parts, i), from < 0 ? padding : view_number(x, (size_t)from)));
    }
    forge_builder_free(b);
    return parts;
}

static void check_window(const struct trial *t, forge_reduce_kind kind, bool counts, const struct view *x,
                         const struct view *parts, const struct view *inside)
{
    forge_builder *b = forge_builder_new();
    forge_value y =
        forge_window_reduce(b, kind, forge_input(b, "x", x->dtype, t->shape), t->axes, t->windows, counts);
    if (b->has_failed)
        fail_msg("%s", b->error.message);
    forge_shape shape = forge_value_shape(b, y);
    size_t count = forge_shape_elements(&shape);
    struct view out = view_packed(x->dtype, calloc(count + 1, 8), shape);
    run_reference(OP_WINDOW, graph_producer(b->graph, y)->attributes, x, 1, &out, 1);
    double min = -INFINITY, max = INFINITY; /* neutral elements; for integers, the limits of the type */
    if (!forge_dtype_is_float(x->dtype)) {
        min = x->dtype == FORGE_U8 ? 0 : x->dtype == FORGE_I16 ? -32768 : -0x1p63;
        max = x->dtype == FORGE_U8 ? 255 : x->dtype == FORGE_I16 ? 32767 : 0x1p63;
    }
    for (size_t i = 0; i < count; i++) {
        double wanted = reduce(kind, parts, inside, i * t->size, t->size, counts, min, max);
        if (x->dtype == FORGE_F32)
            wanted = (double)(float)wanted;
        if (x->dtype == FORGE_U8)
            wanted = fmod(wanted, 256);
        if (!is_same(view_number(&out, i), wanted))
            fail_msg("%s, element %zu is %g, not %g", reduce_name(kind), i, view_number(&out, i), wanted);
    }
    free(out.data);
    forge_builder_free(b);
}

/* Checks windows of one type. The expected results are computed in double. */
static void check(forge_dtype dtype)
{
    struct trial t = any_trial();
    struct view x = array_of(dtype, t.shape), numbers = view_packed(FORGE_F64, NULL, t.shape), ones = numbers;
    size_t count = forge_shape_elements(&t.shape);
    numbers.data = calloc(count, 8);
    ones.data = calloc(count, 8);
    for (size_t i = 0; i < count; i++) {
        ((double *)numbers.data)[i] = view_number(&x, i);
        ((double *)ones.data)[i] = 1;
    }
    struct view parts = lay_out(&t, &numbers, 7), inside = lay_out(&t, &ones, 0);
    for (int kind = FORGE_SUM; kind <= FORGE_MINIMUM; kind++)
        for (int counts = 0; counts < 2; counts++)
            if (kind != FORGE_MEAN || forge_dtype_is_float(dtype))
                check_window(&t, (forge_reduce_kind)kind, kind == FORGE_MEAN && counts, &x, &parts, &inside);
    free(x.data);
    free(numbers.data);
    free(ones.data);
    free(parts.data);
    free(inside.data);
}

static void test_random_windows_equal_the_definition(void **state)
{
    (void)state;
    static const forge_dtype types[] = {FORGE_F64, FORGE_F32, FORGE_U8, FORGE_I16, FORGE_I64};
    for (int i = 0; i < 200; i++)
        check(types[i % 5]);
}

/* Fold adds each element of the windows at the position in x from which unfold copied it. */
static void test_fold_adds_elements_at_their_origin(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct trial t = any_trial();
        struct view x = array_of(FORGE_F64, t.shape), parts = lay_out(&t, &x, 0);
        size_t count = forge_shape_elements(&t.shape), all = forge_shape_elements(&t.wide);
        double *sums = calloc(count, sizeof *sums);
        for (size_t k = 0; k < all; k++) {
            int64_t index[FORGE_MAX_RANK];
            index_of(&t.wide, k, index);
            ((double *)parts.data)[k] = (double)pick(-9, 9);
            int64_t to = find(&t.shape, t.axes, t.windows, index, index + t.shape.rank);
            if (to >= 0)
                sums[to] += view_number(&parts, k);
        }
        forge_builder *b = forge_builder_new();
        forge_value y = forge_fold(b, forge_input(b, "x", FORGE_F64, t.wide), t.shape, t.axes, t.windows);
        run_reference(OP_FOLD, graph_producer(b->graph, y)->attributes, &parts, 1, &x, 1);
        assert_memory_equal(x.data, sums, count * sizeof *sums);
        forge_builder_free(b);
        free(sums);
        free(x.data);
        free(parts.data);
    }
}

/* Each window's share goes to the elements that equal the window's y. The test finds them in the unfolded
 * windows. */
static void test_shares_go_to_equal_elements(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct trial t = any_trial();
        struct view x = array_of(FORGE_F64, t.shape), parts = lay_out(&t, &x, 100);
        forge_builder *b = forge_builder_new();
        forge_value of = forge_input(b, "x", FORGE_F64, t.shape);
        forge_value y = forge_window_reduce(b, FORGE_MAXIMUM, of, t.axes, t.windows, false);
        forge_shape places = forge_value_shape(b, y);
        size_t count = forge_shape_elements(&t.shape), windows = forge_shape_elements(&places);
        struct view in[3] = {x, array_of(FORGE_F64, places), array_of(FORGE_F64, places)};
        struct view out = view_packed(FORGE_F64, malloc(8 * count + 1), t.shape);
        double *sums = calloc(count, sizeof *sums);
        for (size_t w = 0; w < windows; w++) {
            double equals = 0;
            for (size_t k = w * t.size; k < (w + 1) * t.size; k++)
                equals += view_number(&parts, k) == view_number(&in[1], w);
            for (size_t k = w * t.size; k < (w + 1) * t.size; k++) {
                int64_t index[FORGE_MAX_RANK];
                index_of(&t.wide, k, index);
                int64_t to = find(&t.shape, t.axes, t.windows, index, index + t.shape.rank);
                if (to >= 0 && view_number(&parts, k) == view_number(&in[1], w))
                    sums[to] += view_number(&in[2], w) / equals;
            }
        }
        y = forge_share(b, of, y, y, t.axes, t.windows);
        run_reference(OP_SHARE, graph_producer(b->graph, y)->attributes, in, 3, &out, 1);
        for (size_t k = 0; k < count; k++)
            assert_true(is_same(view_number(&out, k), sums[k]) ||
                        fabs(view_number(&out, k) - sums[k]) < 1e-12);
        forge_builder_free(b);
        free(sums);
        free(out.data);
        free(x.data);
        free(in[1].data);
        free(in[2].data);
        free(parts.data);
    }
}

static void test_rows_longer_than_a_tile(void **state)
{
    (void)state;
    struct trial t = {
        .shape = forge_shape_of(2, 900), .axes = 2, .windows = {{300, 2, 1, 5, 0}}, .size = 300};
    struct view x = array_of(FORGE_F64, t.shape), ones = array_of(FORGE_F64, t.shape);
    for (size_t i = 0; i < 1800; i++)
        ((double *)ones.data)[i] = 1;
    struct view parts = lay_out(&t, &x, 0), inside = lay_out(&t, &ones, 0);
    check_window(&t, FORGE_SUM, false, &x, &parts, &inside);
    check_window(&t, FORGE_MAXIMUM, false, &x, &parts, &inside);
    free(x.data);
    free(ones.data);
    free(parts.data);
    free(inside.data);
}

/* --- random numbers ------------------------------------------------------------------------------------- */

static void test_random_numbers_equal_those_of_the_generator(void **state)
{
    (void)state;
    enum { ROWS = 7, COLUMNS = 301, COUNT = ROWS * COLUMNS };
    uint64_t key = UINT64_C(0x123456789abcdef0);
    uint32_t step = 5, wanted[COUNT], found[COUNT];
    struct view inputs[] = {view_packed(FORGE_U64, &key, (forge_shape){0}),
                            view_packed(FORGE_U32, &step, (forge_shape){0})};
    forge_random random = {.key = key, .step = step, .stream = 9};
    for (uint32_t kind = 0; kind < FORGE_RANDOM_KINDS; kind++) {
        struct random_attributes attributes = {kind, 9, forge_shape_of(ROWS, COLUMNS)};
        struct view out =
            view_packed(kind == FORGE_RANDOM_BITS ? FORGE_U32 : FORGE_F32, found, attributes.shape);
        run_reference(OP_RANDOM, &attributes, inputs, 2, &out, 1);
        if (kind == FORGE_RANDOM_BITS)
            forge_random_bits(&random, 0, COUNT, wanted);
        else
            (kind == FORGE_RANDOM_NORMAL ? forge_random_normal : forge_random_uniform)(&random, 0, COUNT,
                                                                                       (float *)wanted);
        assert_memory_equal(found, wanted, sizeof wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_windows_equal_the_definition),
        cmocka_unit_test(test_fold_adds_elements_at_their_origin),
        cmocka_unit_test(test_shares_go_to_equal_elements),
        cmocka_unit_test(test_rows_longer_than_a_tile),
        cmocka_unit_test(test_random_numbers_equal_those_of_the_generator),
    };
    return cmocka_run_group_tests_name("reference_window", tests, NULL, NULL);
}
