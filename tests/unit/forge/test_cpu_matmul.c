/* Checks the CPU's matrix products, for each instruction set, against the reference.
 *
 * The error must be at most 4 * sqrt(K) * eps * sum(|a| * |b|), where K is the depth. Results in bf16 and f16
 * are rounded once, so half a unit in the last place is added. The bits of an element
 * must depend only on its row of a, its column of b and the depth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/ir/builder.h"
#include "unit/forge/cpu_kernels.h"

/* Rounding errors of one operation on sums, and of a result. */
static double eps_of(forge_dtype dtype)
{
    return dtype == FORGE_F64 ? 0x1p-53 : 0x1p-24;
}

static double eps_of_result(forge_dtype dtype)
{
    return dtype == FORGE_BF16 ? 0x1p-8 : dtype == FORGE_F16 ? 0x1p-11 : 0;
}

static struct launch matmul(const struct matmul_attributes *attributes, const struct view in[2],
                            const struct view *out)
{
    return (struct launch){OP_MATMUL, attributes, in, 2, out, 1};
}

/* Returns the elements, or their magnitudes, as doubles, to which strided views can refer. */
static void *doubles(forge_dtype dtype, const void *data, size_t count, bool are_magnitudes)
{
    double *copy = malloc(count * sizeof *copy + 1);
    assert_non_null(copy);
    dtype_row(dtype)->load(data, 0, count, copy);
    for (size_t i = 0; are_magnitudes && i < count; i++)
        copy[i] = fabs(copy[i]);
    return copy;
}

/* Checks a product of views into two buffers of `count` elements. `out` gets the result of the last
 * instruction set. */
static void check(struct view in[2], uint32_t flags, forge_dtype dtype, void *const buffers[2], size_t count,
                  const struct view *out)
{
    const struct matmul_attributes attributes = {flags, builder_accumulator(dtype)};
    struct launch launch = matmul(&attributes, in, out);
    size_t elements = forge_shape_elements(&out->shape);
    double depth = (double)in[0].shape.dims[in[0].shape.rank - (flags & FORGE_TRANSPOSE_A ? 2 : 1)];
    struct view exact = *out, bound = *out, numbers[2] = {in[0], in[1]}, large[2] = {in[0], in[1]};
    struct launch exactly = matmul(&attributes, numbers, &exact),
                  bounding = matmul(&attributes, large, &bound);
    exact.dtype = bound.dtype = FORGE_F64;
    exact.data = malloc(elements * 8 + 1);
    bound.data = malloc(elements * 8 + 1);
    for (int i = 0; i < 2; i++) {
        size_t first = (size_t)((char *)in[i].data - (char *)buffers[i]) / forge_dtype_block_bytes(dtype);
        numbers[i].dtype = large[i].dtype = FORGE_F64;
        numbers[i].data = (double *)doubles(dtype, buffers[i], count, false) + first;
        large[i].data = (double *)doubles(dtype, buffers[i], count, true) + first;
    }
    reference_matmul(&exactly, 0, launch_rows(&launch));
    reference_matmul(&bounding, 0, launch_rows(&launch));
    EACH_ISA (isa) {
        run_kernel(isa, &launch);
        for (size_t i = 0; i < elements; i++) {
            double wanted = view_number(&exact, i), error = fabs(view_number(out, i) - wanted);
            double of_sum = 4 * sqrt(depth) * eps_of(dtype) * view_number(&bound, i);
            if (!(error <= of_sum + (fabs(wanted) + of_sum) * eps_of_result(dtype)))
                fail_msg("%s %s, element %zu: %.9g, not %.9g", isa_name(isa), forge_dtype_name(dtype), i,
                         view_number(out, i), wanted);
        }
    }
    for (int i = 0; i < 2; i++) {
        size_t first = (size_t)((char *)in[i].data - (char *)buffers[i]) / forge_dtype_block_bytes(dtype);
        free((double *)numbers[i].data - first);
        free((double *)large[i].data - first);
    }
    free(exact.data);
    free(bound.data);
}

static void check_packed(forge_dtype dtype, forge_shape a, forge_shape b, uint32_t flags, forge_shape shape)
{
    size_t a_count = forge_shape_elements(&a), b_count = forge_shape_elements(&b),
           count = a_count > b_count ? a_count : b_count;
    void *buffers[2] = {random_floats(dtype, count), random_floats(dtype, count)};
    struct view in[2] = {view_packed(dtype, buffers[0], a), view_packed(dtype, buffers[1], b)};
    struct view out = view_packed(dtype, random_floats(dtype, forge_shape_elements(&shape)), shape);
    check(in, flags, dtype, buffers, count, &out);
    free(buffers[0]);
    free(buffers[1]);
    free(out.data);
}

