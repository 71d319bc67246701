/* Tests bounded text and numbers, in the C locale and in a locale with a decimal comma.
 *
 * Note: the test builds the second locale with localedef, because a minimal system lacks it. Without
 * localedef this part is skipped. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"

static void test_text_cuts_and_counts(void **state)
{
    (void)state;
    char buffer[8];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    assert_string_equal(buffer, "");
    text_add(&text, "abc");
    text_printf(&text, "%d", 12);
    assert_string_equal(buffer, "abc12");
    text_add(&text, "defg");
    assert_string_equal(buffer, "abc12de");
    assert_int_equal(text.length, 9);
    text_printf(&text, "%s", "more");
    text_add_bytes(&text, "xyz", 2);
    assert_string_equal(buffer, "abc12de");
    assert_int_equal(text.length, 15);

    text_init(&text, NULL, 0);
    text_add(&text, "four");
    text_printf(&text, "%05d", 1);
    assert_int_equal(text.length, 9);
}

static const char *double_text(double value)
{
    static char buffer[64];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    text_add_double(&text, value);
    assert_true(text.length < sizeof buffer);
    return buffer;
}

/* Returns the k-th double of a sequence that visits all exponents. */
static double scattered_double(uint64_t k)
{
    uint64_t bits = k * UINT64_C(0x9e3779b97f4a7c15);
    bits ^= bits >> 29;
    double value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : (double)k;
}

static const char *measure_text(double value)
{
    static char buffer[64];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    text_add_measure(&text, value);
    return buffer;
}

static void test_measures_hide_rounding_errors(void **state)
{
    (void)state;
    assert_string_equal(measure_text(54.999999999999986), "55");
    assert_string_equal(measure_text(0.1 + 0.2), "0.3");
    assert_string_equal(measure_text(-0.30000000000000027), "-0.3");
    assert_string_equal(measure_text(1.0 / 3), "0.333333333333");
    assert_string_equal(measure_text(1.23456789012345678e17), "1.23456789012346e+17");
    assert_string_equal(measure_text(9007199254740991), "9007199254740991");  /* a large count */
    assert_string_equal(measure_text(1772533800.123456), "1772533800.12346"); /* seconds since 1970 */
    assert_string_equal(measure_text(1.5e-9), "1.5e-09");
    assert_string_equal(measure_text(0), "0");
    assert_string_equal(measure_text(DBL_TRUE_MIN), "4.94065645841e-324");
}

static void check_doubles(void)
{
    assert_string_equal(double_text(0.1), "0.1");
    assert_string_equal(double_text(1.0 / 3), "0.3333333333333333");
    assert_string_equal(double_text(0.1 + 0.2), "0.30000000000000004");
    assert_string_equal(double_text(240422.366267), "240422.366267");
    assert_string_equal(double_text(-2.5), "-2.5");
    assert_string_equal(double_text(0), "0");
    assert_string_equal(double_text(1e300), "1e+300");
    assert_string_equal(double_text(DBL_TRUE_MIN), "5e-324");
    for (uint64_t k = 0; k < 20000; k++) {
        double value = scattered_double(k), back;
        assert_true(string_to_double(double_text(value), &back));
        assert_true(back == value);
    }
    double value;
    assert_true(string_to_double("1.5", &value));
    assert_true(value == 1.5);
    assert_false(string_to_double("1,5", &value));
    char buffer[16];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    text_printf(&text, "%.2f W", 12.5);
    assert_string_equal(buffer, "12.50 W");
}

static void test_doubles_are_read(void **state)
{
    (void)state;
    check_doubles();
}

static void test_doubles_where_the_point_is_a_comma(void **state)
{
    (void)state;
    const char *folder = TEST_BINARY_DIR "/locales";
    if (system("mkdir -p '" TEST_BINARY_DIR "/locales' && localedef -i de_DE -f UTF-8 '" TEST_BINARY_DIR
               "/locales/de_DE.UTF-8' >/dev/null 2>&1 || test -e '" TEST_BINARY_DIR
               "/locales/de_DE.UTF-8/LC_NUMERIC'") != 0 ||
        setenv("LOCPATH", folder, 1) != 0 || !setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        print_message("skipped: the locale de_DE.UTF-8 is neither here nor can localedef make it\n");
        skip();
    }
    char buffer[8];
    snprintf(buffer, sizeof buffer, "%.1f", 1.5);
    assert_string_equal(buffer, "1,5"); /* the locale has a decimal comma */
    check_doubles();
    snprintf(buffer, sizeof buffer, "%.1f", 1.5);
    assert_string_equal(buffer, "1,5"); /* the locale is still set */
    setlocale(LC_NUMERIC, "C");
}

static void test_invalid_doubles_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    " ",     ".",     "-",   "e5",   "1e",      "1e+",      "0x10",
                                      "inf", "nan",   "1.5.2", "1 2", "--1",  "1e999",   "-1e999",   "12abc",
                                      "+-1", "1e5 x", "\v",    ".e1", "-inf", "1.5e3.2", "infinity", "0X1p3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 42;
        assert_false(string_to_double(bad[i], &value));
        assert_true(value == 42);
    }
    static const struct {
        const char *text;
        double value;
    } good[] = {{" 12\n", 12},  {"+.5", 0.5},  {"5.", 5},     {"-0", 0},   {"1E-3", 1e-3},
                {"\t7\r\n", 7}, {"1e-999", 0}, {"00012", 12}, {"100", 100}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 42;
        assert_true(string_to_double(good[i].text, &value));
        assert_true(value == good[i].value);
    }
}

