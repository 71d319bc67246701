/* Checks formulas of scalar evolution: parsing, values over ranges, degrees, trends, and results that must be
 * unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/joulec/scev_text.h"

/* Values of n, m and the iteration number i, or one end of their ranges. */
struct bound {
    int64_t n, m, i;
};

static const struct expr *read(struct expr_pool *pool, const char *text)
{
    return scev_expression(pool, text, strlen(text));
}

static struct expr_range value_between(const char *text, struct bound low, struct bound high)
{
    struct expr_pool pool = {0};
    uint32_t n = expr_name(&pool, "n", 1), m = expr_name(&pool, "m", 1), i = expr_name(&pool, "loop", 4);
    const struct expr *expr = read(&pool, text);
    struct expr_range of[3];
    of[n] = (struct expr_range){low.n, high.n, true, false};
    of[m] = (struct expr_range){low.m, high.m, true, false};
    of[i] = (struct expr_range){low.i, high.i, true, false};
    struct expr_range value = expr_value(expr, (struct expr_values){of, 3});
    expr_pool_free(&pool);
    return value;
}

static void check(const char *text, struct bound at, int64_t expected)
{
    struct expr_range value = value_between(text, at, at);
    if (!value.is_known || value.low != expected || value.high != expected)
        fail_msg("%s: %lld..%lld and not %lld", text, (long long)value.low, (long long)value.high,
                 (long long)expected);
}

static void check_unknown(const char *text)
{
    struct bound at = {5, 7, 3};
    if (value_between(text, at, at).is_known)
        fail_msg("%s has a value", text);
}

static void test_values_equal_those_of_arithmetic(void **state)
{
    (void)state;
    struct bound at = {10, 3, 4};
    check("999", at, 999);
    check("i64 -7", at, -7);
    check("(-1 + %n)", at, 9);
    check("(-1 + (zext i32 %n to i64))<nsw>", at, 9);
    check("((-1 + (-1 * %m) + ((4 + %m) umax %n)) /u 4)", at, 1);
    check("{99,+,-1}<nw><%loop>", at, 95);
    check("{0,+,1,+,2}<nuw><nsw><%loop>", at, 16);
    check("{{-1,+,1}<%loop>,+,-1}<nw><%loop>", at, -1);
    check("(3 umin {0,+,1}<%loop>)", at, 3);
    check("(%n smin %m)", at, 3);
    check("(%n smax %m smax 12)", at, 12);
    check("(%m umin_seq %n)", at, 3);
    check("(trunc i64 %n to i8)", at, 10);
    check("(2 * %n * %m)<nuw>", at, 60);
    check("-9223372036854775808", at, INT64_MIN);
}

/* Numbers are taken modulo 2^bits, so a negative value is a huge unsigned number. */
static void test_negative_values_are_huge_ones(void **state)
{
    (void)state;
    struct bound at = {-1, 1, 0};
    check("(%n umin %m)", at, 1);
    check("(%n umax %m)", at, -1);
    check("(%n smax %m)", at, 1);
    check("((-5 + %m) /u 2)", at, -2);
    assert_true(value_between("((-5 + %m) /u 2)", at, at).has_wrapped);
    assert_true(value_between("(zext i32 %n to i64)", at, at).has_wrapped);
    assert_false(value_between("(sext i32 %n to i64)", at, at).has_wrapped);
}

static void test_unknown_expressions_are_unknown(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "%",
        "***COULDNOTCOMPUTE***",
        "%other",
        "@n",
        "(%n + %m",
        "(%n + %m))",
        "(%n + %m * 2)",
        "%n %m",
        "(%n /u %m /u 2)",
        "(%n /u 0)",
        "(%n /u (-5 + %n))",
        "{%n}<%loop>",
        "{%n,+,1}<loop>",
        "{%n,+,1}",
        "(ptrtoint ptr %n to i64)",
        "(8 + (ptrtoint i8* getelementptr ([4 x i8], [4 x i8]* @\")\", i64 0) to i64))",
        "9223372036854775808",
        "(trunc i64 (1000 * %n) to i8)",
        "(sext i8 (200 + %n) to i32)",
        "{0,+,1}<%n.loop>",
        "undef",
        "i64 undef",
        "i0 5",
        "(zext float %n to i64)",
        "%\"n",
        "1.5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_unknown(texts[i]);
    check("%\"n\"", (struct bound){8, 0, 0}, 8);
}