/* Checks the product [m, k] x [k, n]. flags: FORGE_TRANSPOSE_A and FORGE_TRANSPOSE_B for operands that are
 * stored transposed. */
static void check_sizes(forge_dtype dtype, uint32_t flags, int64_t m, int64_t n, int64_t k)
{
    check_packed(dtype, flags & FORGE_TRANSPOSE_A ? forge_shape_of(k, m) : forge_shape_of(m, k),
                 flags & FORGE_TRANSPOSE_B ? forge_shape_of(n, k) : forge_shape_of(k, n), flags,
                 forge_shape_of(m, n));
}

/* --- sizes ---------------------------------------------------------------------------------------------- */

static void test_every_depth_equals_the_reference(void **state)
{
    (void)state;
    static const int64_t more[] = {63, 64, 65, 191, 192, 193, 383, 384, 385, 767, 768, 769, 1000, 1153};
    for (uint32_t flags = 0; flags < 4; flags++) {
        for (int64_t k = 1; k <= 33; k++) {
            check_sizes(FORGE_F32, flags, 15, 33, k);
            check_sizes(FORGE_F64, flags, 15, 17, k);
            check_sizes(k % 2 ? FORGE_BF16 : FORGE_F16, flags, 15, 33, k);
        }
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            check_sizes(i % 2 ? FORGE_F32 : FORGE_F64, flags, 3, 5, more[i]);
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            check_sizes(i % 2 ? FORGE_F16 : FORGE_BF16, flags, 3, 5, more[i]);
    }
}

static void test_sizes_beyond_every_block_equal_the_reference(void **state)
{
    (void)state;
    check_sizes(FORGE_F32, 0, 345, 530, 390);
    check_sizes(FORGE_F32, 0, 31, 1030, 790);
    check_sizes(FORGE_F32, 3, 20, 1030, 90);
    check_sizes(FORGE_F64, 1, 171, 515, 30);
    check_sizes(FORGE_BF16, 0, 345, 530, 390);
    check_sizes(FORGE_BF16, 2, 530, 300, 790);
    check_sizes(FORGE_F16, 3, 20, 1030, 90);
    check_sizes(FORGE_F16, 1, 1100, 31, 770);
}

/* Checks that a product of the first rows and columns has the same bits as that part of the larger
 * product. */
static void check_part(enum isa isa, const struct launch *whole, int64_t m, int64_t n)
{
    struct view in[2] = {whole->inputs[0], whole->inputs[1]};
    struct view out = view_packed(in[0].dtype, NULL, forge_shape_of(m, n));
    struct launch part = matmul(whole->attributes, in, &out);
    uint32_t flags = ((const struct matmul_attributes *)whole->attributes)->flags;
    const struct view *wanted = &whole->outputs[0];
    size_t bytes = forge_dtype_block_bytes(out.dtype), row_bytes = (size_t)n * bytes;
    in[0].shape.dims[flags & FORGE_TRANSPOSE_A ? 1 : 0] = m;
    in[1].shape.dims[flags & FORGE_TRANSPOSE_B ? 0 : 1] = n;
    out.data = malloc((size_t)m * row_bytes);
    assert_non_null(out.data);
    run_kernel(isa, &part);
    for (size_t i = 0; i < (size_t)m; i++)
        assert_memory_equal((char *)out.data + i * row_bytes,
                            (char *)wanted->data + i * (size_t)wanted->shape.dims[1] * bytes, row_bytes);
    free(out.data);
}

static void check_every_tail(forge_dtype dtype, uint32_t flags)
{
    enum { M = 2 * 14 + 1, N = 2 * 32 + 1, K = 21 };
    const struct matmul_attributes attributes = {flags, builder_accumulator(dtype)};
    void *buffers[2] = {random_floats(dtype, N * K), random_floats(dtype, N * K)};
    struct view in[2] = {
        view_packed(dtype, buffers[0],
                    flags & FORGE_TRANSPOSE_A ? forge_shape_of(K, M) : forge_shape_of(M, K)),
        view_packed(dtype, buffers[1],
                    flags & FORGE_TRANSPOSE_B ? forge_shape_of(N, K) : forge_shape_of(K, N))};
    struct view out = view_packed(dtype, random_floats(dtype, M * N), forge_shape_of(M, N));
    struct launch whole = matmul(&attributes, in, &out);
    check(in, flags, dtype, buffers, N * K, &out);
    EACH_ISA (isa) {
        run_kernel(isa, &whole);
        for (int64_t m = 1; m <= M; m++)
            for (int64_t n = 1; n <= N; n++)
                check_part(isa, &whole, m, n);
    }
    free(buffers[0]);
    free(buffers[1]);
    free(out.data);
}

