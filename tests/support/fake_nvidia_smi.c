/* support/fake_nvidia_smi.c - see fake_nvidia_smi.h. */
#include "support/fake_nvidia_smi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/api/open.h"
#include "support/test_data.h"

struct fake_smi fake_smi;

const char *fake_smi_fixture(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/fixtures/nvidia_smi/%s", TEST_SOURCE_DIR, name);
    return path;
}

char *fake_smi_read(const char *name)
{
    size_t length;
    char *text = test_read_file(fake_smi_fixture(name), &length);
    assert_non_null(text);
    return text;
}

/* Copies cell number `column` of a line of the table. The copy is trimmed and lacks the unit, as in the
 * output of nvidia-smi with "nounits". */
static void cell(const char *line, size_t column, char *out_cell, size_t size)
{
    for (; column > 0 && line; column--) {
        line = strchr(line, ',');
        line += line != NULL;
    }
    assert_non_null(line);
    string_print(out_cell, size, "%.*s", (int)strcspn(line, ",\r\n"), line);
    memmove(out_cell, string_trim(out_cell), strlen(string_trim(out_cell)) + 1);
    double number;
    const char *end = string_scan_double(out_cell, &number);
    if (end && *end == ' ')
        out_cell[end - out_cell] = '\0';
}

static int find_column(const char *heading, const char *name, size_t length)
{
    int column = 0;
    for (const char *at = heading;; at++, column++) {
        at += strspn(at, " ");
        size_t named = strcspn(at, ", \r\n");
        if (named == length && strncmp(at, name, length) == 0)
            return column;
        at += strcspn(at, ",\r\n");
        if (*at != ',')
            return -1;
    }
}

static const char *next_row(const char *row)
{
    const char *end = strchr(row, '\n');
    return end && end[1] > ' ' ? end + 1 : NULL;
}

static void print_row(struct text *out, const char *row, const int *columns, size_t count, int power)
{
    char value[128];
    if (!memchr(row, ',', strcspn(row, "\n"))) { /* the line is text, not a row of the table */
        text_add_bytes(out, row, strcspn(row, "\n"));
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        double number;
        cell(row, (size_t)columns[i], value, sizeof value);
        if ((int)i == power && string_to_double(value, &number))
            string_print(value, sizeof value, "%.2f", number * fake_smi.factor);
        text_printf(out, "%s%s", i ? ", " : "", value);
    }
    text_add(out, "\n");
}

static ssize_t answer_query(const char *names, struct text *out, int *out_status)
{
    int columns[64], power = -1;
    size_t count = 0;
    for (const char *name = names; *name; name += *name == ',') {
        size_t length = strcspn(name, ",");
        columns[count] = find_column(fake_smi.table, name, length);
        bool is_unknown = fake_smi.unknown && strlen(fake_smi.unknown) == length &&
                          strncmp(fake_smi.unknown, name, length) == 0;
        if (columns[count] < 0 || is_unknown) {
            *out_status = 2;
            text_printf(out,
                        fake_smi.is_mute ? "Invalid combination of input arguments.\n"
                                         : "Field \"%.*s\" is not a valid field to query.\n",
                        (int)length, name);
            return (ssize_t)out->length;
        }
        if (string_starts(name, "power.draw"))
            power = power < 0 || string_starts(name, "power.draw.average") ? (int)count : power;
        count++;
        name += length;
    }
    int number = 0;
    for (const char *row = next_row(fake_smi.table); row; row = next_row(row))
        if (number++ != fake_smi.lost)
            print_row(out, row, columns, count, power);
    return (ssize_t)out->length;
}

static ssize_t answer_text(const char *text, struct text *out, int *out_status)
{
    *out_status = text ? 0 : 2;
    text_add(out, text ? text : "Invalid combination of input arguments.\n");
    return (ssize_t)out->length;
}

ssize_t fake_smi_run(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                     int *out_status)
{
    struct text out;
    (void)context, (void)time_ns;
    text_init(&out, buffer, size);
    if (fake_smi.failure)
        return fake_smi.failure;
    if (fake_smi.status) {
        *out_status = fake_smi.status;
        text_add(&out, fake_smi.instead ? fake_smi.instead : "");
        return (ssize_t)out.length;
    }
    if (string_starts(argv[1], "--query-gpu=")) {
        fake_smi.tables++;
        assert_string_equal(argv[2], "--format=csv,noheader,nounits");
        return fake_smi.table ? answer_query(argv[1] + strlen("--query-gpu="), &out, out_status)
                              : answer_text(NULL, &out, out_status);
    }
    fake_smi.descriptions += strcmp(argv[1], "-q") == 0;
    return answer_text(strcmp(argv[1], "-q") == 0 ? fake_smi.description : fake_smi.list, &out, out_status);
}

int fake_smi_setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    fake_smi = (struct fake_smi){.lost = -1, .factor = 1};
    return host_script_program(bench->host, "nvidia-smi", fake_smi_run, NULL) ? 0 : -1;
}

int fake_smi_teardown(void **state)
{
    free(fake_smi.table);
    free(fake_smi.description);
    free(fake_smi.list);
    return machine_teardown(state);
}

joule_meter *fake_smi_open(struct machine_bench *bench)
{
    joule_options options = {
        .struct_size = sizeof options, .sources = "nvidia_smi", .flags = JOULE_OPEN_DEVICES};
    assert_int_equal(meter_open_on(bench->host, false, &options, &bench->meter, NULL), JOULE_OK);
    return bench->meter;
}

joule_domain fake_smi_domain(joule_meter *meter, const char *name)
{
    joule_domain domain = {.struct_size = sizeof domain};
    assert_int_equal(joule_domain_get(meter, machine_domain(meter, name), &domain), JOULE_OK);
    return domain;
}

joule_status fake_smi_state(joule_meter *meter, const char *name)
{
    return fake_smi_domain(meter, name).state;
}
