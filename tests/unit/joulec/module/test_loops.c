/* Checks the loops of graphs written by hand, and of random graphs, against the definitions of dominators and
 * natural loops.
 *
 * "0>1 1>1" is a graph of two blocks with two edges. The block with the highest number is the last one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/module/loops.h"
#include "support/chance.h"

#define MAX_BLOCKS 12

struct graph {
    struct arena arena;
    struct function function;
    struct block blocks[MAX_BLOCKS];
    struct edge edges[MAX_BLOCKS][MAX_BLOCKS];
    struct loops loops;
};

static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
    struct block *b = &g->blocks[from];
    assert_true(from < MAX_BLOCKS && to < MAX_BLOCKS && b->edge_count < MAX_BLOCKS);
    b->edges = g->edges[from];
    b->edges[b->edge_count++] = (struct edge){to, NAN};
    uint32_t last = from > to ? from : to;
    if (g->function.block_count <= last)
        g->function.block_count = last + 1;
}

static void find(struct graph *g)
{
    g->function.blocks = g->blocks;
    assert_int_equal(loops_find(&g->arena, &g->function, &g->loops), JOULE_OK);
}

static struct graph *graph_of(const char *edges)
{
    struct graph *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->function.block_count = 1;
    for (char *end; *edges; edges = *end ? end + 1 : end) {
        uint32_t from = (uint32_t)strtoul(edges, &end, 10);
        assert_int_equal(*end, '>');
        add_edge(g, from, (uint32_t)strtoul(end + 1, &end, 10));
    }
    find(g);
    return g;
}

static void graph_free(struct graph *g)
{
    arena_free(&g->arena);
    free(g);
}

/* innermost: for each block, the letter of its innermost loop: 'a' for the first loop of the list, '.' for no
 * loop. */
static const struct shape {
    const char *name, *edges, *innermost;
    size_t count;
    struct {
        uint32_t header;
        int32_t parent;
        unsigned depth;
    } loops[3];
    bool is_irregular;
} shapes[] = {
    {"one block", "", ".", 0},
    {"two arms", "0>1 0>2 1>3 2>3", "....", 0},
    {"a loop of one block", "0>1 1>1 1>2", ".a.", 1, {{1, -1, 1}}},
    {"a loop at the entry", "0>0 0>1", "a.", 1, {{0, -1, 1}}},
    {"three nested",
     "0>1 1>2 1>7 2>3 2>6 3>4 3>5 4>3 5>2 6>1",
     ".abccba.",
     3,
     {{1, -1, 1}, {2, 0, 2}, {3, 1, 3}}},
    {"an inner one that goes straight on with the outer",
     "0>1 1>2 1>4 2>3 3>2 3>1",
     ".abb.",
     2,
     {{1, -1, 1}, {2, 0, 2}}},
    {"one after the other", "0>1 1>1 1>2 2>3 3>2 3>4", ".abb.", 2, {{1, -1, 1}, {2, -1, 1}}},
    {"two ways back to one header", "0>1 1>2 1>3 2>1 3>1 3>4", ".aaa.", 1, {{1, -1, 1}}},
    /* The source is while (b1) { if (b2) continue; if (b3) break; if (b4) return b6; } b5. Each bN stands for
     * the code of block N. */
    {"exits and continue", "0>1 1>2 1>5 2>1 2>3 3>5 3>4 4>1 4>6", ".aaaa..", 1, {{1, -1, 1}}},
    {"a way into the middle", "0>1 0>2 1>2 2>1 1>3", "....", 0, .is_irregular = true},
    /* The cycle of blocks 2 and 3 has two entries. The loop around this cycle has only one entry. */
    {"a way into the middle of an inner one",
     "0>1 1>2 1>3 2>3 3>2 3>4 4>1 4>5",
     ".aaaa.",
     1,
     {{1, -1, 1}},
     .is_irregular = true},
};

static bool is_as_expected(const struct graph *g, const struct shape *shape)
{
    bool is_same = g->loops.is_irregular == shape->is_irregular && g->loops.count == shape->count &&
                   g->function.block_count == strlen(shape->innermost);
    for (size_t i = 0; is_same && i < shape->count; i++)
        is_same = g->loops.list[i].header == shape->loops[i].header &&
                  g->loops.list[i].parent == shape->loops[i].parent &&
                  g->loops.list[i].depth == shape->loops[i].depth;
    for (size_t b = 0; is_same && shape->innermost[b]; b++)
        is_same = g->loops.innermost[b] == (shape->innermost[b] == '.' ? -1 : shape->innermost[b] - 'a');
    return is_same;
}

static void test_loops_of_known_graphs_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct graph *g = graph_of(shapes[i].edges);
        if (!is_as_expected(g, &shapes[i]))
            fail_msg("%s: other loops", shapes[i].name);
        graph_free(g);
    }
}

