/* Checks groups of mutually recursive functions. Compares their numbers of frames with a simulation of every
 * call. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/verdict/analysis.h"

#define MAX_FUNCTIONS 6

/* --- groups --------------------------------------------------------------------------------------------- */

struct program {
    struct arena arena;
    struct module module;
    struct function functions[MAX_FUNCTIONS];
    struct block blocks[MAX_FUNCTIONS];
    struct call calls[MAX_FUNCTIONS][MAX_FUNCTIONS];
    struct groups groups;
};

/* Finds the groups of `count` functions. calls: "01 12 20" means that function 0 calls 1, 1 calls 2, and 2
 * calls 0; '-' instead of a number means a function outside the module. */
static void find_groups(struct program *p, size_t count, const char *calls)
{
    *p = (struct program){.module = {.functions = p->functions, .function_count = count}};
    for (size_t i = 0; i < count; i++) {
        p->blocks[i].calls = p->calls[i];
        p->functions[i] = (struct function){.blocks = &p->blocks[i], .block_count = 1};
    }
    for (; *calls; calls += calls[2] ? 3 : 2) {
        struct block *b = &p->blocks[calls[0] - '0'];
        b->calls[b->call_count++].callee = calls[1] == '-' ? -1 : calls[1] - '0';
    }
    assert_int_equal(groups_find(&p->arena, &p->module, &p->groups), JOULE_OK);
}

/* letters: functions with the same letter must be in one group. Groups of callees must come first. */
static void check_groups(size_t count, const char *calls, const char *letters)
{
    struct program p;
    find_groups(&p, count, calls);
    size_t members = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            assert_int_equal(p.groups.group_of[i] == p.groups.group_of[k], letters[i] == letters[k]);
    for (uint32_t g = 0; g < p.groups.count; g++)
        for (uint32_t m = p.groups.begin[g]; m < p.groups.begin[g + 1]; m++, members++)
            assert_int_equal(p.groups.group_of[p.groups.members[m]], g);
    assert_int_equal(members, count);
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < p.blocks[i].call_count; c++)
            if (p.calls[i][c].callee >= 0)
                assert_true(p.groups.group_of[p.calls[i][c].callee] <= p.groups.group_of[i]);
    arena_free(&p.arena);
}

static void test_functions_that_call_each_other_are_groups(void **state)
{
    (void)state;
    check_groups(0, "", "");
    check_groups(3, "", "abc");
    check_groups(3, "01 12 0-", "abc");
    check_groups(1, "00", "a");
    check_groups(3, "01 12 20", "aaa");
    check_groups(5, "01 12 21 23 34 43", "abbcc");
    check_groups(6, "01 12 20 03 34 45 53 25", "aaabbb");
    check_groups(4, "10 21 32 03 11", "aaaa");
    check_groups(4, "30 21 01", "abcd");
}

/* --- frames --------------------------------------------------------------------------------------------- */

struct trial {
    struct recursion_call calls[MAX_FUNCTIONS * MAX_FUNCTIONS];
    double depth[MAX_FUNCTIONS];
    struct recursion recursion;
};

/* Fills a recursion. calls: "00:2 01:1" means two calls from 0 to 0 and one from 0 to 1. depth: JOULE_DEPTH
 * of each function; 0: none. */
static struct recursion *set(struct trial *t, const char *calls, size_t count, const double *depth)
{
    size_t n = 0;
    memset(t, 0, sizeof *t);
    for (; *calls; calls += calls[4] ? 5 : 4)
        t->calls[n++] =
            (struct recursion_call){(uint32_t)(calls[0] - '0'), (uint32_t)(calls[1] - '0'), calls[3] - '0'};
    memcpy(t->depth, depth, count * sizeof *depth);
    t->recursion = (struct recursion){t->calls, n, t->depth, count};
    return &t->recursion;
}

/* Simulates a call of function f and all further calls that the remaining depth `left` permits. Counts the
 * frames of each function. */
static void call(const struct recursion *r, uint32_t f, double left, double *out)
{
    if (r->depth[f] > 0 && left-- < 1)
        return;
    out[f]++;
    for (size_t i = 0; i < r->call_count; i++)
        for (int times = 0; r->calls[i].from == f && times < (int)r->calls[i].max; times++)
            call(r, r->calls[i].to, left, out);
}

static void check_frames(const char *calls, size_t count, const double *depth)
{
    struct trial t;
    const struct recursion *r = set(&t, calls, count, depth);
    struct arena scratch = {0};
    double all = 0;
    for (size_t i = 0; i < count; i++)
        all += depth[i];
    assert_true(recursion_is_bounded(&scratch, r));
    for (uint32_t start = 0; start < count; start++) {
        double frames[MAX_FUNCTIONS], expected[MAX_FUNCTIONS] = {0};
        assert_true(recursion_frames(&scratch, r, start, all, frames));
        call(r, start, all, expected);
        for (size_t i = 0; i < count; i++)
            assert_true(frames[i] == expected[i]);
    }
    arena_free(&scratch);
}

