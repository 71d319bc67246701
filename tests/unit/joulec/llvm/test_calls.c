/* Compares counts that joulec computes from known arguments of calls with counts from execution.
 *
 * CALLS names a text: first the path of the bitcode of tests/fixtures/calls/calls.c, then a line "F COUNT"
 * for each run of function F. tests/programs/test_joulec_calls.py creates this text. Without it, the test
 * only checks that a module can be read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/verdict/analysis.h"
#include "support/check.h"
#include "support/module_text.h"

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

/* The text contains no pointers, because LLVM versions print pointer types in different ways. `ticks`
 * multiplies n times, and its callers pass constants. */
static const char module_text[] = "define i32 @ticks(i32 %n) {\n"
                                  "entry:\n"
                                  "  %some = icmp sgt i32 %n, 0\n"
                                  "  br i1 %some, label %body, label %end\n"
                                  "body:\n"
                                  "  %i = phi i32 [ 0, %entry ], [ %next, %body ]\n"
                                  "  %x = phi i32 [ 1, %entry ], [ %y, %body ]\n"
                                  "  %y = mul i32 %x, 3\n"
                                  "  %next = add nsw i32 %i, 1\n"
                                  "  %done = icmp eq i32 %next, %n\n"
                                  "  br i1 %done, label %end, label %body\n"
                                  "end:\n"
                                  "  %r = phi i32 [ 1, %entry ], [ %y, %body ]\n"
                                  "  ret i32 %r\n"
                                  "}\n"
                                  "define i32 @seven() {\n"
                                  "  %r = call i32 @ticks(i32 7)\n"
                                  "  ret i32 %r\n"
                                  "}\n"
                                  "define i32 @passes(i32 %m) {\n"
                                  "  %more = add nsw i32 %m, 2\n"
                                  "  %r = call i32 @ticks(i32 %more)\n"
                                  "  ret i32 %r\n"
                                  "}\n"
                                  "define i32 @twelve() {\n"
                                  "  %r = call i32 @passes(i32 10)\n"
                                  "  ret i32 %r\n"
                                  "}\n"
                                  "define i32 @below_nine(i32 %m) {\n"
                                  "  %few = icmp ult i32 %m, 9\n"
                                  "  br i1 %few, label %calls, label %not\n"
                                  "calls:\n"
                                  "  %r = call i32 @ticks(i32 %m)\n"
                                  "  ret i32 %r\n"
                                  "not:\n"
                                  "  ret i32 0\n"
                                  "}\n"
                                  "define i32 @again(i32 %m) {\n"
                                  "  %r = call i32 @again(i32 5)\n"
                                  "  ret i32 %r\n"
                                  "}\n";

struct subject {
    struct module module;
    struct analysis analysis;
};

static void analyse(struct subject *subject, double default_trips)
{
    struct analysis_options options = {
        .default_trips = default_trips, .warmer_kelvin = NAN, .file_joules = NAN};
    struct target target;
    joule_error error;
    cost_core_describe(&server, NAN, &target.core);
    cost_core_table(&server, &target.table);
    assert_int_equal(analysis_make(&subject->module, &server, &target, &options, &subject->analysis, &error),
                     JOULE_OK);
}

static void open_module(const char *path, struct subject *out)
{
    const struct module_build as_counted = {false, false, false};
    joule_error error;
    assert_ok(module_read(path, &as_counted, &out->module, &error), &error);
    analyse(out, 100);
}

static void close_module(struct subject *subject)
{
    analysis_free(&subject->analysis);
    module_free(&subject->module);
}

static const struct function_result *result_of(const struct subject *subject, const char *name)
{
    for (size_t i = 0; i < subject->analysis.result_count; i++)
        if (strcmp(subject->analysis.results[i].function->name, name) == 0)
            return &subject->analysis.results[i];
    fail_msg("no function %s", name);
    return NULL;
}

static void check_multiplications(const struct subject *subject, const char *name, enum basis basis,
                                  double low, double high)
{
    const struct function_sum *sum = &result_of(subject, name)->sum;
    assert_int_equal(sum->basis, basis);
    assert_true(sum->call.of[BOUND_LOW].amount[COST_INT_MULS] == low);
    assert_true(sum->call.of[BOUND_HIGH].amount[COST_INT_MULS] == high);
    assert_true(sum->call.of[BOUND_EST].amount[COST_INT_MULS] >= low &&
                sum->call.of[BOUND_EST].amount[COST_INT_MULS] <= high);
}

static void test_cost_of_a_callee_depends_on_its_arguments(void **state)
{
    (void)state;
    char path[] = "/tmp/joule-calls-XXXXXX";
    struct subject subject;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputs(module_text, file);
    fclose(file);
    open_module(path, &subject);
    remove(path);
    check_multiplications(&subject, "ticks", BASIS_OPEN, 0, 1000);
    check_multiplications(&subject, "seven", BASIS_EXACT, 7, 7);
    check_multiplications(&subject, "passes", BASIS_OPEN, 0, 1000);
    check_multiplications(&subject, "twelve", BASIS_EXACT, 12, 12);
    check_multiplications(&subject, "below_nine", BASIS_BOUNDED, 0, 8);
    check_multiplications(&subject, "again", BASIS_MISSING, 0, 0);
    static const char *const one_way[] = {"seven", "twelve"}, *const ways[] = {"ticks", "passes",
                                                                               "below_nine"};
    for (size_t i = 0; i < sizeof one_way / sizeof *one_way; i++)
        assert_false(result_of(&subject, one_way[i])->sum.is_variable);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        assert_true(result_of(&subject, ways[i])->sum.is_variable);
    assert_string_equal(result_of(&subject, "ticks")->words[0].formula, "n");
    assert_string_equal(result_of(&subject, "ticks")->words[0].parameter, "n");
    assert_int_equal(result_of(&subject, "passes")->sum.doubts[0].kind, DOUBT_CALL);
    close_module(&subject);
}

