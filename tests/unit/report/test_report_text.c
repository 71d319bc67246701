/* Tests reports for people: two headline lines, aligned tables, at most 100 columns, and no terminal control
 * characters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joule/report/text_table.h"
#include "support/check.h"
#include "support/sample_report.h"

static void plain(const struct report *report, struct text *out)
{
    report_text(report, false, out);
}

static void coloured(const struct report *report, struct text *out)
{
    report_text(report, true, out);
}

/* Prints a page if JOULE_SHOW=1. */
static void show(const char *page)
{
    if (getenv("JOULE_SHOW"))
        printf("%s\n", page);
}

static void assert_fits(const char *page)
{
    for (const char *line = page; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n"), columns = 0;
        for (size_t i = 0; i < length; i++)
            columns += ((unsigned char)line[i] & 0xc0) != 0x80;
        if (columns > 100)
            fail_msg("%zu columns: %.*s", columns, (int)length, line);
        assert_true(length == 0 || line[length - 1] != ' ');
    }
}

static void assert_begins(const char *page, const char *start)
{
    if (strncmp(page, start, strlen(start)) != 0)
        fail_msg("expected to begin with\n%s\nbut it is\n%s", start, page);
}

static void test_page_of_a_server_is_complete(void **state)
{
    (void)state;
    struct report report;
    sample_server(&report);
    char *page = sample_print(&report, plain);
    show(page);
    assert_begins(page, "joule  3.51 kJ  (3.44 to 3.58 kJ, derived)  285 W over 12.3 s, "
                        "package-0 + dram-0 + gpu-0\n"
                        "       2.95 kJ  command (CPU), 84 % of busy time (cgroup); "
                        "2.33 kJ net of 96.2 W idle (2026-03-01)\n");
    assert_contains(page, "machine's budget of 4.00 kJ kept, more than 80 % used");
    assert_contains(page, "NVIDIA H200");
    assert_contains(page, "not synced");
    assert_null(strchr(page, '\033'));
    assert_fits(page);
    free(page);
    page = sample_print(&report, coloured);
    show(page);
    assert_contains(page, "\033[1m3.51 kJ\033[0m");
    free(page);
    report_free(&report);
}

static void test_without_a_sensor_the_command_leads(void **state)
{
    (void)state;
    struct report report;
    sample_virtual_machine(&report);
    char *page = sample_print(&report, plain);
    show(page);
    assert_begins(page, "joule  38 J  (19 to 76 J, modelled)  12 W over 3.20 s, the command alone\n"
                        "       60 J  (30 to 120 J, modelled) by the whole machine; "
                        "net of idle unknown (see --idle)\n");
    assert_contains(page, "sensors covered 98 % of the time");
    assert_contains(
        page, "command's budget of 20.0 J exceeded; kept with probability 0.02; overshoot at most 12.5 J");
    assert_contains(page, "`joule doctor`");
    assert_fits(page);
    free(page);
    report_free(&report);
}

/* Without a sensor, functions share the modelled energy of the whole machine. The headline gives the energy
 * of the command, so a function may have more joules than the headline. */
static void test_functions_without_a_sensor(void **state)
{
    (void)state;
    struct report machine, server;
    sample_virtual_machine(&machine);
    sample_server(&server);
    machine.functions = server.functions;
    machine.function_count = server.function_count;
    char *page = sample_print(&machine, plain);
    assert_contains(page, "Functions share the energy of the whole machine, including other programs.\n");
    assert_fits(page);
    free(page);
    page = sample_print(&server, plain);
    assert_null(strstr(page, "Functions share"));
    free(page);
    report_free(&machine);
    report_free(&server);
}

static void test_unknown_energy_is_printed_as_unknown(void **state)
{
    (void)state;
    struct report report;
    sample_unknown(&report);
    char *page = sample_print(&report, plain);
    show(page);
    assert_begins(page, "joule  energy unknown  over 250 ms");
    assert_null(strstr(page, "0 J"));
    assert_null(strstr(page, "nan"));
    assert_fits(page);
    free(page);
    report_free(&report);
}

