/* Checks the CPU's elementwise kernels, for each instruction set and type, against the reference.
 *
 * Results must be equal if the operation rounds only once, and within an ulp otherwise. Results must not
 * depend on the view, on the position in a run, or on whether the operation is in place. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit/forge/cpu_kernels.h"

static const float specials[] = {
    0,       -0.f,     1,        -1,     INFINITY,   -INFINITY,  NAN,          FLT_MIN,      -FLT_MIN,
    FLT_MAX, -FLT_MAX, 88.7228f, 88.73f, -87.33f,    -103.f,     0x1p-30f,     -0x1p-30f,    0x1p-60f,
    10,      -10,      13.1f,    -13.1f, .70710677f, 1.4142135f, 1 - 0x1p-24f, 1 + 0x1p-23f, -5.5f};
enum { SPECIALS = sizeof specials / sizeof *specials };

/* Returns the distance of two f32 in ulps; NaN equals NaN. */
static double ulps(float x, float exact)
{
    int32_t a, b;
    if (isnan(x) || isnan(exact))
        return isnan(x) && isnan(exact) ? 0 : INFINITY;
    if (fabsf(x) <= FLT_MIN && fabsf(exact) <= FLT_MIN) /* kernels may flush smaller results to zero */
        return 0;
    memcpy(&a, &x, 4);
    memcpy(&b, &exact, 4);
    a = a < 0 ? INT32_MIN - a : a;
    b = b < 0 ? INT32_MIN - b : b;
    return fabs((double)a - (double)b);
}

static const forge_dtype types[] = {FORGE_F32, FORGE_F64, FORGE_BF16, FORGE_F16};
enum { TYPES = sizeof types / sizeof *types };
#define EACH_TYPE(type)                                                                                      \
    for (size_t number_ = 0; number_ < TYPES; number_++)                                                     \
        for (forge_dtype type = types[number_], *once_ = &type; once_; once_ = NULL)

static void *at(forge_dtype type, void *data, size_t element)
{
    return (char *)data + element * forge_dtype_block_bytes(type);
}

/* Returns the distance of neighbouring numbers near x; type: bf16 or f16. */
static double ulp_of(forge_dtype type, double x)
{
    double min = type == FORGE_BF16 ? (double)FLT_MIN : 0x1p-14;
    return fmax(fabs(x), min) * (type == FORGE_BF16 ? 0x1p-7 : 0x1p-10);
}

/* Returns true if the elements differ by at most this many ulps; f64 elements must be equal. */
static bool is_near(const struct view *out, const struct view *wanted, size_t i, double max_ulps)
{
    double x = view_number(out, i), exact = view_number(wanted, i);
    if (out->dtype == FORGE_F32)
        return ulps((float)x, (float)exact) <= max_ulps;
    if (out->dtype == FORGE_BF16 && fabs(x) <= (double)FLT_MIN && fabs(exact) <= (double)FLT_MIN)
        return true;
    if (out->dtype != FORGE_F64 && max_ulps > 0 && fabs(x - exact) <= max_ulps * ulp_of(out->dtype, exact))
        return true;
    return x == exact || (isnan(x) && isnan(exact));
}

/* --- one operand ---------------------------------------------------------------------------------------- */

/* Returns numbers of all magnitudes of f32, and special values. */
static void *inputs(forge_dtype type, size_t count)
{
    char *data = random_floats(type, count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)random_bits();
        float single;
        double x = 20 * random_number();
        memcpy(&single, &bits, 4);
        if (i < SPECIALS || i % 2 == 0)
            x = (double)(i < SPECIALS ? specials[i] : single);
        if (x != 0 && fabs(x) < (double)FLT_MIN)
            x = 1;
        dtype_row(type)->store(data, i, 1, &x);
    }
    return data;
}

