/* Checks that blocks are cold if every path from them ends the program or calls a cold function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joulec/module/cold.h"

#define MAX_BLOCKS 8

struct graph {
    struct arena arena;
    struct block blocks[MAX_BLOCKS];
    struct edge edges[MAX_BLOCKS][2];
    struct call call[MAX_BLOCKS];
    struct function function;
    enum heat heat[MAX_BLOCKS];
    uint32_t edge_count;
};

/* Creates a graph of blocks; "01 02" are edges from block 0 to 1 and from 0 to 2. */
static void make(struct graph *g, const char *edges)
{
    *g = (struct graph){.function = {.blocks = g->blocks}};
    for (const char *at = edges; *at; at += at[2] ? 3 : 2) {
        uint32_t from = (uint32_t)(at[0] - '0'), to = (uint32_t)(at[1] - '0');
        struct block *block = &g->blocks[from];
        block->edges = g->edges[from];
        block->edges[block->edge_count++] = (struct edge){.to = to, .number = g->edge_count++};
        size_t last = from > to ? from : to;
        g->function.block_count = last + 1 > g->function.block_count ? last + 1 : g->function.block_count;
    }
}

static void end_in(struct graph *g, uint32_t block, const char *last_call)
{
    g->blocks[block].is_dead_end = true;
    g->call[block] = (struct call){.name = last_call};
    g->blocks[block].calls = &g->call[block];
    g->blocks[block].call_count = last_call != NULL;
}

static void find(struct graph *g, const bool *is_closed)
{
    struct flow flow;
    for (size_t i = 0; i < MAX_BLOCKS; i++)
        g->heat[i] = HEAT_NORMAL;
    assert_int_equal(flow_find(&g->arena, &g->function, &flow), JOULE_OK);
    cold_find(&g->function, &flow, is_closed, g->heat);
    arena_free(&g->arena);
}

static void test_only_errors_never_run(void **state)
{
    static const struct {
        const char *last_call;
        enum heat heat;
    } ends[] = {{"abort", HEAT_NEVER}, {"__assert_fail", HEAT_NEVER}, {NULL, HEAT_NEVER},
                {"exit", HEAT_DEAD},   {"longjmp", HEAT_DEAD},        {"of_somebody", HEAT_DEAD}};
    struct graph g;
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        make(&g, "01 02 13");
        end_in(&g, 3, ends[i].last_call);
        find(&g, NULL);
        assert_int_equal(g.heat[3], ends[i].heat);
        assert_int_equal(g.heat[1], ends[i].heat);
        assert_int_equal(g.heat[2], HEAT_NORMAL);
        assert_int_equal(g.heat[0], HEAT_NORMAL);
    }
}

static void test_the_warmest_path_counts(void **state)
{
    struct graph g;
    (void)state;
    make(&g, "01 02 13 14 25 35 45");
    g.blocks[3].is_cold = true;
    end_in(&g, 4, "abort");
    find(&g, NULL);
    assert_int_equal(g.heat[4], HEAT_NEVER);
    assert_int_equal(g.heat[1], HEAT_COLD);
    assert_int_equal(g.heat[5], HEAT_NORMAL);
    assert_int_equal(g.heat[0], HEAT_NORMAL);
    assert_true(heat_is_dead(HEAT_NEVER) && heat_is_dead(HEAT_DEAD) && !heat_is_dead(HEAT_COLD));
}

static void test_a_loop_without_an_exit_is_normal(void **state)
{
    struct graph g;
    (void)state;
    make(&g, "01 12 11 02");
    end_in(&g, 2, "abort");
    find(&g, NULL);
    assert_int_equal(g.heat[1], HEAT_NORMAL);
}

static void test_closed_edges_are_no_paths(void **state)
{
    bool is_closed[3] = {false, false, true};
    struct graph g;
    (void)state;
    make(&g, "01 12 13");
    end_in(&g, 2, "abort");
    find(&g, NULL);
    assert_int_equal(g.heat[1], HEAT_NORMAL);
    find(&g, is_closed);
    assert_int_equal(g.heat[1], HEAT_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_errors_never_run),
        cmocka_unit_test(test_the_warmest_path_counts),
        cmocka_unit_test(test_a_loop_without_an_exit_is_normal),
        cmocka_unit_test(test_closed_edges_are_no_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
