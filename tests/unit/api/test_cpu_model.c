/* Tests libjoule's cost model for this machine's CPUs: it always returns a result, and fills an older
 * caller's smaller structure. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <joule/model.h>

static void test_this_machine_is_known(void **state)
{
    (void)state;
    joule_cpu_model model = {.struct_size = sizeof model};
    assert_int_equal(joule_cpu_model_query(&model), JOULE_OK);
    assert_true(model.cores > 0);
    assert_true(model.idle_watts.value > 0 && model.core_watts.value > 0);
    assert_true(model.core_watts.low < model.core_watts.value &&
                model.core_watts.value < model.core_watts.high);
    assert_int_equal(model.core_watts.cls, JOULE_CLASS_MODELLED);
    assert_true(isnan(model.reference_hz) || model.reference_hz > 1e8);
    assert_int_equal(strncmp(model.table, "cpu-seed-", 9), 0);
    assert_true(strlen(model.source) > 5);
}

static void test_nearer_levels_of_memory_are_faster_and_cheaper(void **state)
{
    (void)state;
    joule_cpu_model model = {.struct_size = sizeof model};
    assert_int_equal(joule_cpu_model_query(&model), JOULE_OK);
    assert_true(model.l2_bytes > 0 && (model.l3_bytes == 0 || model.l3_bytes > model.l2_bytes / 2));
    assert_true(model.l2_bytes_per_s > model.memory_bytes_per_s && model.memory_bytes_per_s > 0);
    if (!model.has_measured_prices) {
        assert_true(model.l2_byte_joules.value < model.memory_byte_joules.value);
        assert_true(model.cycle_watts.value > 0 && model.fma256_joules.value > 0);
        assert_int_equal(model.memory_byte_joules.cls, JOULE_CLASS_ASSUMED);
    }
}

/* A program that was built for an older version passes a smaller structure. */
static void test_a_structure_of_the_first_version(void **state)
{
    (void)state;
    joule_cpu_model model = {.struct_size = offsetof(joule_cpu_model, l2_bytes), .l2_bytes = -1};
    assert_int_equal(joule_cpu_model_query(&model), JOULE_OK);
    assert_true(model.idle_watts.value > 0 && model.l2_bytes == -1);
}

static void test_a_structure_that_is_too_small(void **state)
{
    (void)state;
    joule_cpu_model model = {.struct_size = offsetof(joule_cpu_model, source)};
    assert_int_equal(joule_cpu_model_query(&model), JOULE_INVALID);
    assert_int_equal(joule_cpu_model_query(NULL), JOULE_INVALID);
    assert_int_equal(model.cores, 0);
}

static void test_joules_of_work_grow_with_cpu_time(void **state)
{
    (void)state;
    joule_quantity none, one, two;
    joule_cpu_model model = {.struct_size = sizeof model};
    assert_int_equal(joule_cpu_model_query(&model), JOULE_OK);
    assert_int_equal(joule_cpu_work_joules(0, 1, &none), JOULE_OK);
    assert_int_equal(joule_cpu_work_joules(1, 2, &one), JOULE_OK);
    assert_int_equal(joule_cpu_work_joules(2, 2, &two), JOULE_OK);
    assert_true(none.value == 0);
    assert_true(fabs(one.value - model.core_watts.value) <= 1e-9 * one.value);
    assert_true(fabs(two.value - 2 * one.value) <= 1e-9 * two.value);
    assert_true(one.low < one.value && one.value < one.high);
    assert_int_equal(one.cls, JOULE_CLASS_MODELLED);
    assert_int_equal(joule_cpu_work_joules(NAN, 1, &one), JOULE_INVALID);
    assert_true(isnan(one.value));
    assert_int_equal(joule_cpu_work_joules(-1, 1, &one), JOULE_INVALID);
    assert_int_equal(joule_cpu_work_joules(1, INFINITY, &one), JOULE_INVALID);
    assert_int_equal(joule_cpu_work_joules(1, 1, NULL), JOULE_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_this_machine_is_known),
                                       cmocka_unit_test(test_a_structure_that_is_too_small),
                                       cmocka_unit_test(test_nearer_levels_of_memory_are_faster_and_cheaper),
                                       cmocka_unit_test(test_a_structure_of_the_first_version),
                                       cmocka_unit_test(test_joules_of_work_grow_with_cpu_time)};
    return cmocka_run_group_tests_name("cpu_model", tests, NULL, NULL);
}