static void test_every_tail_equals_the_reference(void **state)
{
    (void)state;
    check_every_tail(FORGE_F32, 0);
    check_every_tail(FORGE_F32, FORGE_TRANSPOSE_A | FORGE_TRANSPOSE_B);
    check_every_tail(FORGE_F64, FORGE_TRANSPOSE_B);
    check_every_tail(FORGE_BF16, 0);
    check_every_tail(FORGE_BF16, FORGE_TRANSPOSE_A | FORGE_TRANSPOSE_B);
    check_every_tail(FORGE_F16, FORGE_TRANSPOSE_B);
}

static void test_operands_without_elements_are_accepted(void **state)
{
    (void)state;
    check_packed(FORGE_F32, forge_shape_of(3, 0), forge_shape_of(0, 40), 0, forge_shape_of(3, 40));
    check_packed(FORGE_F64, forge_shape_of(2, 0, 3), forge_shape_of(4, 0), 3, forge_shape_of(2, 3, 4));
    check_packed(FORGE_F32, forge_shape_of(0, 3), forge_shape_of(3, 4), 0, forge_shape_of(0, 4));
    check_packed(FORGE_F32, forge_shape_of(2, 3), forge_shape_of(3, 0), 0, forge_shape_of(2, 0));
    check_packed(FORGE_BF16, forge_shape_of(3, 0), forge_shape_of(0, 40), 0, forge_shape_of(3, 40));
    check_packed(FORGE_F16, forge_shape_of(0, 3), forge_shape_of(3, 4), 0, forge_shape_of(0, 4));
    check_packed(FORGE_F32, forge_shape_of(0, 2, 3), forge_shape_of(3, 4), 0, forge_shape_of(0, 2, 4));
}

/* --- views ---------------------------------------------------------------------------------------------- */

static void test_leading_dimensions_are_broadcast(void **state)
{
    (void)state;
    check_packed(FORGE_F32, forge_shape_of(2, 3, 4, 5), forge_shape_of(5, 6), 0, forge_shape_of(2, 3, 4, 6));
    check_packed(FORGE_F32, forge_shape_of(4, 1, 5), forge_shape_of(5, 6), 0, forge_shape_of(4, 1, 6));
    check_packed(FORGE_F32, forge_shape_of(4, 5, 3), forge_shape_of(5, 6), FORGE_TRANSPOSE_A,
                 forge_shape_of(4, 3, 6));
    check_packed(FORGE_F32, forge_shape_of(4, 5), forge_shape_of(2, 3, 6, 5), FORGE_TRANSPOSE_B,
                 forge_shape_of(2, 3, 4, 6));
    check_packed(FORGE_F64, forge_shape_of(2, 1, 5, 9), forge_shape_of(3, 5, 6), FORGE_TRANSPOSE_A,
                 forge_shape_of(2, 3, 9, 6));
    check_packed(FORGE_F32, forge_shape_of(1, 3, 9, 2), forge_shape_of(4, 1, 2, 3), 0,
                 forge_shape_of(4, 3, 9, 3));
    check_packed(FORGE_F32, forge_shape_of(5, 1, 9, 2), forge_shape_of(1, 2, 3), 0,
                 forge_shape_of(5, 1, 9, 3));
    check_packed(FORGE_F64, forge_shape_of(150, 3, 4), forge_shape_of(150, 4, 5), 0,
                 forge_shape_of(150, 3, 5));
    check_packed(FORGE_BF16, forge_shape_of(2, 3, 4, 5), forge_shape_of(5, 6), 0, forge_shape_of(2, 3, 4, 6));
    check_packed(FORGE_F16, forge_shape_of(2, 1, 5, 9), forge_shape_of(3, 5, 6), FORGE_TRANSPOSE_A,
                 forge_shape_of(2, 3, 9, 6));
}