static void test_several_runs_have_a_spread(void **state)
{
    (void)state;
    struct report report;
    struct report_run runs[3] = {
        {.joules = sample_quantity(9, 8.9, 9.1, JOULE_CLASS_MEASURED), .seconds = 1},
        {.joules = sample_quantity(10, 9.9, 10.1, JOULE_CLASS_MEASURED), .seconds = 1},
        {.joules = sample_quantity(11, 10.9, 11.1, JOULE_CLASS_MEASURED), .seconds = 1}};
    sample_server(&report);
    report.runs = 3;
    report.each_run = runs;
    char *page = sample_print(&report, plain);
    assert_contains(
        page, "3 runs, 10 J each on average (8.3 to 12 J from their scatter, standard deviation 1.00 J)");
    free(page);
    struct report_mean mean = report_mean(&report);
    assert_float_equal(mean.joules.low, 10 - 2.9200 / sqrt(3), 1e-4);
    assert_float_equal(mean.joules.high, 10 + 2.9200 / sqrt(3), 1e-4);
    report_free(&report);
}

static void test_long_names_are_cut(void **state)
{
    (void)state;
    struct report report;
    char name[300];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    /* the name has control characters, invalid UTF-8, an umlaut and a C1 control character */
    memcpy(name, "\033[2J\xff\n\xc3\xa4\xc2\x9b", 10);
    sample_server(&report);
    report.functions[0].name = name;
    report.devices[0].model = name;
    report.cover = name;
    char *page = sample_print(&report, plain);
    assert_null(strchr(page, '\033'));
    assert_contains(page, "?[2J??\xc3\xa4?xxx");
    assert_contains(page, "xx..");
    assert_fits(page);
    free(page);
    report_free(&report);
}

/* --- tables --------------------------------------------------------------------------------------------- */

static char *print_table(const struct table *table, size_t width)
{
    struct text text;
    char *page = malloc(4096);
    text_init(&text, page, 4096);
    table_print(table, "  ", width, false, &text);
    assert_true(text.length < 4096);
    return page;
}

static void add_row(struct table *table, const char *a, const char *b, const char *c)
{
    table_cell(table, a);
    table_cell(table, b);
    table_cell(table, c);
}

static void test_columns_are_aligned(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct table table;
    table_start(&table, &arena, "lrl", (const char *const[]){"name", "n", "empty"});
    add_row(&table, "\xc3\xa4", "1", "");
    add_row(&table, "abcdef", "1000", "");
    add_row(&table, "", "2", "");
    char *page = print_table(&table, 80);
    assert_string_equal(page, "  name       n\n"
                              "  \xc3\xa4          1\n"
                              "  abcdef  1000\n"
                              "             2\n");
    free(page);
    arena_free(&arena);
}

static void test_long_cells_are_cut_to_the_width(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct table table;
    table_start(&table, &arena, "lcl", (const char *const[]){"a", "long", "z"});
    add_row(&table, "x", "a text that is much too long for it", "end");
    char *page = print_table(&table, 20);
    assert_string_equal(page, "  a  long        z\n"
                              "  x  a text t..  end\n");
    free(page);
    page = print_table(&table, 4); /* a table is never narrower than its longest word, here of 8 characters */
    assert_contains(page, "a text..");
    free(page);
    arena_free(&arena);
}

static void test_table_without_rows_is_nothing(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct table table;
    table_start(&table, &arena, "l", (const char *const[]){"a"});
    char *page = print_table(&table, 20);
    assert_string_equal(page, "");
    free(page);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_of_a_server_is_complete),
        cmocka_unit_test(test_without_a_sensor_the_command_leads),
        cmocka_unit_test(test_functions_without_a_sensor),
        cmocka_unit_test(test_unknown_energy_is_printed_as_unknown),
        cmocka_unit_test(test_several_runs_have_a_spread),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_columns_are_aligned),
        cmocka_unit_test(test_long_cells_are_cut_to_the_width),
        cmocka_unit_test(test_table_without_rows_is_nothing),
    };
    return cmocka_run_group_tests_name("report_text", tests, NULL, NULL);
}
