/* Checks that slots are written to files and read back, and the messages if file and slots do not match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/serialize.h>
#include "support/check.h"
#include "support/scratch.h"
#include "support/test_data.h"
#include "support/workbench.h"

static const char *const path = scratch_path;
static joule_error error;

/* Creates a layer called `name`, whose initial weights depend on `seed`. */
static struct workbench layer(const char *name, forge_dtype dtype, int64_t in, int64_t out, uint64_t seed)
{
    struct workbench n;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", dtype, forge_shape_of(1, in));
    forge_output(b, "y", forge_linear(b, name, x, out, true));
    assert_ok(workbench_begin(&n, seed, &error), &error);
    workbench_load(&n, b);
    return n;
}

static struct workbench begin(forge_dtype dtype, int64_t out, uint64_t seed)
{
    return layer("fc", dtype, 3, out, seed);
}

static void assert_same(const struct workbench *a, const struct workbench *b, const char *name, bool wanted)
{
    forge_tensor x = workbench_slot(a, name), y = workbench_slot(b, name);
    assert_true(x.dtype == y.dtype && forge_shape_equal(&x.shape, &y.shape));
    size_t size = forge_dtype_size_bytes(x.dtype, forge_tensor_elements(&x));
    assert_true((memcmp(forge_tensor_data(&x), forge_tensor_data(&y), size) == 0) == wanted);
}

static void expect_refused(const struct workbench *n, uint32_t flags, const char *part)
{
    memset(&error, 0, sizeof error);
    assert_int_equal(forge_states_load(n->states, path, flags, &error), JOULE_INVALID);
    assert_contains(error.message, part);
    assert_contains(error.message, path);
}

static bool is_bias(const char *name, void *context)
{
    ++*(int *)context;
    return strcmp(name, "fc.bias") == 0;
}

static void test_saved_slots_load_again(void **state)
{
    (void)state;
    struct workbench a = begin(FORGE_F32, 4, 1), b = begin(FORGE_F32, 4, 2);
    assert_same(&a, &b, "fc.weight", false);
    assert_int_equal(forge_states_save(a.states, path, NULL, NULL, &error), JOULE_OK);
    assert_int_equal(forge_states_load(b.states, path, 0, &error), JOULE_OK);
    assert_same(&a, &b, "fc.weight", true);
    assert_same(&a, &b, "fc.bias", true);
    workbench_end(&a);
    workbench_end(&b);
}

static void test_missing_and_unexpected_slots_are_named(void **state)
{
    (void)state;
    int asked = 0;
    struct workbench a = begin(FORGE_F32, 4, 1), b = begin(FORGE_F32, 4, 2), c = begin(FORGE_F32, 4, 2);
    assert_int_equal(forge_states_save(a.states, path, is_bias, &asked, &error), JOULE_OK);
    assert_int_equal(asked, 2);
    expect_refused(&b, 0, "does not fit the slots: missing: 'fc.weight'");
    expect_refused(&b, FORGE_LOAD_SKIP_UNEXPECTED, "missing: 'fc.weight'");
    assert_same(&b, &c, "fc.bias", true);
    assert_int_equal(forge_states_load(b.states, path, FORGE_LOAD_KEEP_MISSING, &error), JOULE_OK);
    assert_same(&a, &b, "fc.bias", true);
    assert_same(&b, &c, "fc.weight", true);

    forge_named_tensor tensors[8] = {{"fc.weight", workbench_slot(&a, "fc.weight")},
                                     {"fc.bias", workbench_slot(&a, "fc.bias")}};
    const char *others[] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < 6; i++)
        tensors[2 + i] = (forge_named_tensor){others[i], workbench_slot(&a, "fc.bias")};
    assert_int_equal(forge_safetensors_write(path, tensors, 8, NULL, 0, &error), JOULE_OK);
    expect_refused(&c, FORGE_LOAD_KEEP_MISSING, "unexpected: 'a', 'b', 'c', 'd' and 2 more");
    assert_int_equal(forge_states_load(c.states, path, FORGE_LOAD_SKIP_UNEXPECTED, &error), JOULE_OK);
    assert_same(&a, &c, "fc.weight", true);
    workbench_end(&a);
    workbench_end(&b);
    workbench_end(&c);
}

static void test_other_shapes_are_refused_and_types_converted(void **state)
{
    (void)state;
    struct workbench a = begin(FORGE_F32, 4, 1), b = begin(FORGE_F32, 5, 2), c = begin(FORGE_F64, 4, 2);
    assert_int_equal(forge_states_save(a.states, path, NULL, NULL, &error), JOULE_OK);
    expect_refused(&b, FORGE_LOAD_CONVERT,
                   "wrong: 'fc.weight' is f32[4,3], not f32[5,3], 'fc.bias' is f32[4], not f32[5]");
    expect_refused(&c, 0, "'fc.weight' is f32[4,3], not f64[4,3]");
    assert_int_equal(forge_states_load(c.states, path, FORGE_LOAD_CONVERT, &error), JOULE_OK);
    forge_tensor x = workbench_slot(&a, "fc.weight"), y = workbench_slot(&c, "fc.weight");
    for (int i = 0; i < 12; i++)
        assert_true(((double *)forge_tensor_data(&y))[i] == (double)((float *)forge_tensor_data(&x))[i]);
    assert_int_equal(forge_states_load(a.states, path, 8, &error), JOULE_UNSUPPORTED);
    assert_int_equal(forge_states_load(NULL, path, 0, &error), JOULE_INVALID);
    assert_int_equal(forge_states_load(a.states, "/nowhere", 0, &error), JOULE_ABSENT);
    workbench_end(&a);
    workbench_end(&b);
    workbench_end(&c);
}

/* The slot has more elements than are converted in one step. */
static void test_converting_a_large_slot(void **state)
{
    (void)state;
    struct workbench a = begin(FORGE_F64, 5001, 1), b = begin(FORGE_F32, 5001, 2);
    assert_int_equal(forge_states_save(a.states, path, NULL, NULL, &error), JOULE_OK);
    assert_int_equal(forge_states_load(b.states, path, FORGE_LOAD_CONVERT, &error), JOULE_OK);
    forge_tensor x = workbench_slot(&a, "fc.weight"), y = workbench_slot(&b, "fc.weight");
    for (int i = 0; i < 3 * 5001; i++)
        assert_true(((float *)forge_tensor_data(&y))[i] == (float)((double *)forge_tensor_data(&x))[i]);
    workbench_end(&a);
    workbench_end(&b);
}

/* Loads one layer's weights from a file of a network that was trained in PyTorch. */
static void test_published_weights_are_loaded(void **state)
{
    (void)state;
    const char *found = test_data("weights/multi_layer.safetensors");
    if (!found) {
        print_message("no weights in the test data: skipped\n");
        skip();
    }
    struct workbench n = layer("fc1", FORGE_F32, 256, 16, 1);
    assert_int_equal(forge_states_load(n.states, found, 0, &error), JOULE_INVALID);
    assert_contains(error.message, "unexpected: 'norm1.num_batches_tracked', 'conv1.bias'");
    assert_int_equal(forge_states_load(n.states, found, FORGE_LOAD_SKIP_UNEXPECTED, &error), JOULE_OK);
    workbench_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved_slots_load_again),
        cmocka_unit_test(test_missing_and_unexpected_slots_are_named),
        cmocka_unit_test(test_other_shapes_are_refused_and_types_converted),
        cmocka_unit_test(test_converting_a_large_slot),
        cmocka_unit_test(test_published_weights_are_loaded),
    };
    return cmocka_run_group_tests_name("slots", tests, scratch_set_up, scratch_tear_down);
}
