/* Tests the samples of a record as CSV lines: all samples are printed, in order of time, for any file
 * contents. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "support/forgery.h"
#include "support/machine.h"

#define BEGIN_NS 1000000000
#define HWMON    "/sys/class/hwmon/hwmon0/"
#define ZONE     "/sys/class/powercap/intel-rapl:0/"

/* --- shown values --------------------------------------------------------------------------------------- */

struct table {
    struct text text;
    char bytes[4000];
    size_t rows, max_rows; /* max_rows: maximum number of rows to read */
};

static bool add_row(const struct report_sample *sample, void *context)
{
    struct table *table = context;
    report_sample_csv(sample, &table->text);
    return ++table->rows < table->max_rows;
}

/* Reads the rows of a forged record, at most `max_rows`. */
static void read_rows(const struct forgery *f, size_t max_rows, struct table *out)
{
    struct record record;
    assert_int_equal(record_parse(f->bytes, f->length, &record, NULL), JOULE_OK);
    *out = (struct table){.max_rows = max_rows};
    text_init(&out->text, out->bytes, sizeof out->bytes);
    bool saw_all = record_each_sample(&record, add_row, out);
    assert_int_equal(saw_all, out->rows < max_rows);
    record_free(&record);
}

static struct forgery *forge_three_domains(void)
{
    struct forgery *f = forge_begin(BEGIN_NS);
    forge_domain(f, 0, JOULE_READING_ENERGY, "package-0");
    forge_domain(f, 1, JOULE_READING_TEMPERATURE, "hot, \"spot\"");
    forge_domain(f, 2, JOULE_READING_CLOCK, "clock-0");
    forge_domain(f, 3, JOULE_READING_POWER, "silent");
    forge_point(f, 0, BEGIN_NS - 500, 0);
    forge_point(f, 0, BEGIN_NS + 100000000, 0.1);
    forge_point(f, 0, BEGIN_NS + 300000000, 1e9 / 3);
    forge_reading(f, 2, BEGIN_NS + 100000000, 2900.5);
    forge_reading(f, 1, BEGIN_NS + 100000000, 45.25);
    forge_reading(f, 1, BEGIN_NS + 200000001, NAN);
    return f;
}

static const char rows[] = "-5e-07,1970-01-01T00:00:00.999Z,package-0,J,0,measured\r\n"
                           "0.1,1970-01-01T00:00:01.100Z,package-0,J,0.1,measured\r\n"
                           "0.1,1970-01-01T00:00:01.100Z,\"hot, \"\"spot\"\"\",degC,45.25,\r\n"
                           "0.1,1970-01-01T00:00:01.100Z,clock-0,Hz,2900500000,\r\n"
                           "0.200000001,1970-01-01T00:00:01.200Z,\"hot, \"\"spot\"\"\",degC,,\r\n"
                           "0.3,1970-01-01T00:00:01.300Z,package-0,J,333333333.3333333,measured\r\n";

static void test_rows_come_in_the_order_of_time(void **state)
{
    (void)state;
    struct forgery *f = forge_three_domains();
    struct table table;
    read_rows(f, SIZE_MAX, &table);
    assert_string_equal(table.bytes, rows);
    forge_end(f, BEGIN_NS + 400000000);
    read_rows(f, SIZE_MAX, &table);
    assert_string_equal(table.bytes, rows);
    free(f);
}

static void test_a_visitor_may_stop(void **state)
{
    (void)state;
    struct forgery *f = forge_three_domains();
    for (size_t max_rows = 1; max_rows < 6; max_rows++) {
        struct table table;
        read_rows(f, max_rows, &table);
        assert_int_equal(table.rows, max_rows);
        assert_true(strncmp(table.bytes, rows, table.text.length) == 0);
    }
    free(f);
}

static void test_no_sample_no_row(void **state)
{
    (void)state;
    struct forgery *f = forge_begin(BEGIN_NS);
    struct table table;
    read_rows(f, SIZE_MAX, &table);
    assert_int_equal(table.rows, 0);
    free(f);
}

struct order {
    double last_s;
    size_t count;
};

static bool check_order(const struct report_sample *sample, void *context)
{
    struct order *order = context;
    assert_true(sample->seconds >= order->last_s);
    order->last_s = sample->seconds;
    order->count++;
    return true;
}

/* Many domains are in irregular order, which is the worst case for a reader that merges their samples by
 * time. */
static void test_many_domains_keep_the_order(void **state)
{
    (void)state;
    enum { DOMAINS = 100, EACH = 20 };
    struct forgery *f = forge_begin(BEGIN_NS);
    srand(11);
    for (uint32_t id = 0; id < DOMAINS; id++) {
        forge_domain(f, id, JOULE_READING_UTILISATION, "busy");
        int64_t time_ns = BEGIN_NS;
        for (int i = 0; i < EACH; i++)
            forge_reading(f, id, time_ns += rand() % 1000, 0.5);
    }
    struct record record;
    struct order order = {-1, 0};
    assert_int_equal(record_parse(f->bytes, f->length, &record, NULL), JOULE_OK);
    assert_true(record_each_sample(&record, check_order, &order));
    assert_int_equal(order.count, DOMAINS * EACH);
    record_free(&record);
    free(f);
}

/* The name has maximal length and consists of characters that must be doubled; the numbers have all
 * digits. */
