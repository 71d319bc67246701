/* Checks the cost of a call, for functions written by hand.
 *
 * Blocks contain only integer operations, whose cycles and joules are proportional to their number. `unit` is
 * the cost of one operation at each bound, and expectations count operations. "0>1:0.9 0>2" is a graph of
 * three blocks with the probability of one edge. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/work/sum.h"

#define MAX_BLOCKS 12
#define NEAR(a, b) assert_true(is_near(a, b))

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

struct body {
    struct block blocks[MAX_BLOCKS];
    struct edge edges[MAX_BLOCKS][MAX_BLOCKS];
    struct call call;
};

struct trial {
    struct target target;
    struct module module;
    struct function functions[2];
    struct body bodies[2];
    struct loops loops;
    struct loop_times times[MAX_BLOCKS];
    struct function_sum sums[2];
    bool is_summed[2];
    double unit[BOUNDS];
};

static void add_edge(struct function *f, struct body *body, uint32_t from, uint32_t to, double probability)
{
    struct block *b = &body->blocks[from];
    assert_true(from < MAX_BLOCKS && to < MAX_BLOCKS && b->edge_count < MAX_BLOCKS);
    b->edges = body->edges[from];
    b->edges[b->edge_count++] = (struct edge){to, probability};
    uint32_t last = from > to ? from : to;
    if (f->block_count <= last)
        f->block_count = last + 1;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ops: number of operations in each block; -1 ends the list. */
static void set_function(struct trial *t, size_t index, const char *edges, const double *ops)
{
    struct function *f = &t->functions[index];
    struct body *body = &t->bodies[index];
    *body = (struct body){0};
    *f = (struct function){.name = "f", .blocks = body->blocks, .block_count = 1};
    for (char *end; *edges; edges = *end ? end + 1 : end) {
        uint32_t from = (uint32_t)strtoul(edges, &end, 10), to = (uint32_t)strtoul(end + 1, &end, 10);
        add_edge(f, body, from, to, *end == ':' ? strtod(end + 1, &end) : NAN);
    }
    for (size_t b = 0; b < f->block_count; b++) {
        body->blocks[b].work[WORK_INT] = ops[b];
    }
    for (size_t i = 0; i < MAX_BLOCKS; i++)
        t->times[i] = (struct loop_times){{1, 1, 1}};
}

static const struct function_sum *add_up(struct trial *t, size_t index)
{
    assert_int_equal(loops_find(&t->module.arena, &t->functions[index], &t->loops), JOULE_OK);
    const struct function_sum *callees[MAX_BLOCKS] = {NULL};
    for (size_t b = 0; b < t->functions[index].block_count; b++)
        for (size_t c = 0; c < t->bodies[index].blocks[b].call_count; c++) {
            const struct call *one = &t->bodies[index].blocks[b].calls[c];
            if (one->callee >= 0 && t->is_summed[one->callee])
                callees[one->number] = &t->sums[one->callee];
        }
    assert_int_equal(sum_function(&t->module.arena, &t->functions[index], &t->loops, t->times, NULL,
                                  &t->target, callees, NULL, &t->sums[index]),
                     JOULE_OK);
    t->is_summed[index] = true;
    return &t->sums[index];
}

static double joules(const struct trial *t, const struct function_sum *sum, enum bound bound)
{
    return amounts_joules(&t->target, &sum->call, bound);
}

static struct trial *trial_new(const char *edges, const double *ops)
{
    struct trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    cost_core_describe(&server, NAN, &t->target.core);
    cost_core_table(&server, &t->target.table);
    t->module.functions = t->functions;
    t->module.function_count = 2;
    set_function(t, 0, "", (double[]){1});
    for (int b = 0; b < BOUNDS; b++)
        t->unit[b] = joules(t, add_up(t, 0), (enum bound)b);
    t->is_summed[0] = false;
    set_function(t, 0, edges, ops);
    return t;
}

static void trial_free(struct trial *t)
{
    arena_free(&t->module.arena);
    free(t);
}