static void test_scan_double_stops_after_the_number(void **state)
{
    (void)state;
    static const struct {
        const char *text, *rest;
        double value;
    } cases[] = {{"50uJ", "uJ", 50},    {"1.5kWh", "kWh", 1.5}, {"5eV", "eV", 5},
                 {"2e3e4", "e4", 2000}, {"0x10", "x10", 0},     {"10x10", "x10", 10},
                 {"3.", "", 3},         {"1e+", "e+", 1},       {"-0X1p3", "X1p3", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 42;
        assert_string_equal(string_scan_double(cases[i].text, &value), cases[i].rest);
        assert_true(value == cases[i].value);
    }
    double value;
    assert_null(string_scan_double(" 5", &value));
    assert_null(string_scan_double("W", &value));
}

static void test_integers_are_read_and_checked(void **state)
{
    (void)state;
    uint64_t u = 1;
    assert_true(string_to_u64("18446744073709551615\n", 10, &u));
    assert_true(u == UINT64_MAX);
    assert_true(string_to_u64(" 0x1f ", 16, &u) && u == 31);
    assert_true(string_to_u64("0x1f", 0, &u) && u == 31);
    assert_true(string_to_u64("1f", 16, &u) && u == 31);
    u = 7;
    static const char *const bad[] = {"",     " ",   "-1", "18446744073709551616", "1 2", "1f", "0x",
                                      "12.5", " -0", "x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(string_to_u64(bad[i], 10, &u));
    assert_false(string_to_u64("1", 99, &u));
    assert_true(u == 7);

    int64_t v = 7;
    assert_true(string_to_i64("-9223372036854775808", 10, &v) && v == INT64_MIN);
    assert_false(string_to_i64("9223372036854775808", 10, &v));
    assert_false(string_to_i64("", 10, &v));
    assert_false(string_to_i64("5s", 10, &v));
    assert_true(v == INT64_MIN);
}

static void test_copies_fit_or_fail(void **state)
{
    (void)state;
    char small[4];
    assert_true(string_copy(small, sizeof small, "abc"));
    assert_string_equal(small, "abc");
    assert_false(string_copy(small, sizeof small, "abcd"));
    assert_string_equal(small, "abc");
    assert_false(string_copy(NULL, 0, "a"));

    char text[] = " \t a b \n", blank[] = " \n", empty[] = "";
    assert_string_equal(string_trim(text), "a b");
    assert_string_equal(string_trim(blank), "");
    assert_string_equal(string_trim(empty), "");

    assert_true(string_starts("intel-rapl:0", "intel-rapl"));
    assert_false(string_starts("intel", "intel-rapl"));
    assert_true(string_ends("energy1_input", "_input"));
    assert_false(string_ends("put", "_input"));
    assert_true(string_starts("x", "") && string_ends("x", ""));

    static const char *const list[] = {"a", "bc", NULL}, *const none[] = {NULL};
    assert_true(string_is_one_of("a", list) && string_is_one_of("bc", list));
    assert_false(string_is_one_of("b", list) || string_is_one_of("", list) || string_is_one_of(NULL, list));
    assert_false(string_is_one_of("a", none));
}

struct seen {
    unsigned count, cpus[64];
};

static void see(unsigned cpu, void *context)
{
    struct seen *seen = context;
    seen->cpus[seen->count++ % 64] = cpu;
}

static void test_cpu_lists_are_read(void **state)
{
    (void)state;
    struct seen seen = {0};
    assert_true(string_each_cpu("0,4-7,65535\n", see, &seen));
    assert_int_equal(seen.count, 6);
    assert_int_equal(seen.cpus[1], 4);
    assert_int_equal(seen.cpus[4], 7);
    assert_int_equal(seen.cpus[5], 65535);

    seen.count = 0;
    assert_true(string_each_cpu("\n", see, &seen));
    assert_int_equal(seen.count, 0);

    assert_false(string_each_cpu("0-1,x", see, &seen)); /* the part before the error was passed on */
    assert_int_equal(seen.count, 2);
    static const char *const bad[] = {"7-4",   "-1",          "1-",  "1,,2", "1,",
                                      "65536", "99999999999", "1 2", ",",    "a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(string_each_cpu(bad[i], see, &seen));
}

static void test_lines_of_meminfo_are_read(void **state)
{
    (void)state;
    const char *text = "MemTotal:       24687484 kB\nMemAvailable:   12 kB\nBad: x kB\n";
    assert_true(string_meminfo_bytes(text, "MemTotal:") == UINT64_C(24687484) * 1024);
    assert_true(string_meminfo_bytes(text, "MemAvailable:") == 12 * 1024);
    assert_true(string_meminfo_bytes(text, "Bad:") == UINT64_MAX);
    assert_true(string_meminfo_bytes(text, "SwapTotal:") == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_cuts_and_counts),
        cmocka_unit_test(test_doubles_are_read),
        cmocka_unit_test(test_measures_hide_rounding_errors),
        cmocka_unit_test(test_doubles_where_the_point_is_a_comma),
        cmocka_unit_test(test_invalid_doubles_are_refused),
        cmocka_unit_test(test_scan_double_stops_after_the_number),
        cmocka_unit_test(test_integers_are_read_and_checked),
        cmocka_unit_test(test_copies_fit_or_fail),
        cmocka_unit_test(test_cpu_lists_are_read),
        cmocka_unit_test(test_lines_of_meminfo_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
