/* Tests units: which texts are accepted, which errors are reported at which column, and that a written value
 * is parsed as the same value. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/quantity.h>

#define ENERGY      JOULE_DIMENSION_ENERGY
#define POWER       JOULE_DIMENSION_POWER
#define TIME        JOULE_DIMENSION_TIME
#define TEMPERATURE JOULE_DIMENSION_TEMPERATURE

static void test_valid_quantities_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        joule_dimension dimension;
        double value;
    } cases[] = {
        {"50uJ", ENERGY, 50e-6},
        {"50 \u00b5J", ENERGY, 50e-6},
        {"50\u03bcJ", ENERGY, 50e-6},
        {"7nJ", ENERGY, 7e-9},
        {"7pJ", ENERGY, 7e-12},
        {"7 pW", POWER, 7e-12},
        {"7 mJ", ENERGY, 7e-3},
        {"7J", ENERGY, 7},
        {"7kJ", ENERGY, 7e3},
        {"7MJ", ENERGY, 7e6},
        {"7GJ", ENERGY, 7e9},
        {"1Wh", ENERGY, 3600},
        {"1.5kWh", ENERGY, 5.4e6},
        {"2mWh", ENERGY, 7.2},
        {"12 W", POWER, 12},
        {"3mW", POWER, 3e-3},
        {"2.5GW", POWER, 2.5e9},
        {"100ms", TIME, 0.1},
        {"3 s", TIME, 3},
        {"2min", TIME, 120},
        {"1.5h", TIME, 5400},
        {"1Ms", TIME, 1e6},
        {"5K", TEMPERATURE, 5},
        {"5C", TEMPERATURE, 5},
        {"5 degC", TEMPERATURE, 5},
        {"250mK", TEMPERATURE, 0.25},
        {"42", ENERGY, 42},
        {" \t1e3 J \n", ENERGY, 1000},
        {"+.5W", POWER, 0.5},
        {"0", TIME, 0},
        {"1e-3kJ", ENERGY, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        joule_error error = {0};
        if (joule_parse(cases[i].text, cases[i].dimension, &value, &error) != JOULE_OK ||
            value != cases[i].value)
            fail_msg("%s gave %.17g, not %.17g: %s", cases[i].text, value, cases[i].value, error.message);
        assert_string_equal(error.message, "");
    }
}

static void test_invalid_quantities_are_refused_with_their_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        joule_dimension dimension;
        const char *message;
    } cases[] = {
        {"", ENERGY, "column 1"},
        {"   ", ENERGY, "column 4"},
        {"J", ENERGY, "column 1"},
        {"-5J", ENERGY, "column 1"},
        {" -0", ENERGY, "column 2"},
        {"5 cal", ENERGY, "column 3"},
        {"5kwh", ENERGY, "column 2"},
        {"5 KJ", ENERGY, "\"KJ\""},
        {"5kkJ", ENERGY, "column 2"},
        {"5p", ENERGY, "column 2"},
        {"5pmin", TIME, "column 2"},
        {"5k", ENERGY, "column 2"},
        {"5J extra", ENERGY, "\"J extra\""},
        {"5 J 6", ENERGY, "column 3"},
        {"5,5J", ENERGY, "column 2"},
        {"0x10J", ENERGY, "column 2"},
        {"1.2.3J", ENERGY, "column 4"},
        {"5W", ENERGY, "J or Wh"},
        {"5J", POWER, "power is given in W"},
        {"5m", TIME, "column 2"},
        {"5mmin", TIME, "column 2"},
        {"5kh", TIME, "column 2"},
        {"5mdegC", TEMPERATURE, "column 2"},
        {"inf", ENERGY, "column 1"},
        {"nanJ", ENERGY, "column 1"},
        {"1e999J", ENERGY, "column 1"},
        {"1e308kJ", ENERGY, "too large"},
        {"1e306Wh", ENERGY, "column 6"},
        {"5\xc2J", ENERGY, "\"?J\""},
        {"5\x1b[2J", ENERGY, "\"?[2J\""},
        {"5 a unit with a name that goes on and on", ENERGY, "\"a unit with a name that\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        joule_error error = {0};
        assert_int_equal(joule_parse(cases[i].text, cases[i].dimension, &value, &error), JOULE_INVALID);
        assert_int_equal(error.status, JOULE_INVALID);
        if (!strstr(error.message, cases[i].message))
            fail_msg("%s: \"%s\" does not say %s", cases[i].text, error.message, cases[i].message);
        assert_true(value == -1);
        assert_int_equal(joule_parse(cases[i].text, cases[i].dimension, &value, NULL), JOULE_INVALID);
    }
    double value = -1;
    assert_int_equal(joule_parse(NULL, ENERGY, &value, NULL), JOULE_INVALID);
    assert_int_equal(joule_parse("5", (joule_dimension)0, &value, NULL), JOULE_INVALID);
    assert_int_equal(joule_parse("5", (joule_dimension)5, &value, NULL), JOULE_INVALID);
    assert_int_equal(joule_parse("5", ENERGY, NULL, NULL), JOULE_INVALID);
}

static void test_values_have_prefixes_and_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        joule_dimension dimension;
        int digits;
        const char *text;
    } cases[] = {
        {50e-6, ENERGY, 3, "50.0 uJ"},
        {1250, ENERGY, 3, "1.25 kJ"},
        {999.96, ENERGY, 4, "1.000 kJ"}, /* rounding may change the prefix */
        {999.94, ENERGY, 4, "999.9 J"},
        {999.6e-6, POWER, 3, "1.00 mW"},
        {56, ENERGY, 1, "60 J"},
        {567, ENERGY, 2, "570 J"},
        {0, ENERGY, 3, "0.00 J"},
        {-12, POWER, 2, "-12 W"},
        {-0.0125, POWER, 2, "-13 mW"}, /* the double nearest to 0.0125 is above 0.0125 */
        {1e9, POWER, 3, "1.00 GW"},
        {123e9, ENERGY, 3, "123 GJ"},
        {1e12, ENERGY, 3, "1.00e+12 J"},
        {1e-9, ENERGY, 3, "1.00 nJ"},
        {0.4e-9, ENERGY, 2, "400 pJ"},
        {1e-12, ENERGY, 3, "1.00 pJ"},
        {0.4e-12, ENERGY, 2, "4.0e-13 J"},
        {4523.4, TIME, 4, "4523 s"},
        {4523.4, TIME, 2, "4500 s"},
        {0.1, TIME, 3, "100 ms"},
        {12.34, TEMPERATURE, 3, "12.3 K"},
        {NAN, ENERGY, 3, "unknown"},
        {INFINITY, ENERGY, 3, "inf J"},
        {-INFINITY, POWER, 3, "-inf W"},
        {1.0 / 3, ENERGY, 99, "333.333333333333 mJ"},
        {1.0 / 3, ENERGY, -4, "300 mJ"},
        {12.5, (joule_dimension)77, 3, "12.5 "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[40];
        size_t length = joule_format(cases[i].value, cases[i].dimension, cases[i].digits, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(length, strlen(text));
    }
}