/* Expects this many operations at each bound, and no doubts. */
static void check(struct trial *t, const char *name, const double expected[BOUNDS])
{
    const struct function_sum *sum = add_up(t, 0);
    if (sum->doubt_count)
        fail_msg("%s: a doubt", name);
    for (int b = 0; b < BOUNDS; b++) {
        double ops = sum->call.of[b].amount[COST_INT_OPS], price = joules(t, sum, (enum bound)b) / t->unit[b];
        if (!is_near(ops, expected[b]) || !is_near(price, expected[b]))
            fail_msg("%s, bound %d: %g operations at the price of %g, and not %g", name, b, ops, price,
                     expected[b]);
    }
    assert_true(joules(t, sum, BOUND_LOW) <= joules(t, sum, BOUND_EST));
    assert_true(joules(t, sum, BOUND_EST) <= joules(t, sum, BOUND_HIGH));
    trial_free(t);
}

/* --- paths and loops ------------------------------------------------------------------------------------ */

static const struct shape {
    const char *name, *edges;
    double ops[MAX_BLOCKS], expected[BOUNDS];
    const char *dead_ends; /* numbers of the blocks that are dead ends */
    struct loop_times times[2];
} shapes[] = {
    {"one block", "", {7}, {7, 7, 7}},
    {"a straight line", "0>1 1>2", {1, 2, 3}, {6, 6, 6}},
    {"a cheap and an expensive arm", "0>1 0>2 1>3 2>3", {1, 10, 100, 2}, {13, 58, 103}},
    {"a likely arm", "0>1:0.9 0>2:0.1 1>3 2>3", {1, 10, 100, 2}, {13, 22, 103}},
    {"a sure arm", "0>1:0 0>2:1 1>3 2>3", {1, 10, 100, 2}, {13, 103, 103}},
    {"an arm or none", "0>1 0>2 1>2", {1, 10, 100}, {101, 106, 111}},
    {"arms that return", "0>1 0>2", {1, 10, 100}, {11, 56, 101}},
    {"weights that do not add up to one", "0>1:3 0>2:1", {0, 100, 200}, {100, 125, 200}},
    {"a block that is not reached", "0>2 1>2", {1, 1000, 10}, {11, 11, 11}},
    {"an expensive dead end", "0>1 0>2", {1, 10, 1000}, {11, 11, 1001}, .dead_ends = "2"},
    {"a cheap dead end", "0>1 0>2", {1, 10, 0}, {11, 11, 11}, .dead_ends = "2"},
    /* A failed assert() first calls a function that prints the reason. */
    {"ways to dead ends alone",
     "0>1 0>2 2>3 3>4 3>5",
     {1, 100, 10, 20, 1, 1},
     {101, 101, 101},
     .dead_ends = "45"},
    /* The function never returns, but does some work first. */
    {"dead ends alone", "0>1", {1, 10}, {11, 11, 11}, .dead_ends = "1"},
    {"a loop", "0>1 1>1 1>2", {1, 10, 2}, {23, 53, 93}, .times = {{{2, 5, 9}}}},
    {"a loop at the entry", "0>0 0>1", {10, 2}, {22, 52, 92}, .times = {{{2, 5, 9}}}},
    {"a branch in a loop",
     "0>1 1>2:0.75 1>3:0.25 2>4 3>4 4>1 4>5",
     {0, 1, 10, 100, 2, 0},
     {2 * 13, 4 * (3 + 7.5 + 25), 8 * 103},
     .times = {{{2, 4, 8}}}},
    /* The loop is for (...) { 1; if (...) continue; 2 }. */
    {"continue, a way round",
     "0>1 1>1:0.9 1>2:0.1 2>1 2>3",
     {0, 1, 100, 0},
     {10, 110, 1010},
     .times = {{{10, 10, 10}}}},
    /* Only iterations that reach the back edge are complete. The last iteration may leave at exit 1. */
    {"break, no way round",
     "0>1 1>2 1>4 2>3 2>4 3>1",
     {0, 1, 2, 3, 0},
     {55, 60, 60},
     .times = {{{10, 10, 10}}}},
    {"nested loops",
     "0>1 1>2 2>2 2>3 3>1 3>4",
     {1, 10, 100, 10, 1},
     {2 + 1 * 220, 2 + 2 * 420, 2 + 3 * 620},
     .times = {{{1, 2, 3}}, {{2, 4, 6}}}},
    /* The inner loop's last block has an edge to the outer loop's first block. The outer loop exits from this
     * first block. */
    {"an inner loop that goes straight on with the outer",
     "0>1 1>2 1>4 2>3 3>2 3>1",
     {0, 1, 10, 100, 0},
     {331 + 1, 331 + 1, 331 + 1},
     .times = {{{2, 2, 2}}, {{3, 3, 3}}}},
    {"loops one after the other",
     "0>1 1>1 1>2 2>2 2>3",
     {1, 10, 100, 1},
     {2 + 10 + 400, 2 + 20 + 500, 2 + 30 + 600},
     .times = {{{1, 2, 3}}, {{4, 5, 6}}}},
    {"a loop inside one arm",
     "0>1:0.5 0>2:0.5 1>1 1>3 2>3",
     {1, 10, 5, 2},
     {8, 3 + 0.5 * 40 + 0.5 * 5, 83},
     .times = {{{2, 4, 8}}}},
    /* The source is if (n > 0) do ... while (...). The condition is mostly true. */
    {"a guard, which mostly lets in",
     "0>1 0>2 1>1 1>2",
     {1, 10, 2},
     {3, 3 + 0.95 * 40, 43},
     .times = {{{4, 4, 4}}}},
    /* The loop has two exits, one of which ends the program. Calls that return always use the other exit. */
    {"a loop with a way to a dead end",
     "0>1 1>2 1>4 2>1 2>3",
     {0, 1, 10, 100, 0},
     {133, 133, 133},
     .dead_ends = "4",
     .times = {{{3, 3, 3}}}},
    {"a loop out of which all ways are dead ends",
     "0>1 1>2 1>3 2>1 2>4",
     {0, 1, 10, 100, 200},
     {133, 33 + 150, 233},
     .dead_ends = "34",
     .times = {{{3, 3, 3}}}},
    {"a loop with two ways out",
     "0>1 1>2 1>3 2>1 2>4",
     {0, 1, 10, 100, 200},
     {123, 33 + 150, 233},
     .times = {{{3, 3, 3}}}},
    /* The loop is while (1). Only the cost of its iterations is known. */
    {"a loop without a way out", "0>1 1>1", {1, 10}, {21, 31, 41}, .times = {{{2, 3, 4}}}},
};