static void test_strided_views_equal_the_reference(void **state)
{
    (void)state;
    enum { COUNT = 6000 };
    static const forge_dtype dtypes[] = {FORGE_F64,  FORGE_F32, FORGE_F32,  FORGE_F64,
                                         FORGE_BF16, FORGE_F16, FORGE_BF16, FORGE_F16};
    for (uint32_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        forge_dtype dtype = dtypes[i];
        uint32_t flags = i % 4;
        size_t bytes = forge_dtype_block_bytes(dtype);
        void *buffers[2] = {random_floats(dtype, COUNT), random_floats(dtype, COUNT)};
        double results[2 * 20 * 20];
        struct view in[2] = {
            {(char *)buffers[0] + (COUNT - 1) * bytes, dtype, forge_shape_of(2, 20, 20), {-2500, -101, -3}},
            {(char *)buffers[1] + 61 * bytes, dtype, forge_shape_of(20, 20), {1, -2}}};
        struct view out = view_packed(dtype, results, forge_shape_of(2, 20, 20));
        check(in, flags, dtype, buffers, COUNT, &out);
        in[0].data = (char *)buffers[0] + 5000 * bytes;
        in[0].strides[1] = 1; /* the rows of in[0] overlap, and in[1] repeats one row */
        in[1].data = (char *)buffers[1] + bytes;
        in[1].strides[0] = 0;
        in[1].strides[1] = 1;
        check(in, flags, dtype, buffers, COUNT, &out);
        free(buffers[0]);
        free(buffers[1]);
    }
}

static void test_operands_of_f16_without_f32_sums_have_no_kernel(void **state)
{
    (void)state;
    const struct matmul_attributes attributes = {0, FORGE_F64};
    struct view half[2] = {view_packed(FORGE_F16, NULL, forge_shape_of(2, 2)),
                           view_packed(FORGE_F16, NULL, forge_shape_of(2, 2))};
    struct launch launch = matmul(&attributes, half, half);
    EACH_ISA (isa)
        assert_null(kernel_for(isa, &launch));
}

/* --- numbers -------------------------------------------------------------------------------------------- */

/* Products with a factor 0 are computed. The zeros that pad panels must not reach the result. */
static void test_nan_and_infinity_are_propagated(void **state)
{
    (void)state;
    enum { N = 37 };
    static float a[N * N], b[N * N], results[N * N];
    const struct matmul_attributes attributes = {0, FORGE_F32};
    struct view in[2] = {view_packed(FORGE_F32, a, forge_shape_of(N, N)),
                         view_packed(FORGE_F32, b, forge_shape_of(N, N))};
    struct view out = view_packed(FORGE_F32, results, forge_shape_of(N, N));
    struct launch launch = matmul(&attributes, in, &out);
    for (size_t i = 0; i < N * N; i++)
        b[i] = 1;
    a[3 * N + 36] = NAN;
    a[20 * N + 1] = INFINITY;
    b[5 * N + 36] = -INFINITY; /* this infinity is multiplied only by zeros of a */
    EACH_ISA (isa) {
        run_kernel(isa, &launch);
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++) {
                float x = results[i * N + j];
                assert_true(i == 3 || j == 36 ? isnan(x) : i == 20 ? x == INFINITY : x == 0);
            }
    }
}

static void test_fused_sets_agree(void **state)
{
    (void)state;
    enum { M = 50, N = 90, K = 800 };
    static float results[2][M * N];
    const struct matmul_attributes attributes = {0, FORGE_F32};
#if defined(__aarch64__)
    const enum isa fused[2] = {ISA_PLAIN, ISA_NEON};
#else
    const enum isa fused[2] = {ISA_AVX2, ISA_AVX512};
#endif
    if (!isa_is_here(fused[1])) {
        print_message("skipped: this processor has one fused instruction set at most\n");
        skip();
    }
    struct view in[2] = {view_packed(FORGE_F32, random_floats(FORGE_F32, M * K), forge_shape_of(M, K)),
                         view_packed(FORGE_F32, random_floats(FORGE_F32, K * N), forge_shape_of(K, N))};
    for (int i = 0; i < 2; i++) {
        struct view out = view_packed(FORGE_F32, results[i], forge_shape_of(M, N));
        struct launch launch = matmul(&attributes, in, &out);
        run_kernel(fused[i], &launch);
    }
    assert_memory_equal(results[0], results[1], sizeof results[0]);
    free(in[0].data);
    free(in[1].data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_depth_equals_the_reference),
        cmocka_unit_test(test_sizes_beyond_every_block_equal_the_reference),
        cmocka_unit_test(test_every_tail_equals_the_reference),
        cmocka_unit_test(test_operands_without_elements_are_accepted),
        cmocka_unit_test(test_leading_dimensions_are_broadcast),
        cmocka_unit_test(test_strided_views_equal_the_reference),
        cmocka_unit_test(test_operands_of_f16_without_f32_sums_have_no_kernel),
        cmocka_unit_test(test_nan_and_infinity_are_propagated),
        cmocka_unit_test(test_fused_sets_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
