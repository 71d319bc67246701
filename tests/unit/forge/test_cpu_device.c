/* Checks the CPU as a device: instruction sets by name, and equal bits with any number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/program.h>
#include "forge/backends/cpu/isa.h"
#include "support/check.h"
#include "support/workbench.h"

static void test_instruction_set_is_chosen_by_name(void **state)
{
    (void)state;
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        forge_device *device = NULL;
        joule_error error = {0};
        setenv("FORGE_ISA", isa_name(isa), 1);
        joule_status status = forge_device_open("cpu", &device, &error);
        assert_int_equal(status, isa_is_here(isa) ? JOULE_OK : JOULE_ABSENT);
        if (status != JOULE_OK)
            assert_contains(error.message, isa_name(isa));
        forge_device_close(device);
    }
    unsetenv("FORGE_ISA");
}

static void test_unknown_instruction_set_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"sse9", "", "AVX2", "avx512 "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        forge_device *device = NULL;
        joule_error error = {0};
        setenv("FORGE_ISA", names[i], 1);
        assert_int_equal(forge_device_open("cpu", &device, &error), JOULE_INVALID);
        assert_null(device);
        assert_contains(error.message, "plain, avx2, avx512");
    }
    unsetenv("FORGE_ISA");
}

static void test_facts_name_the_instruction_set(void **state)
{
    (void)state;
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        forge_device *device = NULL;
        forge_device_facts facts = {.struct_size = sizeof facts};
        if (!isa_is_here(isa))
            continue;
        setenv("FORGE_ISA", isa_name(isa), 1);
        assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
        assert_int_equal(forge_device_set_threads(device, 3, NULL), JOULE_OK);
        assert_int_equal(forge_device_query(device, &facts), JOULE_OK);
        assert_int_equal(facts.threads, 3);
        assert_true(facts.memory_bytes > 1 << 20);
        for (enum isa i = 0; i < ISA_COUNT; i++) {
            assert_string_equal(facts.instruction_sets[i].name, isa_name(i));
            assert_int_equal(facts.instruction_sets[i].is_supported, isa_is_here(i));
            assert_int_equal(facts.instruction_sets[i].is_in_use, i == isa);
        }
        assert_null(facts.instruction_sets[ISA_COUNT].name);
        facts.struct_size = 8;
        assert_int_equal(forge_device_query(device, &facts), JOULE_INVALID);
        forge_device_close(device);
    }
    unsetenv("FORGE_ISA");
    assert_string_equal(forge_device_name_at(0), "cpu");
    assert_null(forge_device_name_at(100));
}

static void test_the_same_kernels_everywhere(void **state)
{
    (void)state;
    const struct cpu_kernel *plain = isa_kernels(ISA_PLAIN);
    for (enum isa isa = ISA_PLAIN + 1; isa < ISA_COUNT; isa++)
        for (size_t i = 0; isa_is_here(isa) && (i == 0 || plain[i - 1].name); i++) {
            const struct cpu_kernel *kernel = &isa_kernels(isa)[i];
            assert_true(kernel->name == plain[i].name || strcmp(kernel->name, plain[i].name) == 0);
        }
}

/* --- threads -------------------------------------------------------------------------------------------- */

enum { M = 300, K = 200, N = 400 };

static forge_graph *layer(void)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    joule_error error = {0};
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(M, K));
    forge_value w = forge_input(b, "w", FORGE_F32, forge_shape_of(K, N));
    forge_value y = forge_matmul(b, x, w, 0);
    forge_output(b, "y", forge_unary(b, FORGE_RELU, y));
    forge_output(b, "sum", forge_reduce(b, FORGE_SUM, y, 1, false));
    assert_ok(forge_builder_finish(b, &graph, &error), &error);
    return graph;
}

static void fill(forge_instance *instance, const char *name, forge_shape shape)
{
    forge_tensor tensor;
    assert_int_equal(forge_tensor_new(FORGE_F32, &shape, &tensor, NULL), JOULE_OK);
    float *to = forge_tensor_data(&tensor);
    for (size_t i = 0; i < forge_tensor_elements(&tensor); i++)
        to[i] = sinf((float)i);
    assert_int_equal(forge_instance_set(instance, name, &tensor, NULL), JOULE_OK);
    forge_buffer_release(tensor.buffer);
}

static void take(forge_instance *instance, const char *name, float *out)
{
    forge_tensor tensor;
    assert_int_equal(forge_instance_get(instance, name, &tensor, NULL), JOULE_OK);
    memcpy(out, forge_tensor_data(&tensor), forge_tensor_elements(&tensor) * sizeof *out);
}

static void run_with(unsigned threads, float *out)
{
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
    forge_graph *graph = layer();
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    assert_int_equal(forge_device_set_threads(device, threads, NULL), JOULE_OK);
    assert_int_equal(forge_states_new(device, 1, &states, NULL), JOULE_OK);
    assert_int_equal(forge_compile(graph, device, &program, NULL), JOULE_OK);
    assert_int_equal(forge_instance_new(program, device, states, &instance, NULL), JOULE_OK);
    fill(instance, "x", forge_shape_of(M, K));
    fill(instance, "w", forge_shape_of(K, N));
    assert_int_equal(forge_instance_run(instance, NULL), JOULE_OK);
    take(instance, "y", out);
    take(instance, "sum", out + M * N);
    forge_instance_free(instance);
    forge_program_free(program);
    forge_states_free(states);
    forge_device_close(device);
    forge_graph_free(graph);
}

