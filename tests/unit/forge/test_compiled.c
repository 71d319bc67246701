/* Checks that compiled code of fused operations gives the bits of the kernels: for all operations, types and
 * instruction sets, for random groups, after products, and for random graphs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/program.h>
#include "base/string.h"
#include "forge/backends/cpu/isa.h"
#include "forge/core/dtype.h"
#include "forge/ir/graph.h"
#include "support/cache_folder.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/random_graph.h"
#include "support/side.h"

static joule_error error;

/* Two devices with one instruction set: `compiled` compiles fused operations. */
struct pair {
    forge_device *compiled, *plain;
};

/* Opens the devices. */
static struct pair pair_open(const char *isa)
{
    struct pair pair;
    setenv("FORGE_ISA", isa, 1);
    assert_ok(forge_device_open("cpu", &pair.plain, &error), &error);
    assert_ok(forge_device_open("cpu", &pair.compiled, &error), &error);
    unsetenv("FORGE_ISA");
    assert_ok(forge_device_set_compiled(pair.compiled, true, &error), &error);
    return pair;
}

static forge_compiled_facts facts_of(forge_device *device)
{
    forge_compiled_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_device_query_compiled(device, &facts), JOULE_OK);
    return facts;
}

/* Closes the devices. Fails the test if a group was not compiled. */
static void pair_close(struct pair *pair)
{
    forge_compiled_facts facts = facts_of(pair->compiled);
    if (facts.failed)
        fail_msg("%zu groups were not compiled: %s", facts.failed, facts.reason);
    forge_device_close(pair->compiled);
    forge_device_close(pair->plain);
}

/* Fills an input: numbers of all sizes, and special numbers. */
static void fill(forge_tensor *x)
{
    static const double specials[] = {0,        -0.,   1,     -1,       INFINITY, -INFINITY, NAN,
                                      0x1p-140, 88.73, -87.4, 0x1p-126, -103.5,   0x1p127,   20.5};
    for (size_t i = 0; i < forge_tensor_elements(x); i++) {
        double number = chance_bits() % 8 == 0
                            ? specials[chance_bits() % (sizeof specials / sizeof *specials)]
                            : (chance_bits() % 2 ? 1 : -1) * chance_scale(1e-3, 100);
        if (x->dtype == FORGE_BOOL || x->dtype == FORGE_U8)
            ((uint8_t *)forge_tensor_data(x))[i] =
                (uint8_t)(chance_bits() % (x->dtype == FORGE_BOOL ? 2 : 256));
        else
            dtype_row(x->dtype)->store(forge_tensor_data(x), i, 1, &number);
    }
}

/* Compiles the graph for both devices, and compares all outputs. Frees the graph. */
static void compare(struct pair *pair, forge_graph *graph, const char *what)
{
    struct side a = side_load(pair->compiled, graph, NULL), b = side_load(pair->plain, graph, NULL);
    side_run_filled(&a, &b, graph, fill);
    side_compare_named(&a, &b, graph, what);
    side_unload(&a);
    side_unload(&b);
    forge_graph_free(graph);
}

/* Runs the block with devices of each instruction set that the machine has. */
#define EACH_PAIR(pair)                                                                                      \
    for (enum isa isa_ = 0; isa_ < ISA_COUNT; isa_++)                                                        \
        for (struct pair pair = {0};                                                                         \
             isa_is_here(isa_) && !pair.plain && (pair = pair_open(isa_name(isa_))).plain;                   \
             pair_close(&pair))

/* --- single operations ---------------------------------------------------------------------------------- */

/* Negates the result of the operation, so that two operations can be joined. */
static void add_unary(forge_builder *b, forge_unary_kind kind, forge_dtype dtype)
{
    char name[40];
    forge_value x = forge_input(b, unary_name(kind), dtype, forge_shape_of(4099));
    string_print(name, sizeof name, "y %s", unary_name(kind));
    forge_output(b, name, forge_unary(b, FORGE_NEG, forge_unary(b, kind, x)));
}

static void test_every_operation_has_the_bits_of_its_kernel(void **state)
{
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_F64};
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    EACH_PAIR(pair)
    for (size_t d = 0; d < 2; d++) {
        size_t before = facts_of(pair.compiled).compiled;
        for (int kind = 0; kind < FORGE_UNARY_KINDS; kind++) {
            if (kind == FORGE_NOT || kind == FORGE_IS_NAN)
                continue;
            forge_builder *b = forge_builder_new();
            add_unary(b, (forge_unary_kind)kind, dtypes[d]);
            compare(&pair, graph_of(b), unary_name((forge_unary_kind)kind));
        }
        /* the kinds that have kernels: all but neg, which the builder removes when it is doubled */
        assert_int_equal(facts_of(pair.compiled).compiled - before, d ? 6 : 15);
    }
}

