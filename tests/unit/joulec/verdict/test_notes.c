/* Checks the notes of a finding. Each loop or call without a bound is reported once, even if it recurs. The
 * iterations of a loop are summed over all frames of a recursive function. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/verdict/findings.h"

#define MAX_LOOPS 8

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

/* Two functions that have loops and other work without bounds. */
struct trial {
    struct analysis analysis;
    struct function_result results[2];
    struct function functions[2];
    struct loop loops[2][MAX_LOOPS];
    struct trips trips[2][MAX_LOOPS];
    struct loop_notes words[2][MAX_LOOPS];
    struct doubt doubts[2][MAX_LOOPS];
    struct loop_runs runs[MAX_LOOPS];
    struct amounts amounts[MAX_LOOPS];
    struct limit limit;
    char messages[8192];
};

static struct trial *trial_new(void)
{
    struct trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    cost_core_describe(&server, NAN, &t->analysis.target.core);
    cost_core_table(&server, &t->analysis.target.table);
    t->analysis.results = t->results;
    t->analysis.result_count = 2;
    for (int i = 0; i < 2; i++) {
        t->functions[i].name = i ? "g" : "f";
        t->results[i] =
            (struct function_result){.function = &t->functions[i],
                                     .trips = t->trips[i],
                                     .words = t->words[i],
                                     .loops = {.list = t->loops[i]},
                                     .frames = {1, 1, 1},
                                     .sum = {.doubts = t->doubts[i], .loops = t->amounts, .runs = t->runs}};
    }
    return t;
}

static void add_loop(struct trial *t, int function, unsigned line, const char *parameter)
{
    struct function_result *r = &t->results[function];
    size_t loop = r->loops.count++;
    t->loops[function][loop] = (struct loop){.place = {line ? "a.c" : NULL, line, 1}, .has_own_place = true};
    t->trips[function][loop] = (struct trips){.cls = TRIPS_GUESSED, .per_entry = {0, 100, INFINITY}};
    t->words[function][loop].parameter = parameter;
}

static void add_doubt(struct trial *t, int function, enum doubt_kind kind, const char *name, unsigned line)
{
    struct function_result *r = &t->results[function];
    t->doubts[function][r->sum.doubt_count++] =
        (struct doubt){.kind = kind, .name = name, .place = {"a.c", line, 1}, .is_missing = true};
}

static void add_message(void *context, const struct note *note)
{
    struct trial *t = context;
    size_t length = strlen(t->messages);
    snprintf(t->messages + length, sizeof t->messages - length, "%u: %s\n", note->place.line, note->words);
}

/* Checks the notes of one function. result NULL: checks the notes of all functions. Each note must begin with
 * the corresponding line of `expected`. */
static void expect(struct trial *t, const struct function_result *result, enum rule rule,
                   const char *const *expected, size_t count)
{
    struct judged judged = {.analysis = &t->analysis};
    struct finding finding = {
        .judged = &judged, .result = result ? result : &t->analysis.whole, .rule = rule, .limit = &t->limit};
    t->messages[0] = '\0';
    finding_notes(&finding, add_message, t);
    const char *line = t->messages;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(line, expected[i], strlen(expected[i])) != 0)
            fail_msg("not '%s' but: %s", expected[i], line);
        line = strchr(line, '\n') + 1;
    }
    assert_string_equal(line, "");
}

/* Inlined copies of a loop are reported separately if their parameters differ or if they lack a source
 * position. */
static void test_loops_that_were_inlined_twice(void **state)
{
    (void)state;
    struct trial *t = trial_new();
    add_loop(t, 0, 7, NULL);
    add_loop(t, 0, 5, "n");
    add_loop(t, 0, 5, "n");
    add_loop(t, 0, 5, "m");
    add_loop(t, 0, 7, NULL);
    add_loop(t, 0, 0, NULL);
    add_loop(t, 0, 0, NULL);
    add_loop(t, 1, 7, NULL);
    add_loop(t, 1, 9, NULL);
    const char *const of_one[] = {
        "7: this loop has no bound and is assumed to run 100 times: ",
        "5: this loop has no bound and is assumed to run 100 times; its count depends on 'n'",
        "5: this loop has no bound and is assumed to run 100 times; its count depends on 'm'",
        "0: this loop has no bound", "0: this loop has no bound"};
    expect(t, &t->results[0], RULE_UNDECIDED, of_one, 5);
    const char *const of_all[] = {"7: ", "5: ", "5: ", "0: ", "0: ", "9: this loop has no bound"};
    expect(t, NULL, RULE_UNDECIDED, of_all, 6);
    expect(t, NULL, RULE_JOULES, NULL, 0);
    free(t);
}

static void test_doubts_are_reported_once(void **state)
{
    (void)state;
    struct trial *t = trial_new();
    add_doubt(t, 0, DOUBT_CALLEE, "x", 3);
    add_doubt(t, 0, DOUBT_POINTER, NULL, 4);
    add_doubt(t, 0, DOUBT_CALLEE, "x", 5);
    add_doubt(t, 0, DOUBT_POINTER, NULL, 6);
    add_doubt(t, 1, DOUBT_CALLEE, "x", 13);
    add_doubt(t, 1, DOUBT_CALLEE, "y", 14);
    add_loop(t, 1, 12, NULL);
    const char *const of_one[] = {"3: the cost of 'x' is unknown, here and in 1 more call: ", "4: ", "6: "};
    expect(t, &t->results[0], RULE_UNDECIDED, of_one, 3);
    const char *const of_all[] = {
        "3: the cost of 'x' is unknown, here and in 2 more calls: ", "4: it is unknown which functions",
        "6: it is unknown which functions", "12: this loop has no bound", "14: the cost of 'y' is unknown: "};
    expect(t, NULL, RULE_UNDECIDED, of_all, 5);
    free(t);
}

/* If a function calls itself four times, its loop runs in each of these calls. */
static void test_rounds_are_those_of_a_call(void **state)
{
    (void)state;
    struct trial *t = trial_new();
    struct function_result *r = &t->results[0];
    add_loop(t, 0, 7, NULL);
    t->trips[0][0] = (struct trips){.cls = TRIPS_EXACT, .total_cls = TRIPS_EXACT};
    t->runs[0] = (struct loop_runs){1, 25};
    for (int b = 0; b < BOUNDS; b++) {
        t->amounts[0].of[b] = (struct cost_features){.version = COST_VERSION};
        t->amounts[0].of[b].amount[COST_UOPS] = 1000;
        r->sum.call.of[b] = t->amounts[0].of[b];
        r->sum.call.of[b].amount[COST_UOPS] = 4000;
        r->frames[b] = 4;
    }
    const char *const expected[] = {"7: 100 % of the joules in this loop, 100 iterations per call (exact)"};
    expect(t, r, RULE_JOULES, expected, 1);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_that_were_inlined_twice),
        cmocka_unit_test(test_doubts_are_reported_once),
        cmocka_unit_test(test_rounds_are_those_of_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