static void test_ranges_contain_all_values(void **state)
{
    (void)state;
    static const char *const texts[] = {"(%n + (-3 * %m))",
                                        "(%n * %m)",
                                        "({4,+,-3}<%loop> + %n)",
                                        "{%n,+,%m,+,2}<%loop>",
                                        "(%n smax %m)",
                                        "(%n umin %m)",
                                        "(%n umax %m)",
                                        "((10 + %n) /u (5 + %m))",
                                        "((-3 + %n) /u 3)",
                                        "(sext i8 %n to i64)",
                                        "(%n smin {0,+,2}<%loop>)"};
    struct bound low = {-4, -3, 0}, high = {5, 4, 3};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        struct expr_range all = value_between(texts[k], low, high);
        for (int64_t n = low.n; n <= high.n; n++)
            for (int64_t m = low.m; m <= high.m; m++)
                for (int64_t i = low.i; i <= high.i; i++) {
                    struct expr_range one =
                        value_between(texts[k], (struct bound){n, m, i}, (struct bound){n, m, i});
                    if (!one.is_known || !all.is_known || one.low < all.low || one.high > all.high ||
                        one.low != one.high)
                        fail_msg("%s at %d, %d, %d", texts[k], (int)n, (int)m, (int)i);
                }
    }
}

static void test_large_values_do_not_overflow(void **state)
{
    (void)state;
    check_unknown("(9223372036854775807 * 9223372036854775807)");
    struct bound far = {INT64_MAX, INT64_MAX, INT64_MAX};
    assert_false(value_between("{0,+,1,+,%n}<%loop>", far, far).is_known);
    assert_false(value_between("{0,+,1,+,1,+,1,+,1,+,1,+,1,+,1,+,1,+,1}<%loop>", far, far).is_known);
}

/* A sum or product that wraps in its type has the same value modulo 2^bits as in joulec's wider numbers.
 * Other operations on a wrapped value give different results, so they are unknown. */