static double frames_of_one(double max_runs, double depth)
{
    struct trial t = {.calls = {{0, 0, max_runs}}, .depth = {depth}};
    t.recursion = (struct recursion){t.calls, 1, t.depth, 1};
    struct arena scratch = {0};
    double frames[1];
    bool is_good = recursion_frames(&scratch, &t.recursion, 0, depth, frames);
    arena_free(&scratch);
    return is_good ? frames[0] : NAN;
}

static void test_a_function_that_calls_itself(void **state)
{
    (void)state;
    assert_true(frames_of_one(1, 1) == 1);
    assert_true(frames_of_one(1, 100) == 100);
    assert_true(frames_of_one(2, 10) == 1023);
    assert_true(frames_of_one(8, 4) == 585);
    assert_true(frames_of_one(1, RECURSION_MAX_DEPTH) == RECURSION_MAX_DEPTH);
    assert_true(frames_of_one(0.5, 1000) == 2);
    assert_true(isnan(frames_of_one(2, 1000)));
    assert_true(isnan(frames_of_one(1e300, RECURSION_MAX_DEPTH)));
}

static void test_frames_are_calls(void **state)
{
    (void)state;
    check_frames("00:1", 1, (double[]){5});
    check_frames("00:3", 1, (double[]){5});
    check_frames("01:1 10:1", 2, (double[]){4, 0});
    check_frames("01:2 10:3 00:1", 2, (double[]){3, 0});
    check_frames("01:1 12:2 20:1 02:1", 3, (double[]){4, 0, 0});
    check_frames("01:1 10:1 11:1", 2, (double[]){2, 3}); /* the functions of a group have different depths */
    check_frames("01:2 12:1 13:2 20:1 30:1 23:1", 4, (double[]){3, 0, 0, 0});
}

static void test_rounds_that_no_depth_bounds(void **state)
{
    (void)state;
    struct trial t;
    struct arena scratch = {0};
    double frames[MAX_FUNCTIONS];
    assert_false(recursion_is_bounded(&scratch, set(&t, "00:1", 1, (double[]){0})));
    assert_false(recursion_is_bounded(&scratch, set(&t, "01:1 10:1 11:1", 2, (double[]){3, 0})));
    assert_false(recursion_frames(&scratch, &t.recursion, 0, 3, frames));
    assert_false(recursion_is_bounded(&scratch, set(&t, "01:1 12:1 21:1 20:1", 3, (double[]){3, 0, 0})));
    assert_true(recursion_is_bounded(&scratch, set(&t, "01:1 12:1 21:1 20:1", 3, (double[]){3, 0, 1})));
    arena_free(&scratch);
}

/* --- calls of a frame ----------------------------------------------------------------------------------- */

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

/* Returns the maximum number of frames of a function. One branch calls the function once, the other calls it
 * three times. */
static double most_frames(uint32_t first_arm, const struct target *target)
{
    static const char *words[] = {"joule.depth:12"};
    struct call calls[4];
    struct edge edges[2] = {{first_arm, NAN, 0}, {3 - first_arm, NAN, 1}};
    struct block blocks[3] = {{.edges = edges, .edge_count = 2},
                              {.calls = calls, .call_count = 1},
                              {.calls = calls + 1, .call_count = 3}};
    struct function f = {.name = "f",
                         .blocks = blocks,
                         .block_count = 3,
                         .edge_count = 2,
                         .call_count = 4,
                         .annotations = words,
                         .annotation_count = 1};
    struct module module = {.functions = &f, .function_count = 1};
    struct analysis_options options = {.default_trips = NAN, .warmer_kelvin = NAN, .file_joules = NAN};
    struct analysis analysis;
    joule_error error;
    for (uint32_t i = 0; i < 4; i++)
        calls[i] = (struct call){.name = "f", .callee = 0, .number = i};
    for (int i = 0; i < 3; i++)
        blocks[i].work[WORK_INT] = 1;
    assert_int_equal(analysis_make(&module, &server, target, &options, &analysis, &error), JOULE_OK);
    double frames = analysis.results[0].frames[BOUND_HIGH];
    analysis_free(&analysis);
    return frames;
}

/* The number of frames must not depend on the cost of operations. A calibration may have found that
 * micro-operations cost nothing. */
static void test_frames_whatever_they_cost(void **state)
{
    (void)state;
    struct target target;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    for (int is_free = 0; is_free < 2; is_free++) {
        for (uint32_t first_arm = 1; first_arm <= 2; first_arm++)
            assert_true(most_frames(first_arm, &target) == 265720);
        target.table.joules[COST_UOPS] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_that_call_each_other_are_groups),
        cmocka_unit_test(test_a_function_that_calls_itself),
        cmocka_unit_test(test_frames_are_calls),
        cmocka_unit_test(test_frames_whatever_they_cost),
        cmocka_unit_test(test_rounds_that_no_depth_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