#define MULTIPLIES(name)                                                                                     \
    "define i32 @" name "(i32 %n) noinline {\n"                                                              \
    "entry:\n"                                                                                               \
    "  br label %b\n"                                                                                        \
    "b:\n"                                                                                                   \
    "  %x = phi i32 [ %n, %entry ], [ %y, %b ]\n"                                                            \
    "  %y = mul i32 %x, %x\n"                                                                                \
    "  %done = icmp eq i32 %y, 1\n"                                                                          \
    "  br i1 %done, label %end, label %b\n"                                                                  \
    "end:\n"                                                                                                 \
    "  ret i32 %y\n"                                                                                         \
    "}\n"
#define CALLS(name, call)                                                                                    \
    "define void @" name "(i1 %which, POINTER %v) {\n"                                                       \
    "entry:\n"                                                                                               \
    "  br label %b\n"                                                                                        \
    "b:\n"                                                                                                   \
    "  %x = load volatile i32, POINTER %v\n" call "  %done = icmp eq i32 %x, 1\n"                            \
    "  br i1 %done, label %end, label %b\n"                                                                  \
    "end:\n"                                                                                                 \
    "  ret void\n"                                                                                           \
    "}\n"

/* If the called function has a loop without bounds, the same small number of iterations is assumed for a
 * direct call and for a call through a pointer. */
static void test_through_a_pointer_a_guess_is_as_short(void **state)
{
    (void)state;
    static const char *const text[] = {
        MULTIPLIES("one"), MULTIPLIES("another"), CALLS("by_name", "  %r = call i32 @one(i32 %x)\n"),
        CALLS("by_pointer", "  %f = select i1 %which, POINTER<i32 (i32)> @one, POINTER<i32 (i32)> @another\n"
                            "  %r = call i32 %f(i32 %x)\n")};
    struct subject subject;
    module_text_read(text, 4, &subject.module);
    analyse(&subject, NAN);
    double named = result_of(&subject, "by_name")->sum.call.of[BOUND_EST].amount[COST_INT_MULS],
           pointed = result_of(&subject, "by_pointer")->sum.call.of[BOUND_EST].amount[COST_INT_MULS],
           alone = result_of(&subject, "one")->sum.call.of[BOUND_EST].amount[COST_INT_MULS];
    assert_true(named > 0 && named < alone * alone);
    assert_true(fabs(pointed - named) <= 1e-9 * named);
    close_module(&subject);
}

struct tally {
    unsigned runs, exact, bounded, open;
};

/* The executed count must be within the bounds. If all trip counts and arguments are known, both bounds must
 * equal the count. */
static void check_run(const struct subject *subject, const char *name, double counted, struct tally *tally)
{
    const struct function_sum *sum = &result_of(subject, name)->sum;
    double low = sum->call.of[BOUND_LOW].amount[COST_INT_MULS],
           est = sum->call.of[BOUND_EST].amount[COST_INT_MULS],
           high = sum->call.of[BOUND_HIGH].amount[COST_INT_MULS];
    bool is_right =
        sum->basis >= BASIS_OPEN || (low <= counted && counted <= high && low <= est && est <= high);
    bool is_point = low == high && est == low;
    if (!is_right)
        fail_msg("%s: %g is not in %g..%g..%g", name, counted, low, est, high);
    if (getenv("CALLS_SHOW"))
        printf("%s: %g in %g..%g..%g, basis %d\n", name, counted, low, est, high, (int)sum->basis);
    tally->runs++;
    tally->exact += sum->basis == BASIS_EXACT && is_point;
    tally->open += sum->basis >= BASIS_OPEN;
    tally->bounded += sum->basis < BASIS_OPEN && !is_point;
}

static void test_counts_by_execution(void **state)
{
    (void)state;
    const char *path = getenv("CALLS");
    FILE *file = path ? fopen(path, "r") : NULL;
    char bitcode[512], name[64];
    double counted;
    struct subject subject;
    struct tally tally = {0};
    if (!file) {
        print_message("skipped: CALLS names no list of calls; test_joulec_calls makes one and asks again\n");
        skip();
    }
    assert_int_equal(fscanf(file, "%511s", bitcode), 1);
    open_module(bitcode, &subject);
    while (fscanf(file, "%63s %lf", name, &counted) == 2)
        check_run(&subject, name, counted, &tally);
    fclose(file);
    close_module(&subject);
    printf("%u runs: %u exact, %u within bounds, %u open\n", tally.runs, tally.exact, tally.bounded,
           tally.open);
    assert_true(tally.runs >= 200);
    assert_true(10 * tally.exact >= 6 * tally.runs);
    assert_true(20 * tally.open <= tally.runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cost_of_a_callee_depends_on_its_arguments),
        cmocka_unit_test(test_through_a_pointer_a_guess_is_as_short),
        cmocka_unit_test(test_counts_by_execution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