static void check_unary(enum isa isa, forge_dtype type, forge_unary_kind kind, double max_ulps)
{
    enum { COUNT = 30011 };
    const struct kind_attributes attributes = {kind};
    struct view in = view_packed(type, inputs(type, COUNT), forge_shape_of(COUNT)), out = in, wanted = in;
    struct launch launch = {OP_UNARY, &attributes, &in, 1, &out, 1},
                  reference = {OP_UNARY, &attributes, &in, 1, &wanted, 1};
    out.data = random_floats(type, COUNT);
    wanted.data = random_floats(type, COUNT);
    reference_unary(&reference, 0, 1);
    if (kernel_for(isa, &launch))
        run_kernel(isa, &launch);
    for (size_t i = 0; kernel_for(isa, &launch) && i < COUNT; i++)
        if (!is_near(&out, &wanted, i, max_ulps))
            fail_msg("%s %s(%a): %a, not %a", isa_name(isa), unary_name(kind), view_number(&in, i),
                     view_number(&out, i), view_number(&wanted, i));
    free(in.data);
    free(out.data);
    free(wanted.data);
}

static void test_every_unary_operation_equals_the_reference(void **state)
{
    (void)state;
    EACH_ISA (isa)
        for (forge_unary_kind kind = 0; kind < FORGE_UNARY_KINDS; kind++) {
            bool is_exact = kind == FORGE_NEG || kind == FORGE_ABS || kind == FORGE_SQUARE ||
                            kind == FORGE_SQRT || kind == FORGE_RECIPROCAL || kind == FORGE_RELU;
            check_unary(isa, FORGE_F32, kind, is_exact ? 0 : 1);
            check_unary(isa, FORGE_F64, kind, 0);
            check_unary(isa, FORGE_BF16, kind, is_exact ? 0 : 1);
            check_unary(isa, FORGE_F16, kind, is_exact ? 0 : 1);
        }
}

static void test_operations_of_all_floats_but_f64_have_vector_kernels(void **state)
{
    (void)state;
    static const forge_unary_kind kinds[] = {FORGE_NEG,  FORGE_RELU,    FORGE_SQRT, FORGE_EXP,      FORGE_LOG,
                                             FORGE_TANH, FORGE_SIGMOID, FORGE_GELU, FORGE_GELU_TANH};
    EACH_ISA (isa)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            const struct kind_attributes attributes = {kinds[i]};
            EACH_TYPE(type)
            {
                struct view x = view_packed(type, NULL, forge_shape_of(3));
                struct launch launch = {OP_UNARY, &attributes, &x, 1, &x, 1};
                assert_true(type == FORGE_F64 || kernel_for(isa, &launch));
            }
        }
}

static void test_f64_operations_have_vector_kernels(void **state)
{
    (void)state;
    static const forge_unary_kind kinds[] = {FORGE_NEG, FORGE_RELU, FORGE_SQRT, FORGE_ABS};
    const struct kind_attributes add = {FORGE_ADD};
    struct view x = view_packed(FORGE_F64, NULL, forge_shape_of(3)), in[] = {x, x};
    struct launch binary = {OP_BINARY, &add, in, 2, &x, 1};
    EACH_ISA (isa) {
        assert_non_null(kernel_for(isa, &binary));
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            const struct kind_attributes attributes = {kinds[i]};
            struct launch launch = {OP_UNARY, &attributes, &x, 1, &x, 1};
            assert_non_null(kernel_for(isa, &launch));
        }
    }
}

/* --- two operands --------------------------------------------------------------------------------------- */

static void check_elements(enum isa isa, enum op op, const void *attributes, const struct view *in,
                           size_t count, forge_dtype dtype, forge_shape shape)
{
    size_t elements = forge_shape_elements(&shape), bytes = forge_dtype_block_bytes(dtype);
    struct view out = view_packed(dtype, malloc(elements * bytes + 1), shape), wanted = out;
    struct launch launch = {op, attributes, in, count, &out, 1}, reference = launch;
    wanted.data = malloc(elements * bytes + 1);
    reference.outputs = &wanted;
    assert_non_null(kernel_for(isa, &launch));
    reference_of(op)(&reference, 0, launch_rows(&launch));
    run_kernel(isa, &launch);
    for (size_t i = 0; i < elements; i++)
        if (!is_near(&out, &wanted, i, 0))
            fail_msg("%s %s, element %zu: %g, not %g", isa_name(isa), op_name(op), i, view_number(&out, i),
                     view_number(&wanted, i));
    free(out.data);
    free(wanted.data);
}

static forge_dtype type_of(forge_dtype type, forge_binary_kind kind)
{
    return kind >= FORGE_EQ ? FORGE_BOOL : type;
}