static void test_values_that_their_type_cannot_hold_are_unknown(void **state)
{
    (void)state;
    struct expr_pool pool = {0};
    struct expr_range of = {5000, 5000, true, false, 32};
    assert_int_equal(expr_name(&pool, "n", 1), 0);
    static const struct {
        const char *text;
        int64_t value; /* expected value; -1: unknown */
    } cases[] = {
        {"(800000 * %n)", 4000000000},
        {"(1000000 * %n)", -1},
        {"(-4999999999 + (1000000 * %n))", 1},
        {"((1000000 * %n) /u 1000)", -1},
        {"((1000000 * %n) umin 7)", -1},
        {"(7 smax (800000 * %n))", -1},
        {"(1000000 * (zext i32 %n to i64))", 5000000000},
        {"((1000000 * (zext i32 %n to i64)) /u 1000)", 5000000},
        {"{(1000000 * %n),+,1}<%loop>", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct expr *expr = read(&pool, cases[i].text);
        struct expr_range values[] = {of, {3, 3, true, false, 0}};
        struct expr_range value = expr_value(expr, (struct expr_values){values, 2});
        if (value.is_known != (cases[i].value >= 0) || (value.is_known && value.low != cases[i].value))
            fail_msg("%s: %d, %lld", cases[i].text, value.is_known, (long long)value.low);
    }
    expr_pool_free(&pool);
}

static void test_depth_and_size_have_an_end(void **state)
{
    (void)state;
    static char text[40000];
    struct expr_pool pool = {0};
    memset(text, '(', 20000);
    text[20000] = '\0';
    assert_int_equal(read(&pool, text)->kind, EXPR_UNKNOWN);
    for (size_t levels = 8; levels <= 128; levels *= 2) {
        char *at = text;
        for (size_t i = 0; i < levels; i++)
            at = stpcpy(at, "(1 + ");
        at = stpcpy(at, "%n");
        for (size_t i = 0; i < levels; i++)
            at = stpcpy(at, ")");
        const struct expr *expr = read(&pool, text);
        struct expr_range of[1] = {expr_point(1)};
        assert_true(expr->depth <= EXPR_MAX_DEPTH);
        assert_int_equal(expr_value(expr, (struct expr_values){of, 1}).is_known, levels < 64);
    }
    expr_pool_free(&pool);
}

static void check_degree(const char *text, uint32_t expected)
{
    struct expr_pool pool = {0};
    assert_int_equal(expr_degree(read(&pool, text)), expected);
    expr_pool_free(&pool);
}

static void test_degree_of_polynomials_is_known(void **state)
{
    (void)state;
    check_degree("%n", 0);
    check_degree("(%n /u 2)", 0);
    check_degree("(-1 + {0,+,1}<%a>)", 1);
    check_degree("{0,+,1,+,2}<%a>", 2);
    check_degree("{0,+,{0,+,1}<%a>}<%b>", 2);
    check_degree("({0,+,1}<%a> * {0,+,1}<%b>)", 2);
    check_degree("({0,+,1}<%a> /u 2)", EXPR_NO_DEGREE);
    check_degree("(1 umax {0,+,1}<%a>)", EXPR_NO_DEGREE);
    check_degree("undef", EXPR_NO_DEGREE);
}

static void check_trend(const char *text, enum expr_trend expected)
{
    struct expr_pool pool = {0};
    const struct expr *expr = read(&pool, text);
    assert_int_equal(expr_trend(expr, expr_name(&pool, "n", 1)), expected);
    expr_pool_free(&pool);
}

static void test_trends_are_known(void **state)
{
    (void)state;
    check_trend("(-1 + (zext i32 %n to i64))", EXPR_GROWS);
    check_trend("(99 + (-1 * %n))", EXPR_FALLS);
    check_trend("(%n + (-1 * %n))", EXPR_EITHER);
    check_trend("(%m /u 4)", EXPR_CONSTANT);
    check_trend("(4 /u %n)", EXPR_EITHER);
    check_trend("{%m,+,%n}<%a>", EXPR_GROWS);
    check_trend("(%n * %m)", EXPR_EITHER);
}

static void check_behind_guard(const char *text, struct bound at, int64_t expected)
{
    struct expr_pool pool = {0};
    struct expr_range of[3] = {expr_point(at.n), expr_point(at.m), expr_point(at.i)};
    expr_name(&pool, "n", 1);
    expr_name(&pool, "m", 1);
    expr_name(&pool, "loop", 4);
    struct expr_range value =
        expr_value(expr_behind_guard(&pool, read(&pool, text)), (struct expr_values){of, 3});
    assert_true(value.is_known && value.low == expected);
    expr_pool_free(&pool);
}

static void test_a_formula_behind_its_guard_is_negative_where_the_guard_fails(void **state)
{
    (void)state;
    check_behind_guard("(-1 + (1 umax %n))", (struct bound){5, 0, 0}, 4);
    check_behind_guard("(-1 + (1 umax %n))", (struct bound){0, 0, 0}, -1);
    check_behind_guard("((-1 + (-1 * %n) + ((4 + %n) umax %m)) /u 4)", (struct bound){6, 6, 0}, -1);
    check_behind_guard("((-1 + (-1 * %n) + ((4 + %n) umax %m)) /u 4)", (struct bound){6, 7, 0}, 0);
    check_behind_guard("({-1,+,-1}<nw><%loop> + ({1,+,1}<nuw><nsw><%loop> smax %n))", (struct bound){3, 0, 3},
                       -1);
    /* this maximum comes from the source; LLVM did not add it for a guard */
    check_behind_guard("(-1 + (%n smax %m))", (struct bound){1, -3, 0}, 0);
    check_behind_guard("(-1 + (2 smax %m))", (struct bound){1, 0, 0}, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_equal_those_of_arithmetic),
        cmocka_unit_test(test_negative_values_are_huge_ones),
        cmocka_unit_test(test_unknown_expressions_are_unknown),
        cmocka_unit_test(test_ranges_contain_all_values),
        cmocka_unit_test(test_large_values_do_not_overflow),
        cmocka_unit_test(test_depth_and_size_have_an_end),
        cmocka_unit_test(test_values_that_their_type_cannot_hold_are_unknown),
        cmocka_unit_test(test_degree_of_polynomials_is_known),
        cmocka_unit_test(test_trends_are_known),
        cmocka_unit_test(test_a_formula_behind_its_guard_is_negative_where_the_guard_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