static void test_sums_of_known_graphs_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *shape = &shapes[i];
        struct trial *t = trial_new(shape->edges, shape->ops);
        for (const char *block = shape->dead_ends; block && *block; block++)
            t->bodies[0].blocks[*block - '0'].is_dead_end = true;
        memcpy(t->times, shape->times, sizeof shape->times);
        check(t, shape->name, shape->expected);
    }
}

static void test_time_is_cycles_and_the_packages_share(void **state)
{
    (void)state;
    struct trial *t = trial_new("", (double[]){1000});
    const struct function_sum *sum = add_up(t, 0);
    struct cost_features work = {.version = COST_VERSION};
    work.amount[COST_UOPS] = work.amount[COST_INT_OPS] = 1000;
    struct cost_range cycles = cost_core_cycles(&t->target.core, &work, &(struct cost_flow){NAN, NAN});
    const double expected[BOUNDS] = {cycles.low, cycles.est, cycles.high};
    for (int b = 0; b < BOUNDS; b++) {
        NEAR(sum->call.of[b].amount[COST_CYCLES], expected[b]);
        NEAR(sum->call.of[b].amount[COST_PACKAGE_SECONDS],
             expected[b] / t->target.core.hz * t->target.core.package_share);
        work.amount[COST_CYCLES] = sum->call.of[b].amount[COST_CYCLES];
        work.amount[COST_PACKAGE_SECONDS] = sum->call.of[b].amount[COST_PACKAGE_SECONDS];
        NEAR(joules(t, sum, (enum bound)b), cost_joules(&t->target.table, &work));
    }
    trial_free(t);
}

