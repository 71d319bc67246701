/* Checks convolutions against plain loops of their definition. Shapes and strides are random. Elements are
 * integers, so that results are exact in every type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "forge/ir/builder.h"
#include "unit/forge/random_conv.h"

/* Returns an array of small integers. is_turned: the dimensions have another order in memory. */
static struct view array_of(forge_dtype dtype, forge_shape shape, bool is_turned)
{
    size_t count = forge_shape_elements(&shape);
    double *values = calloc(count + 1, sizeof *values);
    void *data = calloc(count + 1, forge_dtype_block_bytes(dtype));
    for (size_t i = 0; i < count; i++)
        values[i] = (double)pick(forge_dtype_is_float(dtype) || dtype == FORGE_I8 ? -2 : 0, 2);
    dtype_row(dtype)->store(data, 0, count, values);
    free(values);
    struct view view = view_packed(dtype, data, shape);
    int64_t stride = 1;
    for (uint32_t k = 0; is_turned && k < shape.rank; k++) {
        view.strides[k] = stride;
        stride *= shape.dims[k];
    }
    return view;
}

/* Returns an element of a view with two leading dimensions and up to 3 axes; 0 if the position is outside the
 * view. */
static double at(const struct view *view, int64_t first, int64_t second, const int64_t *place)
{
    uint32_t axes = view->shape.rank - 2;
    int64_t offset = first * view->strides[0] + second * view->strides[1];
    for (uint32_t k = 0; k < axes; k++) {
        if (place[k] < 0 || place[k] >= view->shape.dims[k + 2])
            return 0;
        offset += place[k] * view->strides[k + 2];
    }
    double value;
    size_t bytes = forge_dtype_block_bytes(view->dtype);
    dtype_row(view->dtype)->load((const char *)view->data + offset * (int64_t)bytes, 0, 1, &value);
    return value;
}

static int64_t count_of(const forge_shape *shape, uint32_t from)
{
    int64_t count = 1;
    for (uint32_t k = from; k < shape->rank; k++)
        count *= shape->dims[k];
    return count;
}

static void index_of(const forge_shape *shape, uint32_t from, int64_t position, int64_t *out)
{
    for (uint32_t k = shape->rank; k-- > from; position /= shape->dims[k])
        out[k - from] = position % shape->dims[k];
}

/* Adds each product of an element of x and a weight to its output. A transposed convolution uses the same
 * loop with input and output exchanged. */
static void convolve(const struct view *x, const struct view *weight, const forge_shape *out,
                     const forge_conv_options *o, double *sums)
{
    const forge_shape *narrow = o->is_transposed ? &x->shape : out,
                      *wide = o->is_transposed ? out : &x->shape;
    int64_t groups = o->groups, of_narrow = narrow->dims[1] / groups, of_wide = wide->dims[1] / groups;
    int64_t places = count_of(narrow, 2), taps = count_of(&weight->shape, 2), p[3], t[3], w[3];
    uint32_t axes = out->rank - 2;
    for (int64_t n = 0; n < out->dims[0]; n++)
        for (int64_t c = 0; c < narrow->dims[1]; c++)
            for (int64_t d = 0; d < of_wide; d++)
                for (int64_t i = 0; i < places * taps; i++) {
                    index_of(narrow, 2, i / taps, p);
                    index_of(&weight->shape, 2, i % taps, t);
                    bool is_inside = true;
                    int64_t offset = 0;
                    for (uint32_t k = 0; k < axes; k++) {
                        w[k] = p[k] * o->stride[k] + t[k] * o->dilation[k] - o->padding_before[k];
                        is_inside &= w[k] >= 0 && w[k] < wide->dims[k + 2];
                        offset = offset * out->dims[k + 2] + (o->is_transposed ? w[k] : p[k]);
                    }
                    if (!is_inside)
                        continue;
                    int64_t e = c / of_narrow * of_wide + d, own = o->is_transposed ? e : c;
                    double product =
                        at(weight, c, d, t) * at(x, n, o->is_transposed ? c : e, o->is_transposed ? p : w);
                    sums[(n * out->dims[1] + own) * count_of(out, 2) + offset] += product;
                }
}

static void check(forge_dtype dtype, forge_shape x_shape, forge_shape w_shape, const forge_conv_options *o)
{
    forge_builder *b = forge_builder_new();
    forge_value y =
        forge_conv(b, forge_input(b, "x", dtype, x_shape), forge_input(b, "w", dtype, w_shape), o);
    if (b->has_failed)
        fail_msg("%s", b->error.message);
    forge_shape shape = forge_value_shape(b, y);
    size_t count = forge_shape_elements(&shape);
    struct view inputs[] = {array_of(dtype, x_shape, pick(0, 1)), array_of(dtype, w_shape, pick(0, 1))};
    struct view out = view_packed(dtype, calloc(count + 1, 8), shape);
    double *sums = calloc(count + 1, sizeof *sums);
    convolve(&inputs[0], &inputs[1], &shape, o, sums);
    run_reference(OP_CONV, graph_producer(b->graph, y)->attributes, inputs, 2, &out, 1);
    for (size_t i = 0; i < count; i++) {
        double wanted = dtype == FORGE_I8 ? (double)(int8_t)(int64_t)sums[i] : sums[i];
        if (view_number(&out, i) != wanted)
            fail_msg("element %zu of %zu is %g, not %g", i, count, view_number(&out, i), wanted);
    }
    free(sums);
    free(out.data);
    free(inputs[0].data);
    free(inputs[1].data);
    forge_builder_free(b);
}

static void check_random(bool is_transposed)
{
    static const forge_dtype types[] = {FORGE_F64, FORGE_F32, FORGE_F16, FORGE_I8, FORGE_U32, FORGE_I64};
    struct conv_case c = random_conv(is_transposed, (struct conv_limits){2, 2, 2, 5, 5});
    check(types[pick(0, 5)], c.x, c.weight, &c.options);
}

static void test_random_convolutions_equal_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        check_random(false);
}

static void test_random_transposed_convolutions_equal_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        check_random(true);
}

static void test_lines_longer_than_a_tile(void **state)
{
    (void)state;
    for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
        forge_conv_options o = {.struct_size = sizeof o,
                                .groups = 1,
                                .stride = {2},
                                .dilation = {1},
                                .padding_before = {1},
                                .is_transposed = is_transposed};
        check(FORGE_F64, forge_shape_of(1, 2, 700), forge_shape_of(2, 2, 3), &o);
        o.stride[0] = 1;
        check(FORGE_F64, forge_shape_of(1, 1, 600), forge_shape_of(1, 1, 590),
              &o); /* more taps than outputs */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_convolutions_equal_the_definition),
        cmocka_unit_test(test_random_transposed_convolutions_equal_the_definition),
        cmocka_unit_test(test_lines_longer_than_a_tile),
    };
    return cmocka_run_group_tests_name("reference_conv", tests, NULL, NULL);
}
