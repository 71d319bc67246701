/* Checks that `forge check` finds wrong kernels. The device in this test changes one element of the
 * results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "check_value.h"
#include "forge/core/dtype.h"
#include "forge/hal/backend.h"

static double spoilt_by;        /* relative change of the element; 0: no change */
static const char *spoilt_name; /* name of the composite to change; NULL: the last launch is changed */

static const struct bound_launch *launch_to_spoil(const struct bound_launch *launches, size_t count)
{
    for (size_t i = 0; spoilt_name && i < count; i++) {
        const struct composite_attributes *a = launches[i].launch.attributes;
        if (launches[i].launch.op == OP_COMPOSITE && strcmp(a->name, spoilt_name) == 0)
            return &launches[i];
    }
    return spoilt_name ? NULL : &launches[count - 1];
}

static unsigned times_spoilt;

/* Adds a change of `number`, relative to its magnitude plus 1. A bool, an infinity or NaN becomes another
 * number. Results of composites in 16 bits change by more than their rounding. */
static double spoil(const struct dtype_row *row, double number)
{
    bool is_narrow = row == dtype_row(FORGE_BF16) || row == dtype_row(FORGE_F16);
    double by = spoilt_name && is_narrow ? fmax(spoilt_by, 0x1p-4) : spoilt_by;
    return row->kind == DTYPE_BOOL ? number == 0 : isfinite(number) ? number + by * (1 + fabs(number)) : 0;
}

/* Changes the middle element of a launch's first result. In a block format, stores all elements of the block
 * again. */
static joule_status run_and_spoil(forge_device *device, const struct bound_launch *launches, size_t count,
                                  int64_t *ends_ns, joule_error *error)
{
    joule_status status = cpu_ops.run(device, launches, count, ends_ns, error);
    const struct bound_launch *launch = launch_to_spoil(launches, count);
    if (!launch)
        return status;
    const struct view *out = &launch->launch.outputs[0];
    const struct dtype_row *row = dtype_row(out->dtype);
    size_t middle = forge_shape_elements(&out->shape) / 2, length = row->block_elements,
           first = middle / length * length;
    double block[K_BLOCK_ELEMENTS];
    if (status != JOULE_OK || spoilt_by == 0)
        return status;
    times_spoilt++;
    row->load(out->data, first, length, block);
    block[middle - first] = spoil(row, block[middle - first]);
    row->store(out->data, first, length, block);
    return status;
}

static forge_device *open_spoiling(void)
{
    static struct device_ops ops;
    forge_device *device;
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    ops = cpu_ops;
    ops.run = run_and_spoil;
    device->ops = &ops;
    return device;
}

static double worst_of(forge_device *device, unsigned op, enum case_purpose purpose, uint64_t seed)
{
    struct check_case c;
    struct verdict verdict = {.worst = NAN};
    joule_error error = {0};
    joule_status status = case_make(op, purpose, FORGE_DTYPE_NONE, seed, &c, &error);
    if (status == JOULE_OK)
        status = purpose == CASE_GRAD ? check_grad(device, &c, &verdict, &error)
                                      : check_value(device, &c, &verdict, &error);
    case_free(&c);
    if (status != JOULE_OK && status != JOULE_UNSUPPORTED)
        fail_msg("%s, seed %llu: %s", case_name(op), (unsigned long long)seed, error.message);
    return verdict.worst;
}

static void test_right_results_pass_and_wrong_ones_fail(void **state)
{
    (void)state;
    forge_device *device = open_spoiling();
    for (enum op op = 0; op < OP_COUNT; op++)
        for (uint64_t seed = 1; case_exists(op) && seed <= 8; seed++) {
            spoilt_by = 0;
            if (!(worst_of(device, op, CASE_VALUE, seed) <= 1))
                fail_msg("%s, seed %llu: a right element was taken for wrong", op_name(op),
                         (unsigned long long)seed);
            spoilt_by = 1;
            if (!(worst_of(device, op, CASE_VALUE, seed) > 1))
                fail_msg("%s, seed %llu: a wrong element was not found", op_name(op),
                         (unsigned long long)seed);
        }
    forge_device_close(device);
}

static void test_size_of_an_error_is_reported(void **state)
{
    (void)state;
    forge_device *device = open_spoiling();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        spoilt_by = 1e-3; /* an ulp of f16; coarser types may not represent the change */
        double coarse = worst_of(device, OP_RESHAPE, CASE_VALUE, seed);
        assert_true(coarse == 0 || coarse > 1); /* moves must be exact: any visible change is an error */
        spoilt_by = 1e-1;
        assert_true(worst_of(device, OP_MATMUL, CASE_VALUE, seed) > 1);
        spoilt_by = 1e-12;
        /* an f64 product may have an error of a few DBL_EPSILON */
        assert_true(worst_of(device, OP_MATMUL, CASE_VALUE, seed) < 2000);
    }
    forge_device_close(device);
}

