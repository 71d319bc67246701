/* Checks matrix products against three plain loops: every type and flag, broadcast leading dimensions, sizes
 * above a tile, strided views and empty matrices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "support/views.h"

/* --- against loops -------------------------------------------------------------------------------------- */

/* Returns the address of element [row, column] of an operand. matrix: number of the output's matrix, for
 * which one matrix of the operand is multiplied. */
static const void *element(const struct view *view, const forge_shape *out, size_t matrix, bool is_transposed,
                           size_t row, size_t column)
{
    forge_shape leading = *out;
    struct view first = *view;
    leading.rank -= 2;
    first.shape.rank -= 2;
    const int64_t *strides = &view->strides[view->shape.rank - 2];
    int64_t offset = (int64_t)row * strides[is_transposed] + (int64_t)column * strides[!is_transposed];
    return (const char *)view_address(&first, &leading, matrix) +
           offset * (int64_t)forge_dtype_block_bytes(view->dtype);
}

static void check_element(const struct view in[2], const struct view *out, uint32_t flags, size_t depth,
                          size_t position)
{
    const struct dtype_row *dtype = dtype_row(out->dtype);
    size_t rows = (size_t)out->shape.dims[out->shape.rank - 2],
           columns = (size_t)out->shape.dims[out->shape.rank - 1];
    size_t matrix = position / (rows * columns), row = position / columns % rows, column = position % columns;
    double sum = 0, got;
    uint64_t bits = 0, got_bits;
    unsigned char wanted[8];
    for (size_t k = 0; k < depth; k++) {
        const void *a = element(&in[0], &out->shape, matrix, flags & FORGE_TRANSPOSE_A, row, k);
        const void *b = element(&in[1], &out->shape, matrix, flags & FORGE_TRANSPOSE_B, k, column);
        double x, y;
        uint64_t x_bits, y_bits;
        dtype->load(a, 0, 1, &x);
        dtype->load(b, 0, 1, &y);
        sum += x * y;
        if (!dtype->load_bits)
            continue;
        dtype->load_bits(a, 0, 1, &x_bits);
        dtype->load_bits(b, 0, 1, &y_bits);
        bits += x_bits * y_bits;
    }
    if (dtype->load_bits) {
        dtype->store_bits(wanted, 0, 1, &bits);
        dtype->load_bits(wanted, 0, 1, &bits);
        dtype->load_bits(out->data, position, 1, &got_bits);
        assert_true(bits == got_bits);
    } else { /* products are multiples of 1/64 and exact, so their sum does not depend on the order */
        dtype->store(wanted, 0, 1, &sum);
        dtype->load(wanted, 0, 1, &sum);
        dtype->load(out->data, position, 1, &got);
        assert_true(sum == got);
    }
}

static void *random_elements(forge_dtype dtype, size_t count)
{
    const struct dtype_row *row = dtype_row(dtype);
    char *data = malloc(count * row->block_bytes + 1);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = random_bits();
        double number = (double)(bits % 65) / 8 - 4;
        if (row->load_bits)
            row->store_bits(data, i, 1, &bits);
        else
            row->store(data, i, 1, &number);
    }
    return data;
}

/* Checks a product of packed operands. a and b: shapes in memory, before a flag transposes them. */
static void check(forge_dtype dtype, forge_shape a, forge_shape b, uint32_t flags, forge_shape out_shape)
{
    struct view in[2] = {view_packed(dtype, random_elements(dtype, forge_shape_elements(&a)), a),
                         view_packed(dtype, random_elements(dtype, forge_shape_elements(&b)), b)};
    size_t count = forge_shape_elements(&out_shape),
           depth = (size_t)a.dims[flags & FORGE_TRANSPOSE_A ? a.rank - 2 : a.rank - 1];
    struct view out = view_packed(dtype, random_elements(dtype, count), out_shape);
    run_reference(OP_MATMUL, &(struct matmul_attributes){flags, dtype}, in, 2, &out, 1);
    for (size_t i = 0; i < count; i++)
        check_element(in, &out, flags, depth, i);
    free(in[0].data);
    free(in[1].data);
    free(out.data);
}

static void test_every_type_and_flag(void **state)
{
    (void)state;
    for (forge_dtype dtype = FORGE_U8; dtype <= FORGE_F64; dtype++)
        for (uint32_t flags = 0; flags < 4; flags++) {
            forge_shape a = flags & FORGE_TRANSPOSE_A ? forge_shape_of(7, 11) : forge_shape_of(11, 7);
            forge_shape b = flags & FORGE_TRANSPOSE_B ? forge_shape_of(13, 7) : forge_shape_of(7, 13);
            check(dtype, a, b, flags, forge_shape_of(11, 13));
        }
}

