/* Tests that ticks are at round values inside the axis, that labels do not repeat, and that values are
 * written with the right prefix. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "joule/picture/axis.h"

static void test_values_have_unit_prefix_and_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *unit;
        int digits;
        const char *expected;
    } cases[] = {
        {12.345, "W", 3, "12.3 W"},   {0, "W", 3, "0.00 W"},    {999.96, "W", 4, "1.000 kW"},
        {0.00123, "J", 3, "1.23 mJ"}, {4500, "s", 3, "4500 s"}, {5e-6, "s", 2, "5.0 \u00b5s"},
        {-2500, "W", 2, "-2.5 kW"},   {NAN, "W", 3, "unknown"}, {30200, "", 3, "30.2 k"},
        {250, "%", 3, "250 %"},       {0.25, "%", 2, "0.25 %"}, {9.996, "J", 3, "10.0 J"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        axis_format(cases[i].value, cases[i].unit, cases[i].digits, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
    }
}

/* Returns true if a value is 1, 2 or 5 times a power of ten. */
static int is_round(double step)
{
    double mantissa = step / pow(10, floor(log10(step) + 1e-9));
    return fabs(mantissa - 1) < 1e-6 || fabs(mantissa - 2) < 1e-6 || fabs(mantissa - 5) < 1e-6;
}

static void test_ticks_are_round_distinct_and_inside(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double low = ((double)(seed >> 40) / (1 << 24) - 0.3) * pow(10, (double)(seed % 13) - 6);
        double high =
            low + ((double)(seed >> 20 & 0xffff) + 1) / 65536 * pow(10, (double)(seed / 16 % 13) - 6);
        if (!(high - low > 1e-6 * fabs(low)))
            continue; /* labels have at most nine decimals */
        struct axis axis = {AXIS_LINEAR, low, high, 0, 500, "power", "W"};
        struct axis_ticks ticks;
        axis_choose_ticks(&axis, 8, &ticks);
        assert_in_range(ticks.count, 1, AXIS_MAX_TICKS);
        for (size_t k = 0; k < ticks.count; k++) {
            double slack = (high - low) * 1e-6;
            assert_true(ticks.values[k] >= low - slack && ticks.values[k] <= high + slack);
            if (k == 0)
                continue;
            assert_true(is_round(ticks.values[k] - ticks.values[k - 1]));
            assert_string_not_equal(ticks.labels[k], ticks.labels[k - 1]);
        }
    }
}

static void test_unusual_axes_do_not_fail(void **state)
{
    (void)state;
    static const double values[] = {0, 1, -1, 1e300, -1e300, 1e-300, NAN, INFINITY, 1e18, 253402300800.0};
    size_t count = sizeof values / sizeof *values;
    for (int kind = AXIS_LINEAR; kind <= AXIS_DATE; kind++) {
        for (size_t i = 0; i < count * count; i++) {
            double low = values[i / count], high = values[i % count];
            axis_extend((enum axis_kind)kind, &low, &high);
            assert_true(isfinite(low) && high > low);
            struct axis axis = {(enum axis_kind)kind, low, high, 0, 500, "x", ""};
            struct axis_ticks ticks;
            axis_choose_ticks(&axis, 10, &ticks);
            assert_in_range(ticks.count, 0, AXIS_MAX_TICKS);
            assert_true(isfinite(axis_pixel(&axis, low)) && isfinite(axis_pixel(&axis, high)));
        }
    }
}

static void expect_labels(struct axis axis, const char *const *expected, const char *title)
{
    struct axis_ticks ticks;
    axis_choose_ticks(&axis, 6, &ticks);
    for (size_t i = 0; expected[i]; i++) {
        assert_true(i < ticks.count);
        assert_string_equal(ticks.labels[i], expected[i]);
    }
    assert_string_equal(ticks.title, title);
}

static void test_time_and_date_have_their_own_steps(void **state)
{
    (void)state;
    expect_labels((struct axis){AXIS_DURATION, 0, 3600, 0, 1, "time", "s"},
                  (const char *const[]){"0:00", "10:00", "20:00", "30:00", NULL}, "time (min:s)");
    expect_labels((struct axis){AXIS_DURATION, 0, 86400, 0, 1, "time", "s"},
                  (const char *const[]){"0:00", "6:00", "12:00", NULL}, "time (h:min)");
    expect_labels((struct axis){AXIS_DURATION, 0, 0.3, 0, 1, "time", "s"},
                  (const char *const[]){"0", "50", "100", NULL}, "time (ms)");
    expect_labels((struct axis){AXIS_DATE, 1767225600, 1798761600, 0, 1, "date", ""},
                  (const char *const[]){"2026-01", "2026-03", "2026-05", "2026-07", NULL}, "date (UTC)");
    expect_labels((struct axis){AXIS_DATE, 951700000, 952000000, 0, 1, "date", ""},
                  (const char *const[]){"2000-02-29", "2000-03-01", "2000-03-02", NULL}, "date (UTC)");
    expect_labels((struct axis){AXIS_DATE, 946684800, 978307200, 0, 1, "date", ""},
                  (const char *const[]){"2000-01", "2000-04", "2000-07", "2000-10", NULL}, "date (UTC)");
    expect_labels((struct axis){AXIS_DATE, 0, 7258118400, 0, 1, "date", ""},
                  (const char *const[]){"1970", NULL}, "date (UTC)");
    expect_labels((struct axis){AXIS_DATE, 1790000000, 1790010000, 0, 1, "date", ""},
                  (const char *const[]){"09-21 15:00", NULL}, "date (UTC)");
    expect_labels((struct axis){AXIS_LOG, 1000, 1e6, 0, 1, "size", ""},
                  (const char *const[]){"1 k", "10 k", "100 k", "1 M", NULL}, "size");
}

static void test_pixels_and_values_are_inverse(void **state)
{
    (void)state;
    struct axis linear = {AXIS_LINEAR, -3, 7, 100, 20, "", ""},
                log_axis = {AXIS_LOG, 1, 1000, 0, 300, "", ""};
    assert_true(fabs(axis_value(&linear, axis_pixel(&linear, 4.2)) - 4.2) < 1e-12);
    assert_true(fabs(axis_pixel(&log_axis, 10) - 100) < 1e-9);
    assert_true(fabs(axis_value(&log_axis, 200) - 100) < 1e-9);
    assert_true(axis_pixel(&linear, 100) == 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_have_unit_prefix_and_digits),
        cmocka_unit_test(test_ticks_are_round_distinct_and_inside),
        cmocka_unit_test(test_unusual_axes_do_not_fail),
        cmocka_unit_test(test_time_and_date_have_their_own_steps),
        cmocka_unit_test(test_pixels_and_values_are_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
