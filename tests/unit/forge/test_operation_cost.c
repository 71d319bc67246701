/* Checks the cost of composites that access only parts of an operand, and the cost that the engine expects
 * for a step. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/infer/engine/engine.h"
#include "forge/ir/library.h"
#include "forge/ir/operation_cost.h"
#include "support/tiny_model.h"
#include "support/workbench.h"

enum { MAX_OPERANDS = 6 };

/* --- composites ----------------------------------------------------------------------------------------- */

/* Returns the cost of a launch with these inputs. is_in_place: the output has the address of the first
 * input. */
static struct program_cost cost_of(const struct composite_attributes *attributes, struct view *inputs,
                                   size_t count, bool is_in_place)
{
    struct value values[MAX_OPERANDS];
    const struct value *in[MAX_OPERANDS];
    struct dim_table dims = {0};
    joule_error error = {0};
    char addresses[MAX_OPERANDS + 1];
    for (size_t i = 0; i < count; i++) {
        values[i] = (struct value){.dtype = inputs[i].dtype, .shape = inputs[i].shape};
        in[i] = &values[i];
        inputs[i].data = &addresses[i];
    }
    forge_graph *body = library_body(attributes, in, count, &dims, &error);
    if (!body)
        fail_msg("%s", error.message);
    const struct value *result = &body->values[body->outputs[0].value];
    struct view output = view_packed(result->dtype, &addresses[is_in_place ? 0 : count], result->shape);
    struct launch launch = {OP_COMPOSITE, attributes, inputs, count, &output, 1};
    struct program_cost cost = cost_of_composite(&launch, body, (int64_t[1]){0}, 0);
    forge_graph_free(body);
    return cost;
}

static struct view view_of(forge_dtype dtype, forge_shape shape)
{
    return view_packed(dtype, NULL, shape);
}

/* q8_0 has 34 bytes for 32 elements. */
static void test_embedding_reads_one_row_for_each_token(void **state)
{
    (void)state;
    const struct composite_attributes attributes = {.name = "embedding"};
    for (int64_t tokens = 0; tokens <= 2000; tokens += 500) {
        struct view in[] = {view_of(FORGE_Q8_0, forge_shape_of(1000, 64)),
                            view_of(FORGE_I32, forge_shape_of(tokens))};
        struct program_cost cost = cost_of(&attributes, in, 2, false);
        double rows = fmin((double)tokens, 1000);
        assert_true(cost.read_bytes == rows * 68 + 4 * (double)tokens);
        assert_true(cost.written_bytes == (double)tokens * 64 * 4);
        assert_true(cost.flop == 0);
    }
}

static void test_cache_write_in_place_writes_one_row_for_each_token(void **state)
{
    (void)state;
    const struct composite_attributes attributes = {.name = "cache_write"};
    const double row = 2 * 32 * 2, cache = 4096 * row, x = 7 * 2 * 32 * 4, places = 7 * 4;
    struct view in[] = {view_of(FORGE_F16, forge_shape_of(4096, 2, 32)),
                        view_of(FORGE_F32, forge_shape_of(7, 2, 32)), view_of(FORGE_I32, forge_shape_of(7))};
    struct program_cost cost = cost_of(&attributes, in, 3, true);
    assert_true(cost.read_bytes == x + places);
    assert_true(cost.written_bytes == 7 * row);
    cost = cost_of(&attributes, in, 3, false);
    assert_true(cost.read_bytes == cache + x + places);
    assert_true(cost.written_bytes == cache);
}

/* Returns the bytes of the cache that paged_attention reads. The cache has 4096 places of 2 heads of 32
 * elements in f16, and pages of 16 tokens. */
static double cache_bytes(int64_t rows, int64_t sequences, int64_t pages)
{
    const struct composite_attributes attributes = {
        .name = "paged_attention", .reals = {0.25}, .numbers = {16}};
    struct view cache = view_of(FORGE_F16, forge_shape_of(4096, 2, 32)),
                row = view_of(FORGE_I32, forge_shape_of(rows));
    struct view in[] = {view_of(FORGE_F32, forge_shape_of(rows, 4, 32)),      cache, cache,
                        view_of(FORGE_I32, forge_shape_of(sequences, pages)), row,   row};
    struct program_cost cost = cost_of(&attributes, in, 6, false);
    double q = (double)rows * 4 * 32 * 4;
    assert_true(cost.written_bytes == q);
    return cost.read_bytes - q - 4 * (double)(sequences * pages + 2 * rows);
}

static void test_paged_attention_reads_the_pages_of_its_tables_once(void **state)
{
    (void)state;
    const double page = 2 * 16 * 2 * 32 * 2;
    assert_true(cache_bytes(1, 1, 3) == 3 * page);
    assert_true(cache_bytes(100, 1, 3) == 3 * page);  /* rows share the pages */
    assert_true(cache_bytes(100, 5, 3) == 15 * page); /* each sequence has its own pages */
    assert_true(cache_bytes(2, 5, 3) == 6 * page);    /* two rows have at most two sequences */
    assert_true(cache_bytes(100, 50, 100) == 256 * page);
    assert_true(cache_bytes(0, 1, 3) == 0);
}

