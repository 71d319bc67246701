/* Tests reports as JSON and CSV.
 *
 * With REPORT_SAMPLES=FOLDER the program writes sample reports to FOLDER instead of running tests.
 * tests/programs/test_report_schema.py then validates the samples against docs/report.schema.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_writer.h"
#include "support/check.h"
#include "support/sample_report.h"

static char *quoted(const char *bytes, size_t count)
{
    static char buffer[256];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    json_quote(&text, bytes, count);
    return buffer;
}

static void test_strings_are_always_valid(void **state)
{
    (void)state;
    assert_string_equal(quoted("plain", 5), "\"plain\"");
    assert_string_equal(quoted("a\"b\\c\n\t\001\177", 9), "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f\"");
    assert_string_equal(quoted("a\0b", 3), "\"a\\u0000b\"");
    assert_string_equal(quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x8b", 9),
                        "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x94\x8b\"");
}

#define BAD "\xef\xbf\xbd"

static void test_bad_utf8_is_replaced(void **state)
{
    (void)state;
    /* a continuation byte without a first byte */
    assert_string_equal(quoted("\x80z", 2), "\"" BAD "z\"");
    assert_string_equal(quoted("\xc3", 1), "\"" BAD "\"");                 /* a sequence that ends early */
    assert_string_equal(quoted("\xc0\xaf", 2), "\"" BAD BAD "\"");         /* an overlong sequence */
    assert_string_equal(quoted("\xe0\x80\xaf", 3), "\"" BAD BAD BAD "\""); /* an overlong sequence */
    assert_string_equal(quoted("\xed\xa0\x80", 3), "\"" BAD BAD BAD "\""); /* a surrogate */
    assert_string_equal(quoted("\xf4\x90\x80\x80", 4), "\"" BAD BAD BAD BAD "\""); /* above U+10FFFF */
    assert_string_equal(quoted("\xe2\x82!", 3), "\"" BAD BAD "!\""); /* an incomplete sequence */
}

static void test_commas_and_nothing(void **state)
{
    (void)state;
    char buffer[200];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    struct json json = {.out = &text};
    json_open(&json, NULL, '{');
    json_open(&json, "empty", '[');
    json_close(&json, ']');
    json_double(&json, "nan", NAN);
    json_double(&json, "inf", INFINITY);
    json_string(&json, "null", NULL);
    json_open(&json, "list", '[');
    json_integer(&json, NULL, -5);
    json_bool(&json, NULL, true);
    json_open(&json, NULL, '{');
    json_close(&json, '}');
    json_double(&json, NULL, 0.1);
    json_close(&json, ']');
    json_close(&json, '}');
    assert_string_equal(buffer,
                        "{\"empty\":[],\"nan\":null,\"inf\":null,\"null\":null,\"list\":[-5,true,{},0.1]}");
}

static void test_report_of_a_server_is_complete(void **state)
{
    (void)state;
    struct report report;
    sample_server(&report);
    char *json = sample_print(&report, report_json);
    assert_contains(json, "{\"schema\":\"joule-report-1\",");
    assert_contains(json,
                    "\"program\":\"train --epochs 3 corpus.bin\",\"timestamp\":\"2026-03-03T10:30:00.000Z\"");
    assert_contains(json, "\"total_energy_joules\":3512.25");
    assert_contains(json, "{\"type\":\"gpu\",\"vendor\":\"nvidia\",\"model\":\"NVIDIA H200\",\"index\":0,"
                          "\"energy_joules\":2272,\"interval_joules\":[2201,2343],\"class\":\"derived\"");
    assert_contains(json, "\"measurement\":\"nvml\",\"tier\":3");
    assert_contains(json, "\"device\":\"gpu:0\"");
    assert_contains(json, "\"budget_joules\":500,\"budget_probability\":1,\"status\":\"within_budget\"");
    assert_contains(json, "\"status\":\"near_budget\"");
    assert_contains(json, "\"status\":\"below_resolution\"");
    assert_contains(json, "\"labels\":{\"commit\":\"2d170c3\",\"note\":\"a \\\"quoted\\\", long one\"}");
    assert_null(strchr(json, '\n'));
    free(json);
    report_free(&report);
}