static void test_short_buffer_cuts_as_snprintf(void **state)
{
    (void)state;
    char text[6];
    assert_int_equal(joule_format(1250, ENERGY, 3, text, sizeof text), 7);
    assert_string_equal(text, "1.25 ");
    assert_int_equal(joule_format(1250, ENERGY, 3, NULL, 0), 7);
}

/* The values have digits and powers of ten of all kinds, from a fixed sequence. */
static void test_written_values_read_back(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 200000; i++) {
        int digits = 1 + rand() % 15;
        double value = (rand() + rand() / 2147483648.0) * pow(10, rand() % 40 - 25);
        joule_dimension dimension = (joule_dimension)(1 + rand() % 4);
        char text[64], again[64];
        assert_true(joule_format(value, dimension, digits, text, sizeof text) < sizeof text);
        double back;
        joule_error error = {0};
        if (joule_parse(text, dimension, &back, &error) != JOULE_OK)
            fail_msg("%s: %s", text, error.message);
        /* The difference is at most half a unit of the last written digit. */
        if (fabs(back - value) > 0.5000001 * value * pow(10, 1 - digits))
            fail_msg("%.17g was written as %s", value, text);
        joule_format(back, dimension, digits, again, sizeof again);
        assert_string_equal(again, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_quantities_are_read),
        cmocka_unit_test(test_invalid_quantities_are_refused_with_their_column),
        cmocka_unit_test(test_values_have_prefixes_and_digits),
        cmocka_unit_test(test_short_buffer_cuts_as_snprintf),
        cmocka_unit_test(test_written_values_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