/* The operands are all pairs of special values. */
static void test_every_binary_operation_equals_the_reference(void **state)
{
    (void)state;
    EACH_TYPE(type)
    {
        void *data = inputs(type, SPECIALS);
        struct view in[2] = {{data, type, forge_shape_of(SPECIALS, 1), {1, 1}},
                             {data, type, forge_shape_of(SPECIALS), {1}}};
        EACH_ISA (isa)
            for (forge_binary_kind kind = 0; kind < FORGE_BINARY_KINDS; kind++) {
                const struct kind_attributes attributes = {kind};
                struct launch launch = {OP_BINARY, &attributes, in, 2, in, 1};
                if (kernel_for(isa, &launch))
                    check_elements(isa, OP_BINARY, &attributes, in, 2, type_of(type, kind),
                                   forge_shape_of(SPECIALS, SPECIALS));
            }
        free(data);
    }
}

/* Runs have lengths up to two vectors plus one element. Each operand has each memory layout. */
static void test_runs_and_steps_of(forge_dtype type)
{
    static const int64_t strides[][2] = {{40, 1}, {0, 1}, {1, 0}, {0, 0}, {1, 33}, {-40, -1}, {80, 2}};
    enum { WAYS = sizeof strides / sizeof *strides, ROWS = 3 };
    void *data = random_floats(type, 4000);
    EACH_ISA (isa)
        for (int64_t n = 1; n <= 33; n++)
            for (size_t a = 0; a < WAYS; a++)
                for (size_t b = 0; b < WAYS; b++) {
                    forge_binary_kind kind = n % 2 ? FORGE_SUB : FORGE_LT;
                    const struct kind_attributes attributes = {kind};
                    struct view in[2] = {{at(type, data, 1001), type, forge_shape_of(ROWS, n), {0}},
                                         {at(type, data, 1900), type, forge_shape_of(ROWS, n), {0}}};
                    memcpy(in[0].strides, strides[a], sizeof strides[a]);
                    memcpy(in[1].strides, strides[b], sizeof strides[b]);
                    check_elements(isa, OP_BINARY, &attributes, in, 2, type_of(type, kind),
                                   forge_shape_of(ROWS, n));
                }
    free(data);
}

static void test_broadcast_and_strided_operands_equal_the_reference(void **state)
{
    (void)state;
    EACH_TYPE(type)
    test_runs_and_steps_of(type);
}

static void test_beyond_a_piece_of(forge_dtype type)
{
    const struct kind_attributes add = {FORGE_ADD};
    void *data = random_floats(type, 40000);
    struct view in[2] = {view_packed(type, data, forge_shape_of(100, 1, 130)),
                         view_packed(type, at(type, data, 3), forge_shape_of(2, 1))};
    struct view turned[2] = {in[0], {data, type, forge_shape_of(100, 2, 130), {1, 13000, 100}}};
    EACH_ISA (isa) {
        check_elements(isa, OP_BINARY, &add, in, 2, type, forge_shape_of(100, 2, 130));
        check_elements(isa, OP_BINARY, &add, turned, 2, type, forge_shape_of(100, 2, 130));
    }
    free(data);
}

/* Many short runs: the first input has its first two dimensions exchanged, and the others are broadcast. */
static void test_short_runs_of(forge_dtype type)
{
    const struct kind_attributes sub = {FORGE_SUB};
    forge_shape shape = forge_shape_of(30, 50, 3, 3);
    void *data = random_floats(type, 14000);
    struct view turned = {data, type, shape, {9, 270, 3, 1}}, back = {data, type, shape, {270, 9, -3, 1}},
                column = {data, type, forge_shape_of(50, 1, 1), {1, 1, 1}},
                row = {data, type, forge_shape_of(3), {-1}}, packed = view_packed(type, data, shape);
    back.data = at(type, data, 6);
    row.data = at(type, data, 8);
    const struct view pairs[][2] = {{turned, packed}, {packed, turned}, {turned, back},
                                    {column, turned}, {row, packed},    {packed, column}};
    EACH_ISA (isa)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            check_elements(isa, OP_BINARY, &sub, pairs[i], 2, type, shape);
    free(data);
}