static void test_unknown_is_null(void **state)
{
    (void)state;
    struct report report;
    sample_unknown(&report);
    char *json = sample_print(&report, report_json);
    assert_contains(json, "\"total_energy_joules\":null");
    assert_contains(json, "\"gross\":{\"energy_joules\":null,\"interval_joules\":null,\"class\":\"none\"");
    assert_contains(json, "\"command\":null");
    assert_contains(json, "\"budget\":null");
    assert_null(strstr(json, "nan"));
    free(json);
    report_free(&report);
}

static void test_labels_given_twice(void **state)
{
    (void)state;
    struct report report;
    struct report_label labels[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
    sample_unknown(&report);
    report.labels = labels;
    report.label_count = 3;
    char *json = sample_print(&report, report_json);
    assert_contains(json, "\"labels\":{\"b\":\"2\",\"a\":\"3\"}");
    free(json);
    report_free(&report);
}

static void test_too_small_a_buffer_is_cut(void **state)
{
    (void)state;
    char buffer[16];
    struct report report;
    struct text text;
    sample_server(&report);
    text_init(&text, buffer, sizeof buffer);
    report_json(&report, &text);
    assert_string_equal(buffer, "{\"schema\":\"joul");
    assert_true(text.length > 1000);
    report_free(&report);
}

static void test_device_of_a_function(void **state)
{
    (void)state;
    struct report report;
    struct tag_row row = {.flags = 0};
    char device[REPORT_DEVICE_SIZE];
    sample_server(&report);
    report_function_device(&report, &row, device);
    assert_string_equal(device, "all");
    row.flags = JOULE_REGION_CPU;
    report_function_device(&report, &row, device);
    assert_string_equal(device, "cpu");
    row.flags = JOULE_REGION_GPU;
    report.devices[2].index = 3;
    report_function_device(&report, &row, device);
    assert_string_equal(device, "gpu:3");
    report.devices[0].type = "gpu";
    report_function_device(&report, &row, device);
    assert_string_equal(device, "gpu");
    row.flags = 0;
    report.device_count = 0;
    report_function_device(&report, &row, device);
    assert_string_equal(device, "all");
    report_free(&report);
}

/* --- CSV ------------------------------------------------------------------------------------------------ */

/* Returns the number of fields of the CSV row that begins at `row`, by the rules of RFC 4180. */
static size_t count_fields(const char *row)
{
    size_t fields = 1;
    bool is_quoted = false;
    for (; *row && (is_quoted || *row != '\r'); row++) {
        is_quoted ^= *row == '"';
        fields += *row == ',' && !is_quoted;
    }
    assert_false(is_quoted);
    assert_memory_equal(row, "\r\n", 2);
    return fields;
}

static void assert_row(void (*sample)(struct report *), const char *part)
{
    struct report report;
    sample(&report);
    char *csv = sample_print(&report, report_csv);
    const char *row = strchr(csv, '\n') + 1;
    assert_int_equal(count_fields(row), count_fields(csv));
    assert_contains(row, part);
    assert_null(strstr(row, "nan"));
    free(csv);
    report_free(&report);
}

static void test_csv_rows_have_their_fields(void **state)
{
    (void)state;
    assert_row(sample_server, ",12.31,3512.25,3441,3583,derived,");
    assert_row(sample_server, ",\"commit=2d170c3;note=a \"\"quoted\"\", long one\"\r\n");
    assert_row(sample_virtual_machine, ",137,20,over_budget,0.02,");
    assert_row(sample_unknown, "joule-report-1,true,2026-03-03T10:30:00.000Z,1,0.25,,,,none,,,");
}

static void test_csv_has_a_row_for_each_run(void **state)
{
    (void)state;
    struct report report;
    joule_quantity none = sample_quantity(NAN, NAN, NAN, JOULE_CLASS_NONE);
    struct report_run runs[2] = {{sample_quantity(9, 8.9, 9.1, JOULE_CLASS_MEASURED), none, 1},
                                 {sample_quantity(10, 9.9, 10.1, JOULE_CLASS_MEASURED),
                                  sample_quantity(7, 6, 8, JOULE_CLASS_DERIVED), 2}};
    sample_server(&report);
    report.runs = 2;
    report.each_run = runs;
    char *csv = sample_print(&report, report_csv);
    const char *first = strchr(csv, '\n') + 1, *second = strchr(first, '\n') + 1;
    assert_contains(first, ",1,1,9,8.9,9.1,measured,");
    assert_contains(second, ",2,2,10,9.9,10.1,measured,");
    assert_contains(second, ",7,6,8,derived,,,,");
    assert_int_equal(count_fields(first), count_fields(csv));
    assert_int_equal(count_fields(second), count_fields(csv));
    free(csv);
    report_free(&report);
}

/* --- complete lists ------------------------------------------------------------------------------------- */

static char *read_schema(void)
{
    static char schema[65536];
    FILE *file = fopen(TEST_SOURCE_DIR "/../docs/report.schema.json", "r");
    assert_non_null(file);
    size_t length = fread(schema, 1, sizeof schema - 1, file);
    fclose(file);
    schema[length] = '\0';
    return schema;
}

static void assert_in_schema(const char *schema, const char *word)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\"", word);
    assert_contains(schema, wanted);
}

