/* Tests budgets as text: which texts are accepted, and at which column an error is reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "joule/api/budget_text.h"

static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void test_valid_budgets_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct budget_text budget;
    } cases[] = {
        {"max_joules=50uJ,max_watts=12,max_temp_delta=2K,sustained,per_call", {50e-6, 12, 2, true, true}},
        {"per_call , max_temp_delta = 2 K ,\tmax_watts= 12 W, max_joules =50 \u00b5J",
         {50e-6, 12, 2, false, true}},
        {"max_joules=3pJ", {3e-12, NAN, NAN, false, false}},
        {"max_joules=7nJ", {7e-9, NAN, NAN, false, false}},
        {"max_joules=1Wh", {3600, NAN, NAN, false, false}},
        {"max_joules=2e-3kJ", {2, NAN, NAN, false, false}},
        {"  max_watts=750mW  ", {NAN, 0.75, NAN, false, false}},
        {"sustained,max_temp_delta=1.5", {NAN, NAN, 1.5, true, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct budget_text got;
        joule_error error = {0};
        const struct budget_text *want = &cases[i].budget;
        if (budget_text_parse(cases[i].text, &got, NULL, &error) != JOULE_OK)
            fail_msg("%s: %s", cases[i].text, error.message);
        assert_true(is_same(got.max_joules, want->max_joules) && is_same(got.max_watts, want->max_watts) &&
                    is_same(got.max_temp_delta_kelvin, want->max_temp_delta_kelvin));
        assert_true(got.is_sustained == want->is_sustained && got.is_per_call == want->is_per_call);
    }
}

static void test_invalid_budgets_are_refused_with_their_column(void **state)
{
    (void)state;
    static char endless[2 * BUDGET_TEXT_SIZE];
    memset(endless, ' ', sizeof endless - 1);
    memcpy(endless, "max_joules=1", 12);
    const struct {
        const char *text;
        size_t column;
        const char *message;
    } cases[] = {
        {NULL, 1, "a text"},
        {endless, BUDGET_TEXT_SIZE, "at most 511 bytes"},
        {"", 1, "item missing at column 1; allowed are max_joules=50uJ"},
        {"   ", 4, "column 4"},
        {"max_jouls=50uJ", 1, "did you mean max_joules?"},
        {"max_joules=1, max_wats=3", 15, "did you mean max_watts?"},
        {"max_joules=1,substained", 14, "did you mean sustained?"},
        {"energy=5J", 1, "unknown \"energy\" at column 1; allowed are"},
        {"MAX_JOULES=5J", 1, "allowed are"},
        {"max_joules=50uJ;max_watts=3", 14, "unknown unit"},
        {"max_joules", 11, "such as max_joules=50uJ"},
        {"max_joules= ,per_call", 12, "no value"},
        {"max_watts=1, max_joules=50uW", 27, "column 27"},
        {"max_watts=1, max_joules=fifty", 25, "expected a number at column 25"},
        {"max_joules=-5J", 12, "cannot be negative"},
        {"max_joules=0", 12, "more than 0"},
        {"max_joules=1e-400J", 12, "column 12"},
        {"max_joules=1e308kJ", 17, "before column 17 is too large"},
        {"max_joules=inf", 12, "column 12"},
        {"max_joules=nan", 12, "column 12"},
        {"max_joules=0x10", 13, "column 13"},
        {"max_joules=1=2", 13, "column 13"},
        {"max_joules=1,max_joules=2", 14, "given twice"},
        {"per_call,max_joules=2,per_call", 23, "given twice"},
        {"max_joules=1,", 14, "item missing at column 14"},
        {",max_joules=1", 1, "item missing at column 1"},
        {"max_joules=1, ,per_call", 15, "column 15"},
        {"max_joules=1,=3", 14, "item missing"},
        {"max_joules=1,sustained=yes", 23, "takes no value"},
        {"max_joules=1,sustained percall", 14, "unknown \"sustained percall\""},
        {"max_joules=1,sustained per_call", 24, "a comma is missing before column 24"},
        {"max_joules=5uJ max_watts=3", 16, "a comma is missing before column 16"},
        {"sustained\t max_watts=3,per_call", 12, "a comma is missing before column 12"},
        {"sustained", 10, "limit missing"},
        {"max_temp_delta=2F", 17, "temperature difference"},
        {"max_joules=1,\x1b[2J", 14, "\"?[2J\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct budget_text got = {.max_joules = -1};
        size_t column = 0;
        joule_error error = {0};
        assert_int_equal(budget_text_parse(cases[i].text, &got, &column, &error), JOULE_INVALID);
        if (column != cases[i].column || !strstr(error.message, cases[i].message))
            fail_msg("%s: column %zu, \"%s\"", cases[i].text, column, error.message);
        assert_true(got.max_joules == -1);
        assert_int_equal(budget_text_parse(cases[i].text, &got, NULL, NULL), JOULE_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_budgets_are_read),
        cmocka_unit_test(test_invalid_budgets_are_refused_with_their_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