static void test_function_without_body_has_no_loops(void **state)
{
    (void)state;
    struct graph *g = calloc(1, sizeof *g);
    assert_non_null(g);
    find(g);
    assert_int_equal(g->loops.count, 0);
    assert_int_equal(g->loops.flow.reached, 0);
    graph_free(g);
}

/* Block 1 has an edge to itself and edges into and behind the loop of block 2, but block 1 is unreachable. */
static void test_unreachable_blocks_have_no_loops(void **state)
{
    (void)state;
    struct graph *g = graph_of("0>2 1>1 1>2 1>3 2>2 2>3");
    assert_int_equal(g->loops.flow.reached, 3);
    assert_int_equal(g->loops.count, 1);
    assert_int_equal(g->loops.list[0].header, 2);
    assert_int_equal(g->loops.innermost[1], -1);
    graph_free(g);
}

static void test_nesting_is_known(void **state)
{
    (void)state;
    struct graph *g = graph_of("0>1 1>2 2>2 2>3 3>1 3>4 4>4 4>5");
    assert_int_equal(g->loops.count, 3);
    assert_true(loop_is_within(&g->loops, 1, 0));
    assert_true(loop_is_within(&g->loops, 1, 1));
    assert_true(loop_is_within(&g->loops, 1, -1));
    assert_true(loop_is_within(&g->loops, -1, -1));
    assert_false(loop_is_within(&g->loops, 0, 1));
    assert_false(loop_is_within(&g->loops, 2, 0));
    assert_false(loop_is_within(&g->loops, -1, 0));
    graph_free(g);
}

/* A loop has the source position of its last block. If the last block has no position, the loop has the
 * position of its header. */
static void test_loop_has_the_position_of_its_last_block(void **state)
{
    (void)state;
    struct graph *g = graph_of("0>1 1>2 2>1 2>3");
    g->blocks[1].place = (struct source_place){"a.c", 4, 1};
    find(g);
    assert_int_equal(g->loops.list[0].place.line, 4);
    g->blocks[2].loop_place = (struct source_place){"a.c", 3, 1};
    find(g);
    assert_int_equal(g->loops.list[0].place.line, 3);
    graph_free(g);
}

/* --- by definition -------------------------------------------------------------------------------------- */

/* Returns the set of blocks that are reachable from `from` on paths without the block `without`. The set
 * contains `from`. */
static unsigned led_to(const struct graph *g, uint32_t from, uint32_t without)
{
    unsigned seen = from == without ? 0 : 1u << from, before;
    do {
        before = seen;
        for (uint32_t b = 0; b < g->function.block_count; b++)
            for (size_t e = 0; seen >> b & 1 && e < g->blocks[b].edge_count; e++)
                if (g->blocks[b].edges[e].to != without)
                    seen |= 1u << g->blocks[b].edges[e].to;
    } while (seen != before);
    return seen;
}

static bool dominates(const struct graph *g, uint32_t a, uint32_t b)
{
    return !(led_to(g, 0, a) >> b & 1);
}

/* Returns the set of blocks in the loop whose header is `header`; 0: there is no such loop. */
static unsigned body_of(const struct graph *g, uint32_t header)
{
    unsigned reached = led_to(g, 0, UINT32_MAX), body = 0;
    for (uint32_t b = 0; b < g->function.block_count; b++)
        for (size_t e = 0; reached >> b & 1 && e < g->blocks[b].edge_count; e++) {
            if (g->blocks[b].edges[e].to != header || !dominates(g, header, b))
                continue;
            body |= 1u << header;
            for (uint32_t other = 0; other < g->function.block_count; other++)
                if (reached >> other & 1 && led_to(g, other, header) >> b & 1)
                    body |= 1u << other;
        }
    return body;
}

/* Returns true if the graph has a cycle after the back edges of all loops are removed. A reducible graph then
 * has no cycle. */
static bool has_cycle(const struct graph *g)
{
    unsigned left = led_to(g, 0, UINT32_MAX), before;
    do { /* removes blocks without successors until nothing changes */
        before = left;
        for (uint32_t b = 0; b < g->function.block_count; b++) {
            bool loop_successors = false;
            for (size_t e = 0; e < g->blocks[b].edge_count; e++) {
                uint32_t to = g->blocks[b].edges[e].to;
                loop_successors =
                    loop_successors || (left >> to & 1 && left >> b & 1 && !dominates(g, to, b));
            }
            if (!loop_successors)
                left &= ~(1u << b);
        }
    } while (left != before);
    return left != 0;
}