static void test_short_runs_equal_the_reference(void **state)
{
    (void)state;
    EACH_TYPE(type)
    test_short_runs_of(type);
}

static void test_operands_longer_than_a_piece_equal_the_reference(void **state)
{
    (void)state;
    EACH_TYPE(type)
    test_beyond_a_piece_of(type);
}

static void test_select_of(forge_dtype type)
{
    uint8_t conditions[200];
    void *data = random_floats(type, 400);
    for (size_t i = 0; i < sizeof conditions; i++)
        conditions[i] = random_bits() & 1;
    dtype_row(type)->store(data, 7, 1, &(double){NAN});
    EACH_ISA (isa)
        for (int64_t n = 1; n <= 33; n++) {
            struct view in[3] = {view_packed(FORGE_BOOL, conditions, forge_shape_of(3, n)),
                                 view_packed(type, data, forge_shape_of(3, n)),
                                 view_packed(type, at(type, data, 100), forge_shape_of(n))};
            check_elements(isa, OP_SELECT, NULL, in, 3, type, forge_shape_of(3, n));
            in[0] = view_packed(FORGE_BOOL, conditions, forge_shape_of(3, 1));
            in[1].data = at(type, data, 50);
            in[1].strides[0] = -2;
            in[1].strides[1] = 3;
            check_elements(isa, OP_SELECT, NULL, in, 3, type, forge_shape_of(3, n));
        }
    free(data);
}

static void test_select_equals_the_reference(void **state)
{
    (void)state;
    EACH_TYPE(type)
    test_select_of(type);
}

static void test_cast_of(forge_dtype type)
{
    uint8_t bytes[400];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_bits();
    EACH_ISA (isa)
        for (int64_t n = 1; n <= 33; n++) {
            struct cast_attributes attributes = {type};
            struct view turned = {bytes, FORGE_U8, forge_shape_of(3, n), {1, 5}},
                        repeated = {bytes, FORGE_U8, forge_shape_of(3, n), {1, 0}},
                        packed = view_packed(FORGE_U8, bytes + 1, forge_shape_of(3, n));
            check_elements(isa, OP_CAST, &attributes, &turned, 1, type, turned.shape);
            check_elements(isa, OP_CAST, &attributes, &repeated, 1, type, turned.shape);
            check_elements(isa, OP_CAST, &attributes, &packed, 1, type, turned.shape);
        }
}

static void test_casts_equal_the_reference(void **state)
{
    (void)state;
    EACH_TYPE(type)
    test_cast_of(type);
}

/* Checks casts of all special values and of random ones between two types of floats. */
static void test_cast_between(forge_dtype from, forge_dtype to)
{
    enum { COUNT = 5003 };
    struct cast_attributes attributes = {to};
    void *data = inputs(from, COUNT);
    EACH_ISA (isa) {
        struct view packed = view_packed(from, data, forge_shape_of(COUNT)),
                    turned = {at(from, data, COUNT - 1), from, forge_shape_of(7, 300), {-1, -13}};
        check_elements(isa, OP_CAST, &attributes, &packed, 1, to, packed.shape);
        check_elements(isa, OP_CAST, &attributes, &turned, 1, to, turned.shape);
    }
    free(data);
}

static void test_casts_of_floats_equal_the_reference(void **state)
{
    (void)state;
    static const forge_dtype floats[] = {FORGE_F32, FORGE_BF16, FORGE_F16};
    for (int i = 0; i < 9; i++)
        if (i / 3 != i % 3)
            test_cast_between(floats[i / 3], floats[i % 3]);
}

/* Returns the same elements in this type. */
static void *converted(forge_dtype type, const float *numbers, size_t count)
{
    void *data = malloc(count * forge_dtype_block_bytes(type) + 1);
    assert_non_null(data);
    assert_int_equal(forge_convert(FORGE_F32, numbers, type, data, count), JOULE_OK);
    return data;
}