/* --- random groups -------------------------------------------------------------------------------------- */

enum { MAX_POOL = 64, INPUTS = 5 };

/* Values of one type, from which operands are drawn. */
struct pool {
    forge_value values[MAX_POOL];
    bool is_read[MAX_POOL];
    size_t count;
};

static forge_value draw(struct pool *pool)
{
    size_t i = chance_bits() % pool->count;
    pool->is_read[i] = true;
    return pool->values[i];
}

static void put(struct pool *pool, forge_value value)
{
    assert_true(pool->count < MAX_POOL);
    pool->values[pool->count++] = value;
}

/* Adds an input that can be broadcast to [2, 3, 67]; some are not packed. */
static forge_value add_input(forge_builder *b, forge_dtype dtype, size_t number)
{
    static const forge_shape shapes[] = {{3, 0, {2, 3, 67}}, {3, 0, {2, 3, 67}}, {1, 0, {67}},
                                         {2, 0, {3, 1}},     {0, 0, {0}},        {3, 0, {2, 1, 67}}};
    char name[16];
    string_print(name, sizeof name, "%s %zu", forge_dtype_name(dtype), number);
    if (chance_bits() % 4)
        return forge_input(b, name, dtype, shapes[chance_bits() % (sizeof shapes / sizeof *shapes)]);
    forge_value x = forge_input(b, name, dtype, forge_shape_of(67, 3, 2));
    return forge_transpose(b, x, (const uint32_t[]){2, 1, 0});
}

static forge_value add_comparison(forge_builder *b, struct pool *numbers)
{
    return forge_binary(b, (forge_binary_kind)(FORGE_EQ + chance_bits() % 6), draw(numbers), draw(numbers));
}

static void add_operation(forge_builder *b, struct pool *numbers, forge_dtype dtype)
{
    static const forge_unary_kind unaries[] = {FORGE_ABS,     FORGE_SQUARE,     FORGE_SQRT, FORGE_RELU,
                                               FORGE_NEG,     FORGE_RECIPROCAL, FORGE_EXP,  FORGE_TANH,
                                               FORGE_SIGMOID, FORGE_GELU,       FORGE_LOG,  FORGE_SILU};
    size_t kinds = dtype == FORGE_F32 ? 12 : 6;
    switch (chance_bits() % 4) {
    case 0:
        put(numbers, forge_unary(b, unaries[chance_bits() % kinds], draw(numbers)));
        break;
    case 1:
        put(numbers, forge_select(b, add_comparison(b, numbers), draw(numbers), draw(numbers)));
        break;
    case 2:
        put(numbers, forge_add(b, forge_cast(b, dtype, add_comparison(b, numbers)), draw(numbers)));
        break;
    default: {
        static const forge_binary_kind binaries[] = {FORGE_ADD, FORGE_SUB, FORGE_MUL,
                                                     FORGE_DIV, FORGE_MAX, FORGE_MIN};
        put(numbers, forge_binary(b, binaries[chance_bits() % 6], draw(numbers), draw(numbers)));
    }
    }
}

/* Returns a graph with one output, whose operations are mostly one group. */
static forge_graph *random_group(uint64_t seed)
{
    chance_seed(seed);
    forge_dtype dtype = seed % 4 == 3 ? FORGE_F64 : FORGE_F32;
    forge_builder *b = forge_builder_new();
    struct pool numbers = {.count = 0};
    for (size_t i = 0; i < INPUTS; i++)
        put(&numbers, add_input(b, dtype, i));
    forge_value small = add_input(b, seed % 2 ? FORGE_U8 : FORGE_BOOL, 0);
    put(&numbers, forge_add(b, forge_broadcast(b, numbers.values[0], forge_shape_of(2, 3, 67)),
                            forge_broadcast(b, forge_cast(b, dtype, small), forge_shape_of(2, 3, 67))));
    for (size_t steps = 3 + seed % 12; steps-- > 0;)
        add_operation(b, &numbers, dtype);
    forge_value sum = numbers.values[numbers.count - 1];
    for (size_t i = 0; i + 1 < numbers.count; i++)
        if (!numbers.is_read[i])
            sum = forge_add(b, sum, numbers.values[i]);
    if (seed % 5 == 4)
        sum = forge_binary(b, FORGE_LT, sum, numbers.values[0]);
    forge_output(b, "y", sum);
    return graph_of(b);
}

static uint64_t groups(void)
{
    return is_full_test() ? 500 : 12;
}

