/* Parsers of joule bench and joule compare: words of commands, sweeps, conditions and work. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "command_words.h"
#include "fail_rule.h"
#include "sweep.h"
#include "work.h"

static void test_quotes_keep_words_together(void **state)
{
    (void)state;
    struct arena arena = {0};
    joule_error error;
    char **words;
    const char *const wanted[] = {"sh", "-c", "a  b", "c\"d", "e f", "", "x'y", "\\n"};
    const size_t count = sizeof wanted / sizeof wanted[0];
    assert_int_equal(
        command_words(&arena, " sh -c 'a  b'\t\"c\\\"d\" e\\ f '' x\\'y \"\\n\" ", &words, &error), JOULE_OK);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(words[i], wanted[i]);
    assert_null(words[count]);
    arena_free(&arena);
}

static void test_shell_syntax_and_open_quotes_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",     "  ",    "a | b", "a;b", "a &", "a >b", "a <b",
                                        "a $b", "a `b`", "'a",    "\"a", "a\\", "\"a\\"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct arena arena = {0};
        joule_error error = {0};
        char **words;
        assert_int_equal(command_words(&arena, wrong[i], &words, &error), JOULE_INVALID);
        assert_true(error.message[0] != '\0');
        arena_free(&arena);
    }
    struct arena arena = {0};
    char **words;
    assert_int_equal(command_words(&arena, "'a | b' \"c;d\" e\\|f", &words, NULL), JOULE_OK);
    assert_string_equal(words[0], "a | b");
    assert_string_equal(words[2], "e|f");
    arena_free(&arena);
}

static void test_sweep_replaces_its_name_only(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct sweep sweeps[2];
    const size_t chosen[] = {1, 0};
    assert_int_equal(sweep_parse(&arena, "size=10,20,30", &sweeps[0], NULL), JOULE_OK);
    assert_int_equal(sweep_parse(&arena, "kind=a", &sweeps[1], NULL), JOULE_OK);
    assert_int_equal(sweeps[0].count, 3);
    assert_string_equal(sweep_replace(&arena, "x {size}{kind} {other} {size {{size}}", sweeps, chosen, 2),
                        "x 20a {other} {size {20}");
    arena_free(&arena);
}

static void test_wrong_sweeps_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "a", "=1", "a=", "a=1,", "a=,1", "a b=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct arena arena = {0};
        struct sweep sweep;
        assert_int_equal(sweep_parse(&arena, wrong[i], &sweep, NULL), JOULE_INVALID);
        arena_free(&arena);
    }
}

static void test_condition_needs_the_whole_interval(void **state)
{
    (void)state;
    struct fail_rule rule;
    assert_int_equal(fail_rule_parse("energy > +3%", &rule, NULL), JOULE_OK);
    assert_int_equal(rule.metric, METRIC_ENERGY);
    assert_true(rule.is_upper && rule.limit > 1.0299 && rule.limit < 1.0301);
    assert_true(fail_rule_holds(&rule, 1.04, 1.06));
    assert_false(fail_rule_holds(&rule, 1.02, 1.06));
    assert_false(fail_rule_holds(&rule, NAN, NAN));
    assert_int_equal(fail_rule_parse("edp<-5", &rule, NULL), JOULE_OK);
    assert_true(!rule.is_upper && fail_rule_holds(&rule, 0.9, 0.94) && !fail_rule_holds(&rule, 0.9, 0.96));
}

static void test_wrong_conditions_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "energy",
                                        "energy > ",
                                        "heat > 3%",
                                        "energy = 3%",
                                        "energy > 3% x",
                                        "energy > -100%",
                                        "energy > +-3%",
                                        "energy > nan",
                                        "> 3%"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct fail_rule rule;
        assert_int_equal(fail_rule_parse(wrong[i], &rule, NULL), JOULE_INVALID);
    }
}

static void test_work_has_an_amount_and_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text, *unit;
        double amount;
    } cases[] = {{"1.2e12flop", "flop", 1.2e12},
                 {"1.2Tflop", "flop", 1.2e12},
                 {"3 GFLOP", "flop", 3e9},
                 {"samples=60000", "samples", 6e4},
                 {"512tokens", "tokens", 512}};
    struct work work;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(work_parse(cases[i].text, &work, NULL), JOULE_OK);
        assert_string_equal(work.unit, cases[i].unit);
        assert_true(fabs(work.amount / cases[i].amount - 1) < 1e-12);
    }
    static const char *const wrong[] = {"",   "5",   "flop", "0flop",     "-1flop",
                                        "a=", "a=x", "=5",   "1e999flop", "5 a b"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(work_parse(wrong[i], &work, NULL), JOULE_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotes_keep_words_together),
        cmocka_unit_test(test_shell_syntax_and_open_quotes_are_refused),
        cmocka_unit_test(test_sweep_replaces_its_name_only),
        cmocka_unit_test(test_wrong_sweeps_are_refused),
        cmocka_unit_test(test_condition_needs_the_whole_interval),
        cmocka_unit_test(test_wrong_conditions_are_refused),
        cmocka_unit_test(test_work_has_an_amount_and_a_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