static void check_order(const struct graph *g)
{
    unsigned listed = 0;
    for (size_t i = 0; i < g->loops.flow.reached; i++) {
        uint32_t block = g->loops.flow.order[i];
        assert_false(listed >> block & 1);
        listed |= 1u << block;
    }
    assert_int_equal(g->loops.flow.order[0], 0);
    assert_int_equal(listed, led_to(g, 0, UINT32_MAX));
    for (size_t i = 0; i < g->loops.flow.reached && !g->loops.is_irregular; i++)
        for (size_t k = 0; k <= i; k++)
            for (size_t e = 0; e < g->blocks[g->loops.flow.order[i]].edge_count; e++)
                if (g->blocks[g->loops.flow.order[i]].edges[e].to == g->loops.flow.order[k])
                    assert_true(dominates(g, g->loops.flow.order[k], g->loops.flow.order[i]));
}

/* Returns the smallest loop with block `b` that contains all blocks of the set `than` and at least one more
 * block; -1: there is none. */
static int32_t smallest_with(const struct graph *g, uint32_t b, const unsigned *bodies, unsigned than)
{
    int32_t best = -1;
    for (size_t i = 0; i < g->loops.count; i++)
        if (bodies[i] >> b & 1 && bodies[i] != than && (bodies[i] & than) == than &&
            (best < 0 || (bodies[i] & bodies[best]) == bodies[i]))
            best = (int32_t)i;
    return best;
}

static void check_loops(const struct graph *g)
{
    unsigned bodies[MAX_BLOCKS] = {0};
    bool has_inner[MAX_BLOCKS + 1] = {false};
    size_t count = 0;
    for (uint32_t b = 0; b < g->function.block_count; b++)
        count += body_of(g, b) != 0;
    assert_int_equal(g->loops.count, count);
    for (size_t i = 0; i < count; i++) {
        bodies[i] = body_of(g, g->loops.list[i].header);
        assert_int_not_equal(bodies[i], 0);
        assert_true(g->loops.list[i].parent < (int32_t)i);
    }
    for (size_t i = 0; i < count; i++) {
        const struct loop *loop = &g->loops.list[i];
        int32_t parent = smallest_with(g, loop->header, bodies, bodies[i]);
        assert_int_equal(loop->parent, parent);
        assert_int_equal(loop->depth, parent < 0 ? 1 : g->loops.list[parent].depth + 1);
        has_inner[parent < 0 ? MAX_BLOCKS : parent] = true;
    }
    for (size_t i = 0; i < count; i++)
        assert_int_equal(g->loops.list[i].is_outer, has_inner[i]);
    for (uint32_t b = 0; b < g->function.block_count; b++)
        assert_int_equal(g->loops.innermost[b], smallest_with(g, b, bodies, 0));
    assert_int_equal(g->loops.is_irregular, has_cycle(g));
}

/* --- lists, by definition ------------------------------------------------------------------------------- */

static void check_members(const struct graph *g)
{
    for (size_t i = 0; i < g->loops.count; i++) {
        unsigned members = 0;
        for (uint32_t k = g->loops.list[i].first; k < g->loops.list[i].end; k++)
            members |= 1u << g->loops.members[k];
        assert_int_equal(members, body_of(g, g->loops.list[i].header));
        for (uint32_t b = 0; b < g->function.block_count; b++)
            if (g->loops.flow.rank[b] != FLOW_NONE)
                assert_int_equal(loop_has(&g->loops, (int32_t)i, b), members >> b & 1);
    }
}

/* Returns true if the block is directly in the region, or is the header of a loop directly in the region. */
static bool is_node(const struct graph *g, uint32_t b, int32_t region)
{
    int32_t inner = -1;
    for (size_t i = 0; i < g->loops.count; i++)
        if (g->loops.list[i].header == b && g->loops.list[i].parent == region)
            inner = (int32_t)i;
    assert_int_equal(loop_at_node(&g->loops, b, region), inner);
    return inner >= 0 || g->loops.innermost[b] == region;
}

static void check_nodes(const struct graph *g)
{
    for (int32_t region = -1; region < (int32_t)g->loops.count; region++) {
        uint32_t at = g->loops.node_begin[region + 1];
        for (size_t i = 0; i < g->loops.flow.reached; i++)
            if (is_node(g, g->loops.flow.order[i], region))
                assert_int_equal(g->loops.nodes[at++], g->loops.flow.order[i]);
        assert_int_equal(at, g->loops.node_begin[region + 2]);
    }
}

/* Returns the number of times that an edge is among the exits of `loop`. */
static size_t count_exits(const struct graph *g, size_t loop, uint32_t block, uint32_t edge)
{
    size_t count = 0;
    for (uint32_t i = g->loops.exit_begin[loop]; i < g->loops.exit_begin[loop + 1]; i++)
        count += g->loops.exits[i].block == block && g->loops.exits[i].edge == edge;
    return count;
}