static void test_every_name_is_in_the_schema(void **state)
{
    (void)state;
    const char *schema = read_schema();
    for (const struct source_ops *const *ops = source_table; *ops; ops++)
        assert_in_schema(schema, (*ops)->measurement);
    for (int i = JOULE_CLASS_NONE; i <= JOULE_CLASS_ASSUMED; i++)
        assert_in_schema(schema, joule_class_name((joule_class)i));
    for (int i = JOULE_BUDGET_NOT_MEASURED; i <= JOULE_BUDGET_BELOW_RESOLUTION; i++)
        assert_in_schema(schema, joule_budget_status_name((joule_budget_status)i));
    for (int i = ATTRIBUTE_CGROUP; i <= ATTRIBUTE_WAIT4; i++)
        assert_in_schema(schema, attribute_method_name((enum attribute_method)i));
}

/* --- samples for the validator -------------------------------------------------------------------------- */

static void write_sample(const char *folder, const char *name, void (*sample)(struct report *))
{
    char path[4096];
    struct report report;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    sample(&report);
    char *json = sample_print(&report, report_json);
    fprintf(file, "%s\n", json);
    free(json);
    report_free(&report);
    fclose(file);
}

int main(void)
{
    const char *folder = getenv("REPORT_SAMPLES");
    if (folder) {
        write_sample(folder, "server", sample_server);
        write_sample(folder, "virtual_machine", sample_virtual_machine);
        write_sample(folder, "unknown", sample_unknown);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_are_always_valid),
        cmocka_unit_test(test_bad_utf8_is_replaced),
        cmocka_unit_test(test_commas_and_nothing),
        cmocka_unit_test(test_report_of_a_server_is_complete),
        cmocka_unit_test(test_unknown_is_null),
        cmocka_unit_test(test_labels_given_twice),
        cmocka_unit_test(test_too_small_a_buffer_is_cut),
        cmocka_unit_test(test_device_of_a_function),
        cmocka_unit_test(test_csv_rows_have_their_fields),
        cmocka_unit_test(test_csv_has_a_row_for_each_run),
        cmocka_unit_test(test_every_name_is_in_the_schema),
    };
    return cmocka_run_group_tests_name("report_json", tests, NULL, NULL);
}