static void test_a_row_has_its_size(void **state)
{
    (void)state;
    joule_domain domain = {.reading = JOULE_READING_TEMPERATURE, .cls = JOULE_CLASS_MODELLED};
    memset(domain.name, '"', sizeof domain.name - 1);
    struct report_sample sample = {-1.2345678901234567e-300, INT64_MIN, &domain, -1.2345678901234567e-300};
    struct text text;
    text_init(&text, NULL, 0);
    report_sample_csv(&sample, &text);
    assert_true(text.length > 170 && text.length <= REPORT_SAMPLE_SIZE);
    text_init(&text, NULL, 0);
    report_samples_header(&text);
    assert_true(text.length <= REPORT_SAMPLE_SIZE);
}

/* --- damaged files -------------------------------------------------------------------------------------- */

static void test_what_came_before_a_damaged_block_is_shown(void **state)
{
    (void)state;
    for (int damage = 0; damage < 4; damage++) {
        struct forgery *f = forge_three_domains();
        size_t whole = f->length;
        if (damage == 0)
            forge_reading(f, 1, BEGIN_NS + 100000000, 45); /* before the previous reading */
        else if (damage == 1)
            forge_reading(f, 0, BEGIN_NS + 400000000, 45); /* the domain is not a gauge */
        else if (damage == 2)
            forge_reading(f, 4, BEGIN_NS + 400000000, 45); /* no domain has this id */
        else
            forge_point(f, 0, BEGIN_NS + 400000000, 1); /* less than the previous point */
        struct record record;
        assert_int_equal(record_parse(f->bytes, f->length, &record, NULL), JOULE_OK);
        assert_int_equal(record.lost_bytes, f->length - whole);
        record_free(&record);
        struct table table;
        read_rows(f, SIZE_MAX, &table);
        assert_string_equal(table.bytes, rows);
        free(f);
    }
}

static void test_cut_anywhere_no_row_is_lost_that_was_whole(void **state)
{
    (void)state;
    struct forgery *f = forge_three_domains();
    size_t length = f->length, last = 0;
    for (size_t cut = 0; cut <= length; cut++) {
        struct record record;
        struct table table = {.max_rows = SIZE_MAX};
        if (record_parse(f->bytes, cut, &record, NULL) == JOULE_OK)
            record_each_sample(&record, add_row, &table);
        assert_true(table.rows >= last);
        last = table.rows;
        record_free(&record);
    }
    assert_int_equal(last, 6);
    free(f);
}

/* --- records of a writer -------------------------------------------------------------------------------- */

struct ends {
    double first_joules, last_joules, first_s, last_s, last_celsius;
    size_t joules, celsius;
};

static bool note_ends(const struct report_sample *sample, void *context)
{
    struct ends *ends = context;
    if (sample->domain->reading == JOULE_READING_TEMPERATURE) {
        ends->celsius++;
        ends->last_celsius = sample->value;
        return true;
    }
    if (ends->joules++ == 0) {
        ends->first_joules = sample->value;
        ends->first_s = sample->seconds;
    }
    ends->last_joules = sample->value;
    ends->last_s = sample->seconds;
    return true;
}

static ssize_t energy_uj(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context; /* the counter of a package that draws 50 W */
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 20));
}

static void record_five_seconds(const char *path)
{
    struct joule_host *host = host_script_open();
    struct recorder *recorder;
    host_script_set_time(host, BEGIN_NS);
    host_script_text(host, ZONE "name", "package-0\n");
    host_script_text(host, ZONE "max_energy_range_uj", "262143328850\n");
    host_script_file(host, ZONE "energy_uj", energy_uj, NULL);
    host_script_text(host, HWMON "name", "coretemp");
    host_script_text(host, HWMON "temp1_label", "Package id 0");
    host_script_text(host, HWMON "temp1_input", "55000");
    joule_meter *meter = machine_open(host, "rapl_powercap,thermal");
    assert_int_equal(recorder_open(meter, path, "sleep 5", &recorder, NULL), JOULE_OK);
    machine_run(meter, 5, 0.1);
    assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
    joule_close(meter);
    host->ops->close(host);
}

static void test_samples_add_up_to_the_report(void **state)
{
    (void)state;
    char path[] = "/tmp/joule-test-samples-XXXXXX";
    close(mkstemp(path));
    record_five_seconds(path);
    struct record record;
    struct ends ends = {0};
    assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
    assert_true(record_each_sample(&record, note_ends, &ends));
    double joules = ends.last_joules - ends.first_joules;
    assert_true(ends.joules > 40 && ends.celsius > 4 && ends.last_celsius == 55);
    assert_true(fabs(joules - 50 * (ends.last_s - ends.first_s)) < 0.1);
    const struct curve *curve = &record.meter->channels[0].channel->curve;
    struct window w = meter_window(record.meter, JOULE_TOTAL, curve->points[0].time_ns,
                                   curve->points[curve->count - 1].time_ns);
    assert_true(fabs(w.joules.value - joules) < 1e-9);
    struct report report;
    assert_int_equal(record_report(&record, &report), JOULE_OK);
    /* the report covers at most one more tick than the samples */
    double beyond_s = report.duration_s - (ends.last_s - ends.first_s);
    assert_true(fabs(beyond_s) < 0.11);
    assert_true(fabs(report.total_joules.value - joules - 50 * beyond_s) < 0.1);
    arena_free(&report.arena);
    record_free(&record);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_come_in_the_order_of_time),
        cmocka_unit_test(test_a_visitor_may_stop),
        cmocka_unit_test(test_no_sample_no_row),
        cmocka_unit_test(test_many_domains_keep_the_order),
        cmocka_unit_test(test_a_row_has_its_size),
        cmocka_unit_test(test_what_came_before_a_damaged_block_is_shown),
        cmocka_unit_test(test_cut_anywhere_no_row_is_lost_that_was_whole),
        cmocka_unit_test(test_samples_add_up_to_the_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