static void check_exits(const struct graph *g)
{
    for (size_t i = 0; i < g->loops.flow.reached; i++) {
        uint32_t b = g->loops.flow.order[i];
        for (uint32_t e = 0; e < g->blocks[b].edge_count; e++)
            for (size_t l = 0; l < g->loops.count; l++) {
                int32_t parent = g->loops.list[l].parent;
                uint32_t to = g->blocks[b].edges[e].to;
                bool leaves = loop_has(&g->loops, (int32_t)l, b) && !loop_has(&g->loops, (int32_t)l, to);
                assert_int_equal(count_exits(g, l, b, e), leaves && loop_has(&g->loops, parent, to));
            }
    }
}

static uint32_t below(uint32_t count)
{
    return (uint32_t)(chance_bits() >> 32) % count;
}

/* As in real code, most edges lead forward by a few blocks, and some lead back. A few edges lead to any
 * block. */
static void add_random_edges(struct graph *g)
{
    uint32_t count = 2 + below(MAX_BLOCKS - 1);
    g->function.block_count = count;
    for (uint32_t b = 0; b < count; b++)
        for (uint32_t ways = 1 + below(2); ways > 0; ways--) {
            uint32_t to = chance() < 0.7 ? b + 1 + below(2) : chance() < 0.8 ? below(b + 1) : below(count);
            add_edge(g, b, to < count ? to : count - 1);
        }
}

static void test_loops_of_random_graphs_equal_a_search(void **state)
{
    (void)state;
    chance_state = CHANCE_SEED;
    size_t regular = 0, irregular = 0, nested = 0;
    for (int i = 0; i < 4000; i++) {
        struct graph *g = calloc(1, sizeof *g);
        assert_non_null(g);
        add_random_edges(g);
        find(g);
        check_order(g);
        check_loops(g);
        check_members(g);
        check_nodes(g);
        check_exits(g);
        regular += !g->loops.is_irregular && g->loops.count > 0;
        irregular += g->loops.is_irregular;
        nested += g->loops.count > 1 && g->loops.list[g->loops.count - 1].depth > 1;
        graph_free(g);
    }
    assert_true(regular > 100 && irregular > 100 && nested > 100);
}

/* --- depth ---------------------------------------------------------------------------------------------- */

/* Checks `depth` nested loops. Blocks 1 to `depth` are the headers, from the outermost to the innermost loop.
 * The last blocks of the loops follow. */
static void check_depth(unsigned depth)
{
    struct arena arena = {0};
    struct loops loops;
    size_t count = 2 * depth + 2;
    struct block *blocks = arena_alloc(&arena, count * sizeof *blocks);
    struct edge *edges = arena_alloc(&arena, 2 * count * sizeof *edges);
    struct function f = {.blocks = blocks, .block_count = count};
    assert_true(blocks && edges);
    for (uint32_t b = 0; b < count; b++) {
        blocks[b].edges = &edges[(size_t)2 * b];
        blocks[b].edge_count = b + 1 == count ? 0 : b > depth ? 2 : 1;
        blocks[b].edges[0].to = b + 1;
        blocks[b].edges[1].to = 2 * depth + 1 - b;
    }
    assert_int_equal(loops_find(&arena, &f, &loops), JOULE_OK);
    assert_int_equal(loops.count, depth < LOOPS_MAX_DEPTH ? depth : LOOPS_MAX_DEPTH);
    assert_int_equal(loops.is_too_deep, depth > LOOPS_MAX_DEPTH);
    assert_false(loops.is_irregular);
    for (uint32_t i = 0; i < loops.count; i++) {
        assert_int_equal(loops.list[i].header, i + 1);
        assert_int_equal(loops.list[i].depth, i + 1);
        assert_int_equal(loops.list[i].is_outer, i + 1 < loops.count);
        assert_int_equal(loops.list[i].end - loops.list[i].first, 2 * (depth - i));
    }
    assert_int_equal(loops.innermost[depth], (int32_t)loops.count - 1);
    arena_free(&arena);
}

static void test_depth_has_an_end(void **state)
{
    (void)state;
    check_depth(3);
    check_depth(LOOPS_MAX_DEPTH);
    check_depth(LOOPS_MAX_DEPTH + 1);
    check_depth(5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_of_known_graphs_are_found),
        cmocka_unit_test(test_function_without_body_has_no_loops),
        cmocka_unit_test(test_unreachable_blocks_have_no_loops),
        cmocka_unit_test(test_nesting_is_known),
        cmocka_unit_test(test_loop_has_the_position_of_its_last_block),
        cmocka_unit_test(test_loops_of_random_graphs_equal_a_search),
        cmocka_unit_test(test_depth_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