static void test_each_loop_is_kept(void **state)
{
    (void)state;
    struct trial *t = trial_new("0>1 1>2 2>2 2>3 3>1 3>4", (double[]){1, 10, 100, 10, 1});
    t->times[0] = (struct loop_times){{2, 2, 2}};
    t->times[1] = (struct loop_times){{4, 4, 4}};
    const struct function_sum *sum = add_up(t, 0);
    for (int b = 0; b < BOUNDS; b++) {
        NEAR(sum->loops[0].of[b].amount[COST_INT_OPS], 840);
        NEAR(sum->loops[1].of[b].amount[COST_INT_OPS], 400);
    }
    trial_free(t);
}

/* --- calls ---------------------------------------------------------------------------------------------- */

static void call(struct trial *t, size_t index, uint32_t block, const char *name, int32_t callee)
{
    struct body *body = &t->bodies[index];
    body->call = (struct call){name, callee, {"a.c", 7, 3}};
    body->blocks[block].calls = &body->call;
    body->blocks[block].call_count = 1;
}

static void test_call_of_a_summed_function(void **state)
{
    (void)state;
    struct trial *t = trial_new("0>1 0>2 1>3 2>3", (double[]){1, 10, 100, 2});
    set_function(t, 1, "0>1 0>2", (double[]){1, 2, 4});
    add_up(t, 1);
    call(t, 0, 1, "g", 1);
    check(t, "a call in an arm", (double[]){13 + 3, 58 + 0.5 * 4, 103});
}

static void test_call_in_a_loop(void **state)
{
    (void)state;
    struct trial *t = trial_new("0>1 1>1 1>2", (double[]){1, 10, 2});
    set_function(t, 1, "", (double[]){5});
    add_up(t, 1);
    call(t, 0, 1, "g", 1);
    t->times[0] = (struct loop_times){{1, 2, 3}};
    check(t, "a call in a loop", (double[]){18, 33, 48});
}

static void test_contract_of_the_c_library(void **state)
{
    (void)state;
    struct trial *t = trial_new("", (double[]){1});
    call(t, 0, 0, "sin", -1);
    const struct function_sum *sum = add_up(t, 0);
    assert_int_equal(sum->doubt_count, 0);
    for (int b = 0; b < BOUNDS; b++)
        assert_true(joules(t, sum, (enum bound)b) > t->unit[b]);
    trial_free(t);
}

static bool is_variable(const char *edges, const char *name)
{
    struct trial *t = trial_new(edges, (double[]){1, 1, 1, 1, 1, 1});
    set_function(t, 1, "0>1 0>2 1>3 2>3", (double[]){1, 1, 1, 1});
    add_up(t, 1);
    if (name)
        call(t, 0, 0, name, strcmp(name, "g") == 0 ? 1 : -1);
    bool has = add_up(t, 0)->is_variable;
    trial_free(t);
    return has;
}

/* The cost is variable if there are several paths, even if all have the same length. */
static void test_paths_of_equal_length_are_several_paths(void **state)
{
    (void)state;
    assert_false(is_variable("0>1 1>2", NULL));
    assert_false(is_variable("0>1 1>1 1>2", NULL));
    assert_false(is_variable("0>1 1>2 2>1 1>3", NULL)); /* the loop is always left from its first block */
    assert_true(is_variable("0>1 0>2 1>3 2>3", NULL));
    assert_true(is_variable("0>1 1>2 1>3 2>4 3>4 4>1 4>5", NULL)); /* two paths in each iteration */
    assert_true(is_variable("0>1 1>1 1>2 1>3", NULL));             /* two paths after a loop */
    assert_true(is_variable("", "g"));
    assert_true(is_variable("", "sin"));
}