/* A step writes a row to a cache in a slot, which is in place, and reads one of 100 pages. */
static void test_program_counts_rows_instead_of_the_cache(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_shape cache = forge_shape_of(1600, 1, 8);
    forge_slot slot = forge_state(b, "cache", FORGE_F32, cache, (forge_init){FORGE_INIT_UNIFORM, 0, 1});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 1, 8)),
                place = forge_input(b, "place", FORGE_I32, forge_shape_of(1)),
                table = forge_input(b, "table", FORGE_I32, forge_shape_of(1, 1)),
                position = forge_input(b, "position", FORGE_I32, forge_shape_of(1));
    const struct composite_attributes write = {.name = "cache_write"},
                                      attend = {.name = "paged_attention", .reals = {1}, .numbers = {16}};
    forge_value written = library_composite(b, &write, (forge_value[]){forge_read(b, slot), x, place}, 3);
    forge_write(b, slot, written, true);
    forge_output(
        b, "y",
        library_composite(b, &attend, (forge_value[]){x, written, written, table, place, position}, 6));
    workbench_load(bench, b);
    const struct program_launch *launch = workbench_launch(bench, "cache_write");
    assert_true(launch->cost.read_bytes == 32 + 4 && launch->cost.written_bytes == 32);
    launch = workbench_launch(bench, "paged_attention");
    assert_true(launch->cost.read_bytes == 32 + 2 * 16 * 32 + 3 * 4 && launch->cost.written_bytes == 32);
}

/* A graph's composite moves no values of its body if one kernel computes it. */
static void test_kernel_of_a_composite_moves_only_its_operands(void **state)
{
    (void)state;
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_value table = forge_input(b, "table", FORGE_F16, forge_shape_of(100, 8)),
                ids = forge_input(b, "ids", FORGE_I32, forge_shape_of(3));
    const struct composite_attributes embed = {.name = "embedding"};
    forge_output(b, "y", library_composite(b, &embed, (forge_value[]){table, ids}, 2));
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    struct body_costs cache = {0};
    const struct node *node = graph_producer(graph, graph->outputs[0].value);
    struct program_cost cost = cost_of_kernel(graph, node, &cache), body = cost_of_node(graph, node, &cache);
    assert_true(cost.read_bytes == 3 * 16 + 3 * 4 && cost.written_bytes == 3 * 32);
    assert_true(body.read_bytes >= 1600 && body.written_bytes >= 3200);
    body_costs_free(&cache);
    forge_graph_free(graph);
}

/* --- steps of the engine -------------------------------------------------------------------------------- */

static double joules_of(const struct step_cost *cost, size_t first, size_t count, size_t rows)
{
    struct row_cost row = step_cost_rows(cost, first, count, rows);
    return row_cost_sum(&row);
}

/* The row of position p attends to p + 1 positions. A step reads the keys and values of a sequence once. */
static void test_step_counts_the_context_of_each_row(void **state)
{
    (void)state;
    const struct step_cost flop = {.position_flop = 1}, bytes = {.position_bytes = 1}, row = {.row_bytes = 1};
    for (size_t first = 0; first < 40; first += 13)
        for (size_t count = 1; count < 30; count += 7) {
            double positions = 0;
            for (size_t i = 0; i < count; i++)
                positions += (double)(first + i + 1);
            double joules = joules_of(&flop, first, count, 64) / COST_FLOP_JOULES;
            assert_true(fabs(joules - positions) < 1e-9 * positions);
            joules = joules_of(&bytes, first, count, 64) / COST_BYTE_JOULES;
            assert_true(fabs(joules - (double)(first + 2 * count)) < 1e-9 * joules);
            joules = joules_of(&row, first, count, 64) / COST_BYTE_JOULES;
            assert_true(fabs(joules - (double)count) < 1e-9 * joules);
        }
}

/* FLOP of attention do not depend on the division of a prompt into steps. */
static void test_chunks_of_a_prompt_cost_as_much_attention_as_the_whole(void **state)
{
    (void)state;
    const struct step_cost flop = {.position_flop = 3, .row_flop = 5};
    double whole = joules_of(&flop, 0, 100, 100), parts = 0;
    for (size_t first = 0; first < 100; first += 32)
        parts += joules_of(&flop, first, first + 32 < 100 ? 32 : 100 - first, 32);
    assert_true(fabs(whole - parts) < 1e-12 * whole);
}

/* Returns the cost model of an engine with this capacity. */
static struct step_cost cost_of_engine(uint32_t max_length, uint64_t cache_tokens)
{
    struct tiny_model tiny;
    tiny_model_open(&tiny, 7,
                    &(forge_engine_options){.struct_size = sizeof(forge_engine_options),
                                            .max_length = max_length,
                                            .cache_tokens = cache_tokens});
    struct step_cost cost = tiny.engine->cost;
    tiny_model_close(&tiny);
    return cost;
}

static void test_step_of_the_engine_costs_its_context_and_not_its_capacity(void **state)
{
    (void)state;
    struct step_cost small = cost_of_engine(64, 128), large = cost_of_engine(256, 4096);
    assert_memory_equal(&small, &large, sizeof small);
    /* Each position has 2 layers of 2 heads of 8 keys and values in f32, and 4 heads of q. */
    double bytes = 2 * 2 * 2 * 8 * 4, flop = 4 * 2 * 4 * 8;
    double more = 80 * (bytes * COST_BYTE_JOULES + flop * COST_FLOP_JOULES);
    double early = joules_of(&large, 20, 1, 1), later = joules_of(&large, 100, 1, 1);
    assert_true(fabs(later - early - more) < 1e-9 * later);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embedding_reads_one_row_for_each_token),
        cmocka_unit_test(test_cache_write_in_place_writes_one_row_for_each_token),
        cmocka_unit_test(test_paged_attention_reads_the_pages_of_its_tables_once),
        cmocka_unit_test_setup_teardown(test_program_counts_rows_instead_of_the_cache, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test(test_kernel_of_a_composite_moves_only_its_operands),
        cmocka_unit_test(test_step_counts_the_context_of_each_row),
        cmocka_unit_test(test_chunks_of_a_prompt_cost_as_much_attention_as_the_whole),
        cmocka_unit_test(test_step_of_the_engine_costs_its_context_and_not_its_capacity),
    };
    return cmocka_run_group_tests_name("operation cost", tests, NULL, NULL);
}