static void test_random_groups_have_the_same_bits(void **state)
{
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    EACH_PAIR(pair)
    {
        size_t first = (size_t)isa_ * groups();
        for (uint64_t seed = first; seed < first + groups(); seed++) {
            char what[40];
            string_print(what, sizeof what, "%s, seed %llu", isa_name(isa_), (unsigned long long)seed);
            compare(&pair, random_group(seed), what);
        }
        assert_true(facts_of(pair.compiled).compiled >= groups() / 2);
    }
}

/* --- products, symbols and graphs ----------------------------------------------------------------------- */

static void test_steps_after_products_have_the_same_bits(void **state)
{
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    EACH_PAIR(pair)
    {
        forge_builder *b = forge_builder_new();
        forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(33, 70));
        forge_value w = forge_input(b, "w", FORGE_F32, forge_shape_of(70, 45));
        forge_value bias = forge_input(b, "bias", FORGE_F32, forge_shape_of(45));
        forge_value residual = forge_input(b, "r", FORGE_F32, forge_shape_of(33, 45));
        forge_value y = forge_unary(b, FORGE_GELU, forge_add(b, forge_matmul(b, x, w, 0), bias));
        forge_output(b, "y", forge_add(b, y, residual));
        forge_value image = forge_input(b, "image", FORGE_F32, forge_shape_of(2, 3, 9, 11));
        forge_value kernel = forge_input(b, "kernel", FORGE_F32, forge_shape_of(5, 3, 3, 3));
        forge_value shift = forge_input(b, "shift", FORGE_F32, forge_shape_of(5, 1, 1));
        forge_value z =
            forge_conv(b, image, kernel, &(forge_conv_options){.struct_size = sizeof(forge_conv_options)});
        forge_output(b, "z", forge_unary(b, FORGE_RELU, forge_add(b, z, shift)));
        compare(&pair, graph_of(b), isa_name(isa_));
        assert_int_equal(facts_of(pair.compiled).compiled, 2);
    }
}

static void test_random_graphs_have_the_same_bits(void **state)
{
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    EACH_PAIR(pair)
    {
        size_t first = 7000 + (size_t)isa_ * groups();
        for (uint64_t seed = first; seed < first + groups(); seed++) {
            forge_graph *graph = random_graph(seed, 10 + seed % 50, RANDOM_GRAPH_GRADIENTS);
            struct side a = side_load(pair.compiled, graph, NULL), b = side_load(pair.plain, graph, NULL);
            side_run_both(&a, &b, graph, 2, seed);
            side_unload(&a);
            side_unload(&b);
            forge_graph_free(graph);
        }
    }
}

static void test_code_serves_all_sizes_of_a_symbol(void **state)
{
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    struct pair pair = pair_open("plain");
    forge_builder *b = forge_builder_new();
    forge_dim rows = forge_symbol(b, "rows", 1, 64, 1);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(rows, 7));
    forge_output(b, "y", forge_unary(b, FORGE_TANH, forge_binary(b, FORGE_MUL, x, x)));
    forge_graph *graph = graph_of(b);
    struct side a = side_load(pair.compiled, graph, NULL), c = side_load(pair.plain, graph, NULL);
    for (int64_t size = 64; size > 0; size -= 21) {
        forge_tensor in;
        forge_shape shape = forge_shape_of(size, 7);
        assert_ok(forge_tensor_new(FORGE_F32, &shape, &in, &error), &error);
        fill(&in);
        assert_ok(forge_instance_set(a.instance, "x", &in, &error), &error);
        assert_ok(forge_instance_set(c.instance, "x", &in, &error), &error);
        assert_ok(forge_instance_run(a.instance, &error), &error);
        assert_ok(forge_instance_run(c.instance, &error), &error);
        side_compare_named(&a, &c, graph, "symbol");
        forge_buffer_release(in.buffer);
    }
    side_unload(&a);
    side_unload(&c);
    forge_graph_free(graph);
    assert_int_equal(facts_of(pair.compiled).compiled, 1);
    pair_close(&pair);
}

int main(void)
{
#define WITH_CACHE(test) cmocka_unit_test_setup_teardown(test, cache_folder_set_up, cache_folder_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_CACHE(test_every_operation_has_the_bits_of_its_kernel),
        WITH_CACHE(test_random_groups_have_the_same_bits),
        WITH_CACHE(test_steps_after_products_have_the_same_bits),
        WITH_CACHE(test_random_graphs_have_the_same_bits),
        WITH_CACHE(test_code_serves_all_sizes_of_a_symbol),
    };
    return cmocka_run_group_tests_name("compiled", tests, NULL, NULL);
}