static double cycles_of_bytes(const char *name, struct operand length, enum bound bound)
{
    struct trial *t = trial_new("", (double[]){0});
    struct operand arguments[3] = {{.name = "to"}, {.name = "from"}, length};
    call(t, 0, 0, name, -1);
    t->bodies[0].call.arguments = arguments;
    t->bodies[0].call.argument_count = 3;
    double cycles = add_up(t, 0)->call.of[bound].amount[COST_CYCLES];
    trial_free(t);
    return cycles;
}

static void test_compares_of_known_length(void **state)
{
    (void)state;
    static const struct operand none = {.name = "n"}, few = {.is_constant = true, .constant = 8},
                                some = {.is_constant = true, .constant = 32},
                                many = {.is_constant = true, .constant = 1 << 20};
    NEAR(cycles_of_bytes("bcmp", few, BOUND_EST), 2); /* compiled inline */
    NEAR(cycles_of_bytes("bcmp", some, BOUND_EST), 4);
    NEAR(cycles_of_bytes("memcmp", some, BOUND_EST), 25);
    NEAR(cycles_of_bytes("memcmp", none, BOUND_EST), 25);
    NEAR(cycles_of_bytes("memcmp", many, BOUND_LOW), 1); /* the first bytes may differ */
    assert_true(cycles_of_bytes("memcmp", few, BOUND_HIGH) < cycles_of_bytes("memcmp", none, BOUND_HIGH));
    assert_true(cycles_of_bytes("memcmp", many, BOUND_HIGH) > 1e6);
}

static void test_copies_of_known_length(void **state)
{
    (void)state;
    static const struct operand none = {.name = "n"}, few = {.is_constant = true, .constant = 64},
                                many = {.is_constant = true, .constant = 1 << 20},
                                broken = {.is_constant = true, .constant = -1};
    NEAR(cycles_of_bytes("llvm.memcpy.p0.p0.i64", few, BOUND_EST), 4); /* one store of 16 bytes per cycle */
    NEAR(cycles_of_bytes("memset", few, BOUND_LOW), 1);
    assert_true(cycles_of_bytes("memmove", many, BOUND_LOW) > 10000);
    assert_true(cycles_of_bytes("memmove", many, BOUND_HIGH) > 1e6);
    NEAR(cycles_of_bytes("memcpy", none, BOUND_EST), 40);
    NEAR(cycles_of_bytes("memcpy", broken, BOUND_EST), 40);
    NEAR(cycles_of_bytes("strncpy", few, BOUND_EST), 40);
}

/* Returns the cycles of an inner loop with `times` iterations, whose dependence chain has 10 products per
 * iteration. */
static double cycles_of_inner(bool is_entry_independent, double times, enum bound bound)
{
    struct trial *t = trial_new("0>1 1>2 2>2 2>3 3>1 3>4", (double[]){0, 0, 4, 0, 0});
    struct block *inner = &t->bodies[0].blocks[2];
    t->times[0] = (struct loop_times){{1, 1, 1}};
    t->times[1] = (struct loop_times){{times, times, times}};
    inner->has_chain = true;
    inner->chain[WORK_INT_MUL] = 10;
    inner->is_entry_independent = is_entry_independent;
    double cycles = add_up(t, 0)->loops[1].of[bound].amount[COST_CYCLES];
    trial_free(t);
    return cycles;
}