static void test_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { COUNT = M * N + N };
    float *results = malloc(2 * COUNT * sizeof *results);
    assert_non_null(results);
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        if (!isa_is_here(isa))
            continue;
        setenv("FORGE_ISA", isa_name(isa), 1);
        run_with(1, results);
        for (unsigned threads = 2; threads <= 3; threads++) {
            run_with(threads, results + COUNT);
            assert_memory_equal(results, results + COUNT, COUNT * sizeof *results);
        }
    }
    unsetenv("FORGE_ISA");
    free(results);
}

/* --- subnormals ----------------------------------------------------------------------------------------- */

static bool caller_has_subnormals(void)
{
    volatile float tiny = 0x1p-126f, half = 0.5f, product = tiny * half;
    volatile double small = 0x1p-1022, half_too = 0.5, other = small * half_too;
    return product == 0x1p-127f && other == 0x1p-1023;
}

enum { TINY = 1 << 16 };

/* Computes a sum and a copy of subnormal numbers, in one type, on this many threads. */
static void add_tiny(unsigned threads, forge_dtype dtype, const void *tiny, void *out_sum, void *out_copy)
{
    struct workbench bench;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", dtype, forge_shape_of(TINY));
    forge_output(b, "sum", forge_add(b, x, x));
    forge_output(b, "copy", forge_concat(b, (forge_value[]){x, x}, 2, 0));
    assert_int_equal(workbench_begin(&bench, 1, NULL), JOULE_OK);
    assert_int_equal(forge_device_set_threads(bench.device, threads, NULL), JOULE_OK);
    workbench_load(&bench, b);
    workbench_set(&bench, "x", tiny);
    workbench_run(&bench);
    forge_tensor sum = workbench_output(&bench, "sum"), copy = workbench_output(&bench, "copy");
    size_t size_bytes = forge_dtype_size_bytes(dtype, TINY);
    memcpy(out_sum, forge_tensor_data(&sum), size_bytes);
    memcpy(out_copy, forge_tensor_data(&copy), size_bytes);
    workbench_end(&bench);
}

/* Kernels flush subnormals in f32, f64 and bf16 arithmetic, in all threads, as documented in program.h and
 * libforge(3). Copies and arithmetic in f16 preserve subnormals. The caller's setting does not change. */
static void test_subnormals_are_zero_in_kernels_alone(void **state)
{
    (void)state;
    uint32_t *singles = malloc(3 * TINY * sizeof *singles);
    uint64_t *doubles = malloc(3 * TINY * sizeof *doubles);
    uint16_t *halves = malloc(3 * TINY * sizeof *halves), *brains = malloc(3 * TINY * sizeof *brains);
    assert_true(singles && doubles && halves && brains);
    for (uint32_t i = 0; i < TINY; i++) {
        singles[i] = 1 + i;
        doubles[i] = 1 + i;
        halves[i] = (uint16_t)(1 + i % 500);
        brains[i] = (uint16_t)(1 + i % 60);
    }
    assert_true(caller_has_subnormals());
    for (unsigned threads = 1; threads <= 3; threads++) {
        add_tiny(threads, FORGE_F32, singles, singles + TINY, singles + 2 * TINY);
        assert_true(caller_has_subnormals());
        add_tiny(threads, FORGE_F64, doubles, doubles + TINY, doubles + 2 * TINY);
        assert_true(caller_has_subnormals());
        add_tiny(threads, FORGE_BF16, brains, brains + TINY, brains + 2 * TINY);
        add_tiny(threads, FORGE_F16, halves, halves + TINY, halves + 2 * TINY);
        for (uint32_t i = 0; i < TINY; i++) {
#if defined(__SSE2__)
            assert_true(singles[TINY + i] == 0 && doubles[TINY + i] == 0 && brains[TINY + i] == 0);
#else
            assert_int_equal(brains[TINY + i], 2 * (1 + i % 60));
            assert_true(singles[TINY + i] == 2 * (1 + i) && doubles[TINY + i] == 2 * (1 + i));
#endif
            assert_int_equal(brains[2 * TINY + i], 1 + i % 60);
            assert_int_equal(halves[TINY + i], 2 * (1 + i % 500));
            assert_true(singles[2 * TINY + i] == 1 + i && doubles[2 * TINY + i] == 1 + i);
            assert_int_equal(halves[2 * TINY + i], 1 + i % 500);
        }
    }
    free(singles);
    free(doubles);
    free(halves);
    free(brains);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instruction_set_is_chosen_by_name),
        cmocka_unit_test(test_unknown_instruction_set_is_refused),
        cmocka_unit_test(test_facts_name_the_instruction_set),
        cmocka_unit_test(test_the_same_kernels_everywhere),
        cmocka_unit_test(test_bits_do_not_depend_on_threads),
        cmocka_unit_test(test_subnormals_are_zero_in_kernels_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