/* Loss and gradients are outputs. If one of them is changed, the slope computed from the gradients differs
 * from the slope computed from the losses. */
static void test_wrong_gradients_fail(void **state)
{
    (void)state;
    static const enum op ops[] = {OP_MATMUL, OP_CONV, OP_GATHER};
    forge_device *device = open_spoiling();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        spoilt_by = 0;
        assert_true(worst_of(device, ops[i], CASE_GRAD, 3) <= 1);
        spoilt_by = 0.5;
        assert_true(worst_of(device, ops[i], CASE_GRAD, 3) > 1);
    }
    forge_device_close(device);
}

static unsigned subject_of(const char *name)
{
    size_t length = strcspn(name, "."); /* the name without ".gradient" */
    unsigned subject = OP_COUNT;
    while (strlen(case_name(subject)) != length || strncmp(case_name(subject), name, length) != 0)
        subject++;
    return subject;
}

/* Changes the results of kernels for composites and for their gradients. Each change must be found. The
 * change of a cache is larger, so that bf16 does not round it away. */
static void test_wrong_kernels_of_composites_fail(void **state)
{
    (void)state;
    static const char *const names[] = {"softmax",
                                        "log_softmax",
                                        "cross_entropy",
                                        "layer_norm",
                                        "rms_norm",
                                        "batch_norm",
                                        "adamw",
                                        "attention",
                                        "linear",
                                        "embedding",
                                        "rotary",
                                        "swiglu",
                                        "cache_write",
                                        "paged_attention",
                                        "softmax.gradient",
                                        "cross_entropy.gradient",
                                        "layer_norm.gradient",
                                        "attention.gradient"};
    forge_device *device = open_spoiling();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unsigned subject = subject_of(names[i]);
        spoilt_name = names[i];
        times_spoilt = 0;
        for (uint64_t seed = 1; seed <= 5; seed++) {
            spoilt_by = 0;
            assert_true(worst_of(device, subject, CASE_VALUE, seed) <= 1);
            spoilt_by = strcmp(names[i], "cache_write") == 0 ? 0x1p-6 : 1e-3;
            unsigned before = times_spoilt;
            bool is_found = worst_of(device, subject, CASE_VALUE, seed) > 1;
            if (is_found != (times_spoilt > before))
                fail_msg("%s, seed %llu: a wrong element was not found", names[i], (unsigned long long)seed);
        }
        assert_true(times_spoilt >= 3); /* at least three cases run this kernel */
    }
    spoilt_name = NULL;
    forge_device_close(device);
}

static void test_every_operation_and_composite_has_cases(void **state)
{
    (void)state;
    for (unsigned subject = 0; case_name(subject); subject++) {
        struct check_case c;
        joule_error error = {0};
        if (!case_exists(subject)) {
            assert_true(subject < OP_COUNT); /* a leaf */
            continue;
        }
        if (case_make(subject, CASE_VALUE, FORGE_DTYPE_NONE, 1, &c, &error) != JOULE_OK)
            fail_msg("%s: %s", case_name(subject), error.message);
        case_free(&c);
        if (case_make(subject, CASE_TIME, FORGE_DTYPE_NONE, 1, &c, &error) != JOULE_OK)
            fail_msg("%s: %s", case_name(subject), error.message);
        case_free(&c);
    }
}

static void test_the_same_seed_gives_the_same_case(void **state)
{
    (void)state;
    struct check_case a, b;
    for (uint64_t seed = 0; seed < 5; seed++) {
        assert_int_equal(case_make(OP_CONV, CASE_VALUE, FORGE_DTYPE_NONE, seed, &a, NULL), JOULE_OK);
        assert_int_equal(case_make(OP_CONV, CASE_VALUE, FORGE_DTYPE_NONE, seed, &b, NULL), JOULE_OK);
        assert_int_equal(a.input_count, b.input_count);
        for (size_t i = 0; i < a.input_count; i++)
            assert_memory_equal(forge_tensor_data(&a.inputs[i].tensor),
                                forge_tensor_data(&b.inputs[i].tensor),
                                forge_buffer_size_bytes(a.inputs[i].tensor.buffer));
        case_free(&a);
        case_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_results_pass_and_wrong_ones_fail),
        cmocka_unit_test(test_size_of_an_error_is_reported),
        cmocka_unit_test(test_wrong_gradients_fail),
        cmocka_unit_test(test_wrong_kernels_of_composites_fail),
        cmocka_unit_test(test_every_operation_and_composite_has_cases),
        cmocka_unit_test(test_the_same_seed_gives_the_same_case),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