static void test_beyond_a_tile(void **state)
{
    (void)state;
    check(FORGE_F32, forge_shape_of(17, 300), forge_shape_of(300, 270), 0, forge_shape_of(17, 270));
    check(FORGE_I32, forge_shape_of(300, 9), forge_shape_of(257, 300), 3, forge_shape_of(9, 257));
    check(FORGE_F64, forge_shape_of(1, 513), forge_shape_of(513, 1), 0, forge_shape_of(1, 1));
    check(FORGE_F16, forge_shape_of(9, 1), forge_shape_of(1, 256), 0, forge_shape_of(9, 256));
}

static void test_leading_dimensions_are_broadcast(void **state)
{
    (void)state;
    check(FORGE_F32, forge_shape_of(2, 3, 4, 5), forge_shape_of(5, 6), 0, forge_shape_of(2, 3, 4, 6));
    check(FORGE_F32, forge_shape_of(4, 5), forge_shape_of(2, 3, 6, 5), FORGE_TRANSPOSE_B,
          forge_shape_of(2, 3, 4, 6));
    check(FORGE_I16, forge_shape_of(2, 1, 5, 9), forge_shape_of(3, 5, 6), FORGE_TRANSPOSE_A,
          forge_shape_of(2, 3, 9, 6));
    check(FORGE_BF16, forge_shape_of(1, 3, 9, 2), forge_shape_of(4, 1, 2, 3), 0, forge_shape_of(4, 3, 9, 3));
}

static void test_views_with_steps(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags < 4; flags++) {
        double *data = random_elements(FORGE_F64, 2000);
        double results[2 * 10 * 10];
        struct view in[2] = {{data + 1999, FORGE_F64, forge_shape_of(2, 10, 10), {-900, -40, -3}},
                             {data + 30, FORGE_F64, forge_shape_of(10, 10), {0, -2}}};
        struct view out = view_packed(FORGE_F64, results, forge_shape_of(2, 10, 10));
        run_reference(OP_MATMUL, &(struct matmul_attributes){flags, FORGE_F64}, in, 2, &out, 1);
        for (size_t i = 0; i < 200; i++)
            check_element(in, &out, flags, 10, i);
        free(data);
    }
}

/* --- hand-made cases ------------------------------------------------------------------------------------ */

static void test_sums_of_nothing_are_zero(void **state)
{
    (void)state;
    check(FORGE_F32, forge_shape_of(3, 0), forge_shape_of(0, 4), 0, forge_shape_of(3, 4));
    check(FORGE_U8, forge_shape_of(2, 0, 3), forge_shape_of(4, 0), 3, forge_shape_of(2, 3, 4));
    check(FORGE_F32, forge_shape_of(0, 3), forge_shape_of(3, 4), 0, forge_shape_of(0, 4));
    check(FORGE_F32, forge_shape_of(2, 3), forge_shape_of(3, 0), 0, forge_shape_of(2, 0));
    check(FORGE_F32, forge_shape_of(0, 2, 3), forge_shape_of(3, 4), 0, forge_shape_of(0, 2, 4));
}

static void test_nan_goes_through_zeros(void **state)
{
    (void)state;
    float a[4] = {0, 1, 2, 0}, b[4] = {NAN, INFINITY, 1, 1}, results[4];
    struct view in[2] = {view_packed(FORGE_F32, a, forge_shape_of(2, 2)),
                         view_packed(FORGE_F32, b, forge_shape_of(2, 2))};
    struct view out = view_packed(FORGE_F32, results, forge_shape_of(2, 2));
    run_reference(OP_MATMUL, &(struct matmul_attributes){0, FORGE_F32}, in, 2, &out, 1);
    assert_true(isnan(results[0]) && isnan(results[1]) && isnan(results[2]) && results[3] == INFINITY);
}

/* Sums in f16 or f32 would lose the small terms one by one. */
static void test_sums_are_rounded_once(void **state)
{
    (void)state;
    enum { DEPTH = 4097 };
    static float ones[DEPTH], numbers[DEPTH];
    float result;
    for (size_t i = 0; i < DEPTH; i++) {
        ones[i] = 1;
        numbers[i] = i == 0 ? 1 : 0x1p-25f;
    }
    struct view in[2] = {view_packed(FORGE_F32, ones, forge_shape_of(1, DEPTH)),
                         view_packed(FORGE_F32, numbers, forge_shape_of(DEPTH, 1))};
    struct view out = view_packed(FORGE_F32, &result, forge_shape_of(1, 1));
    run_reference(OP_MATMUL, &(struct matmul_attributes){0, FORGE_F32}, in, 2, &out, 1);
    assert_true(result == 1 + 4096 * 0x1p-25f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_and_flag),
        cmocka_unit_test(test_beyond_a_tile),
        cmocka_unit_test(test_leading_dimensions_are_broadcast),
        cmocka_unit_test(test_views_with_steps),
        cmocka_unit_test(test_sums_of_nothing_are_zero),
        cmocka_unit_test(test_nan_goes_through_zeros),
        cmocka_unit_test(test_sums_are_rounded_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