static void test_narrow_result_may_replace_an_operand(void **state)
{
    (void)state;
    enum { COUNT = 9001 };
    const struct kind_attributes sub = {FORGE_SUB};
    float *numbers = random_floats(FORGE_F32, 2 * COUNT);
    EACH_ISA (isa)
        for (int form = 0; form < 4; form++) {
            forge_dtype type = form / 2 ? FORGE_BF16 : FORGE_F16;
            void *data = converted(type, numbers, 2 * COUNT);
            struct view in[2] = {view_packed(type, data, forge_shape_of(COUNT)),
                                 view_packed(type, at(type, data, COUNT), forge_shape_of(COUNT))};
            struct view out = in[form % 2], wanted = view_packed(type, malloc(2 * COUNT), in[0].shape);
            struct launch launch = {OP_BINARY, &sub, in, 2, &out, 1}, apart = launch;
            size_t grain, pieces = kernel_for(isa, &launch)->pieces(&launch, &grain);
            apart.outputs = &wanted;
            run_some(kernel_for(isa, &launch), &apart, 0, 0, pieces, NULL);
            run_some(kernel_for(isa, &launch), &launch, 0, 0, pieces, NULL);
            assert_memory_equal(out.data, wanted.data, 2 * COUNT);
            free(data);
            free(wanted.data);
        }
    free(numbers);
}

static void test_result_may_replace_an_operand(void **state)
{
    (void)state;
    enum { COUNT = 9001 };
    const struct kind_attributes sub = {FORGE_SUB}, relu = {FORGE_RELU};
    EACH_ISA (isa)
        for (int form = 0; form < 3; form++) {
            float *a = random_floats(FORGE_F32, COUNT), *b = random_floats(FORGE_F32, COUNT);
            float *to = form == 1 ? b : a, *wanted = malloc(COUNT * sizeof *wanted);
            struct view in[2] = {view_packed(FORGE_F32, a, forge_shape_of(COUNT)),
                                 view_packed(FORGE_F32, b, forge_shape_of(COUNT))};
            struct view out = view_packed(FORGE_F32, to, forge_shape_of(COUNT));
            struct launch launch = {
                form == 2 ? OP_UNARY : OP_BINARY, form == 2 ? &relu : &sub, in, form == 2 ? 1 : 2, &out, 1};
            for (size_t i = 0; i < COUNT; i++)
                wanted[i] = form == 2 ? fmaxf(a[i], 0) : a[i] - b[i];
            size_t grain, pieces = kernel_for(isa, &launch)->pieces(&launch, &grain);
            run_some(kernel_for(isa, &launch), &launch, 0, 0, pieces, NULL);
            assert_memory_equal(to, wanted, COUNT * sizeof *wanted);
            free(a);
            free(b);
            free(wanted);
        }
}

static void test_operands_without_elements_are_accepted(void **state)
{
    (void)state;
    const struct kind_attributes add = {FORGE_ADD};
    float data[4] = {1, 2, 3, 4};
    struct view none[2] = {view_packed(FORGE_F32, data, forge_shape_of(3, 0)),
                           view_packed(FORGE_F32, data, forge_shape_of(3, 1))};
    struct view one[2] = {view_packed(FORGE_F32, data, (forge_shape){0}),
                          view_packed(FORGE_F32, data, (forge_shape){0})};
    EACH_ISA (isa) {
        check_elements(isa, OP_BINARY, &add, none, 2, FORGE_F32, forge_shape_of(3, 0));
        check_elements(isa, OP_BINARY, &add, one, 2, FORGE_F32, (forge_shape){0});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_unary_operation_equals_the_reference),
        cmocka_unit_test(test_operations_of_all_floats_but_f64_have_vector_kernels),
        cmocka_unit_test(test_f64_operations_have_vector_kernels),
        cmocka_unit_test(test_every_binary_operation_equals_the_reference),
        cmocka_unit_test(test_broadcast_and_strided_operands_equal_the_reference),
        cmocka_unit_test(test_short_runs_equal_the_reference),
        cmocka_unit_test(test_operands_longer_than_a_piece_equal_the_reference),
        cmocka_unit_test(test_select_equals_the_reference),
        cmocka_unit_test(test_casts_equal_the_reference),
        cmocka_unit_test(test_casts_of_floats_equal_the_reference),
        cmocka_unit_test(test_narrow_result_may_replace_an_operand),
        cmocka_unit_test(test_result_may_replace_an_operand),
        cmocka_unit_test(test_operands_without_elements_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
