/* Tests that power readings of a management controller are parsed, as bytes and as the output of programs
 * that query it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/node/dcmi.h"

static const uint8_t response[] = {0xdc, 0xc3, 0x00, 0xbc, 0x00, 0x94, 0x07, 0xc2, 0x00,
                                   0x26, 0x8b, 0x54, 0x6a, 0x88, 0x13, 0x00, 0x00, 0x40};

static void assert_reading(const struct dcmi_reading *r, unsigned watts, unsigned min, unsigned max,
                           unsigned average, double period_s)
{
    assert_int_equal(r->watts, watts);
    assert_int_equal(r->min, min);
    assert_int_equal(r->max, max);
    assert_int_equal(r->average, average);
    assert_true(fabs(r->period_s - period_s) < 1e-9);
}

static void test_response_bytes_are_read(void **state)
{
    struct dcmi_reading reading;
    uint8_t bytes[sizeof response + 1] = {0};
    (void)state;
    assert_int_equal(dcmi_parse_bytes(response, sizeof response, &reading), JOULE_OK);
    assert_reading(&reading, 195, 188, 1940, 194, 5);
    for (size_t length = 0; length < sizeof response; length++)
        assert_int_equal(dcmi_parse_bytes(response, length, &reading), JOULE_FAILED);
    memcpy(bytes, response, sizeof response);
    assert_int_equal(dcmi_parse_bytes(bytes, sizeof bytes, &reading), JOULE_FAILED);
    bytes[17] = 0; /* power measurement is not active */
    assert_int_equal(dcmi_parse_bytes(bytes, sizeof response, &reading), JOULE_UNSUPPORTED);
    bytes[17] = 0x40;
    bytes[1] = bytes[2] = 0; /* the power is 0 W */
    assert_int_equal(dcmi_parse_bytes(bytes, sizeof response, &reading), JOULE_UNSUPPORTED);
    bytes[0] = 0xc1;
    assert_int_equal(dcmi_parse_bytes(bytes, sizeof response, &reading), JOULE_FAILED);
}

static void test_printed_bytes_are_read(void **state)
{
    struct dcmi_reading reading;
    (void)state;
    assert_int_equal(dcmi_parse_text(" dc c3 00 bc 00 94 07 c2 00 26 8b 54 6a 88 13 00\n 00 40\n", &reading),
                     JOULE_OK);
    assert_reading(&reading, 195, 188, 1940, 194, 5);
    assert_int_equal(dcmi_parse_text(" dc c3 00 bc", &reading), JOULE_FAILED);
    assert_int_equal(dcmi_parse_text(" dc c3 0", &reading), JOULE_FAILED);
    assert_int_equal(dcmi_parse_text(" dc c3 00 bc 00 94 07 c2 00 26 8b 54 6a 88 13 00 00 40 00", &reading),
                     JOULE_FAILED);
}

static void test_output_of_ipmitool_is_read(void **state)
{
    static const char one_line[] = "\n    Instantaneous power reading:                   195 Watts\n"
                                   "    Minimum during sampling period:                188 Watts\n"
                                   "    Maximum during sampling period:               1940 Watts\n"
                                   "    Average power reading over sample period:      194 Watts\n"
                                   "    IPMI timestamp:                           08/28/26 07:12:06 UTC    "
                                   "Sampling period:              "
                                   "            00000005 Seconds.\n"
                                   "    Power reading state is:                   activated\n\n\n";
    static const char two_lines[] = "\n    Instantaneous power reading:                   346 Watts\n"
                                    "    Minimum during sampling period:                 12 Watts\n"
                                    "    Maximum during sampling period:                640 Watts\n"
                                    "    Average power reading over sample period:      301 Watts\n"
                                    "    IPMI timestamp:                           Thu Sep 17 02:10:03 2015\n"
                                    "    Sampling period:                          00000001 Seconds.\n"
                                    "    Power reading state is:                   activated\n";
    struct dcmi_reading reading;
    (void)state;
    assert_int_equal(dcmi_parse_text(one_line, &reading), JOULE_OK);
    assert_reading(&reading, 195, 188, 1940, 194, 5);
    assert_int_equal(dcmi_parse_text(two_lines, &reading), JOULE_OK);
    assert_reading(&reading, 346, 12, 640, 301, 1);
}

static void test_output_of_freeipmi_is_read(void **state)
{
    static const char text[] = "Current Power                        : 164 Watts\n"
                               "Minimum Power over sampling duration : 4 watts\n"
                               "Maximum Power over sampling duration : 377 watts\n"
                               "Average Power over sampling duration : 164 watts\n"
                               "Time Stamp                           : 10/17/2014 - 21:45:28\n"
                               "Statistics reporting time period     : 1000 milliseconds\n"
                               "Power Measurement                    : Active\n";
    struct dcmi_reading reading;
    (void)state;
    assert_int_equal(dcmi_parse_text(text, &reading), JOULE_OK);
    assert_reading(&reading, 164, 4, 377, 164, 1);
}

static void test_responses_without_reading_are_refused(void **state)
{
    static const struct {
        const char *text;
        joule_status status;
    } cases[] = {
        {"", JOULE_FAILED},
        {"DCMI request failed because: Invalid data field in request (cc)\n", JOULE_FAILED},
        {"    Instantaneous power reading:                     0 Watts\n"
         "    Power reading state is:                   deactivated\n",
         JOULE_UNSUPPORTED},
        {"    Instantaneous power reading:                   195 Watts\n"
         "    Power reading state is:                   deactivated\n",
         JOULE_UNSUPPORTED},
        {"    Instantaneous power reading:                     0 Watts\n", JOULE_UNSUPPORTED},
        {"    Instantaneous power reading:                   195 Watts\n", JOULE_OK},
        {"    Instantaneous power reading:                   Watts\n", JOULE_FAILED},
        {"    Instantaneous power reading                    195\n", JOULE_FAILED},
        {"Current Power                        : 12 Watts\nPower Measurement  : Not Available\n",
         JOULE_UNSUPPORTED},
    };
    struct dcmi_reading reading;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (dcmi_parse_text(cases[i].text, &reading) != cases[i].status)
            fail_msg("%s", cases[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_response_bytes_are_read),
        cmocka_unit_test(test_printed_bytes_are_read),
        cmocka_unit_test(test_output_of_ipmitool_is_read),
        cmocka_unit_test(test_output_of_freeipmi_is_read),
        cmocka_unit_test(test_responses_without_reading_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