static void test_independent_loops_overlap(void **state)
{
    (void)state;
    struct trial *t = trial_new("", (double[]){0});
    struct cost_core core = t->target.core;
    trial_free(t);
    struct cost_features work = {.version = COST_VERSION};
    work.amount[COST_UOPS] = work.amount[COST_INT_OPS] = 4;
    double chain = 10 * core.latency[COST_INT_MULS], beside = cost_core_restarted(&core, chain, 4 * 8);
    assert_true(beside < chain / 7);
    NEAR(cycles_of_inner(false, 8, BOUND_EST),
         8 * cost_core_cycles(&core, &work, &(struct cost_flow){chain, NAN}).est);
    NEAR(cycles_of_inner(true, 8, BOUND_EST),
         8 * cost_core_cycles(&core, &work, &(struct cost_flow){beside, NAN}).est);
    NEAR(cycles_of_inner(true, 8, BOUND_LOW),
         8 * cost_core_cycles(&core, &work, &(struct cost_flow){beside, NAN}).low);
    NEAR(cycles_of_inner(true, 8, BOUND_HIGH), cycles_of_inner(false, 8, BOUND_HIGH));
    assert_true(cycles_of_inner(true, 1e6, BOUND_EST) > 0.99 * cycles_of_inner(false, 1e6, BOUND_EST));
}

/* Checks that a call of unknown cost is reported with its position and adds nothing to the sum. */
static void check_doubt(const char *name, int32_t callee, enum doubt_kind kind)
{
    struct trial *t = trial_new("0>1 0>2", (double[]){1, 10, 10});
    call(t, 0, 1, name, callee);
    const struct function_sum *sum = add_up(t, 0);
    assert_int_equal(sum->doubt_count, 1);
    assert_int_equal(sum->doubts[0].kind, kind);
    assert_ptr_equal(sum->doubts[0].name, name);
    assert_int_equal(sum->doubts[0].place.line, 7);
    NEAR(joules(t, sum, BOUND_EST), 11 * t->unit[BOUND_EST]);
    trial_free(t);
}

static void test_unknown_calls_are_doubts(void **state)
{
    (void)state;
    check_doubt("f", 0, DOUBT_RECURSION);
    check_doubt("g", 1, DOUBT_RECURSION); /* g calls f again; otherwise the cost of g would have been added */
    check_doubt("nobody_knows", -1, DOUBT_CALLEE);
    check_doubt(NULL, -1, DOUBT_POINTER);
}

static void test_number_of_doubts_is_limited(void **state)
{
    (void)state;
    struct trial *t = trial_new("0>1 1>2 2>3 3>4 4>5 5>6", (double[]){0, 0, 0, 0, 0, 0, 0});
    call(t, 0, 0, "nobody_knows", -1);
    for (int b = 1; b < 7; b++) {
        t->bodies[0].blocks[b].calls = &t->bodies[0].call;
        t->bodies[0].blocks[b].call_count = 1;
    }
    const struct function_sum *sum = add_up(t, 0);
    assert_int_equal(sum->doubt_count, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(sum->doubts[i].name, "nobody_knows");
    assert_true(joules(t, sum, BOUND_HIGH) == 0); /* NOLINT */
    trial_free(t);
}

static void test_irreducible_loop_is_a_doubt(void **state)
{
    (void)state;
    struct trial *t = trial_new("0>1 0>2 1>2 2>1 1>3", (double[]){1, 1, 1, 1});
    const struct function_sum *sum = add_up(t, 0);
    assert_int_equal(sum->doubt_count, 1);
    assert_int_equal(sum->doubts[0].kind, DOUBT_SHAPE);
    trial_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_of_known_graphs_are_exact),
        cmocka_unit_test(test_time_is_cycles_and_the_packages_share),
        cmocka_unit_test(test_each_loop_is_kept),
        cmocka_unit_test(test_paths_of_equal_length_are_several_paths),
        cmocka_unit_test(test_call_of_a_summed_function),
        cmocka_unit_test(test_call_in_a_loop),
        cmocka_unit_test(test_contract_of_the_c_library),
        cmocka_unit_test(test_compares_of_known_length),
        cmocka_unit_test(test_copies_of_known_length),
        cmocka_unit_test(test_independent_loops_overlap),
        cmocka_unit_test(test_unknown_calls_are_doubts),
        cmocka_unit_test(test_number_of_doubts_is_limited),
        cmocka_unit_test(test_irreducible_loop_is_a_doubt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
