/* Tests that records are read as written, that a truncated file keeps its first part, and that invalid files
 * are refused with a message. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/api/open.h"
#include "joule/record/record.h"
#include "support/check.h"
#include "support/forgery.h"
#include "support/test_data.h"

#define RUNS 140 /* more regions than fit in one block */

static char path[] = "/tmp/joule-test-record-XXXXXX";

static ssize_t energy_uj(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context; /* the counter of a package that draws 50 W */
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 20));
}

/* Returns a meter on a scripted machine with one package that draws 50 W. */
static joule_meter *make_meter(struct joule_host **out_host)
{
    struct joule_host *host = host_script_open();
    const char *zone = "/sys/class/powercap/intel-rapl:0";
    char file[200];
    host_script_set_time(host, 1000000000);
    snprintf(file, sizeof file, "%s/name", zone);
    host_script_text(host, file, "package-0\n");
    snprintf(file, sizeof file, "%s/max_energy_range_uj", zone);
    host_script_text(host, file, "262143328850\n");
    snprintf(file, sizeof file, "%s/energy_uj", zone);
    host_script_file(host, file, energy_uj, NULL);
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap"};
    joule_meter *meter = NULL;
    assert_int_equal(meter_open_on(host, true, &options, &meter, NULL), JOULE_OK);
    *out_host = host;
    return meter;
}

static void write_findings(struct recorder *recorder)
{
    struct report report;
    report_init(&report, "sleep 5");
    struct tag_row row = {.name = "odd",
                          .budget_joules = NAN,
                          .result = {.count = 3,
                                     .duration_s = 1.5,
                                     .coverage = 1,
                                     .attributed = {75, 74, 76, JOULE_CLASS_DERIVED, 0}}};
    struct report_label label = {"branch", "main"};
    report.functions = &row;
    report.function_count = 1;
    report.labels = &label;
    report.label_count = 1;
    report.share.method = ATTRIBUTE_CGROUP;
    report.share.share = 0.5;
    report.has_exit_status = true;
    report.exit_status = 3;
    report.is_partial = true;
    struct report_run runs[RUNS];
    for (unsigned i = 0; i < RUNS; i++)
        runs[i] = (struct report_run){
            {i, i, i + 1, JOULE_CLASS_MEASURED, 0}, {0, 0, 1, JOULE_CLASS_DERIVED, 0}, 0.5 * i};
    report.runs = RUNS;
    report.each_run = runs;
    recorder_report(recorder, &report);
    report.functions = NULL;
    report_free(&report);
}

/* Writes a record. If has_findings is false, the record ends as if the writer was killed just before it wrote
 * the findings. */
static void write_record(bool has_findings)
{
    struct joule_host *host;
    joule_meter *meter = make_meter(&host);
    struct recorder *recorder;
    assert_int_equal(recorder_open(meter, path, "sleep 5", &recorder, NULL), JOULE_OK);
    for (int i = 1; i <= 50; i++) {
        host_script_set_time(host, 1000000000 + i * 100000000LL);
        meter_tick(meter);
        if (i % 10 == 0)
            recorder_region(recorder, 1000000000u + (uint64_t)(i - 5) * 100000000u,
                            1000000000u + (uint64_t)i * 100000000u, i % 20 ? "odd" : "even", 7, 0);
    }
    if (has_findings)
        write_findings(recorder);
    else /* a region of another thread, at the same time as the first region above */
        recorder_region(recorder, 1500000000, 2000000000, "beside", 8, 0);
    assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
    joule_close(meter);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    close(fd);
    write_record(true);
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_written_record_reads_back(void **state)
{
    (void)state;
    struct record record;
    assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
    assert_true(record.is_whole);
    assert_true(record.lost_bytes == 0);
    assert_string_equal(record.program, "sleep 5");
    struct window w = meter_window(record.meter, JOULE_TOTAL, 1500000000, 5500000000);
    assert_true(fabs(w.joules.value - 200) < 1e-3);
    assert_int_equal(w.joules.cls, JOULE_CLASS_MEASURED);
    joule_domain domain = {.struct_size = sizeof domain};
    assert_int_equal(joule_domain_get(record.meter, 0, &domain), JOULE_OK);
    assert_string_equal(domain.name, "package-0");
    assert_int_equal(record.region_count, 5);
    assert_int_equal(record.name_count, 2);
    assert_string_equal(record.names[record.regions[1].name], "even");
    record_free(&record);
}

static ssize_t wandering_microwatts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%.0f\n", 30e6 + 10e6 * sin((double)time_ns * 1e-9));
}

/* The power is polled, and each value is a mean. Its delay and its averaging time must be the same in the
 * record as in the meter. */
static void test_errors_of_sampled_power_come_back(void **state)
{
    (void)state;
    struct joule_host *host = host_script_open();
    host_script_set_time(host, 10000000000);
    host_script_text(host, "/sys/class/hwmon/hwmon0/name", "power_meter\n");
    host_script_file(host, "/sys/class/hwmon/hwmon0/power1_average", wandering_microwatts, NULL);
    joule_options options = {.struct_size = sizeof options, .sources = "hwmon"};
    joule_meter *meter = NULL;
    assert_int_equal(meter_open_on(host, true, &options, &meter, NULL), JOULE_OK);
    meter->channels[0].channel->integrator.lag_s = 2;
    struct recorder *recorder;
    assert_int_equal(recorder_open(meter, path, "sleep 5", &recorder, NULL), JOULE_OK);
    for (int i = 1; i <= 100; i++) {
        host_script_set_time(host, 10000000000 + i * 500000000LL);
        meter_tick(meter);
    }
    struct window live = meter_window(meter, 0, 20000000000, 30250000000);
    assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
    joule_close(meter);
    struct record record;
    assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
    struct window w = meter_window(record.meter, 0, 20000000000, 30250000000);
    assert_true(live.joules.variance > 0);
    assert_true(w.joules.value == live.joules.value && w.joules.variance == live.joules.variance);
    record_free(&record);
    write_record(true);
}

/* If a counter restarts or a sensor's clock goes back, the new point gets the same time as the previous
 * point. Both points must be written. */
static void test_points_of_one_time_are_all_written(void **state)
{
    (void)state;
    char file[] = "/tmp/joule-test-record-XXXXXX";
    close(mkstemp(file));
    struct joule_host *host;
    joule_meter *meter = make_meter(&host);
    struct recorder *recorder;
    assert_int_equal(recorder_open(meter, file, "sleep 5", &recorder, NULL), JOULE_OK);
    struct curve *curve = &meter->channels[0].channel->curve;
    curve_append(curve, (struct curve_point){.time_ns = 2000000000, .joules = 10, .covered_s = 1});
    recorder_add_round(recorder);
    curve_append(curve, (struct curve_point){.time_ns = 1900000000, .joules = 11, .covered_s = 1.1});
    assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
    struct record record;
    assert_int_equal(record_read(file, &record, NULL), JOULE_OK);
    const struct curve *copy = &record.meter->channels[0].channel->curve;
    assert_int_equal(copy->count, curve->count);
    assert_true(copy->points[copy->count - 1].joules == 11);
    record_free(&record);
    joule_close(meter);
    unlink(file);
}

static void test_the_report_comes_back(void **state)
{
    (void)state;
    struct record record;
    struct report report;
    assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
    assert_int_equal(record_report(&record, &report), JOULE_OK);
    assert_true(fabs(report.total_joules.value - 250) < 0.1);
    assert_string_equal(report.cover, "package-0");
    assert_int_equal(report.function_count, 1);
    assert_string_equal(report.functions[0].name, "odd");
    assert_true(report.functions[0].result.attributed.value == 75);
    assert_true(isnan(report.functions[0].budget_joules));
    assert_int_equal(report.label_count, 1);
    assert_string_equal(report.labels[0].value, "main");
    assert_int_equal(report.share.method, ATTRIBUTE_CGROUP);
    assert_int_equal(report.exit_status, 3);
    assert_true(report.is_partial);
    assert_int_equal(report_run_count(&report), RUNS);
    assert_true(report_run(&report, RUNS - 1).joules.value == RUNS - 1);
    assert_true(report_run(&report, RUNS - 1).seconds == 0.5 * (RUNS - 1));
    arena_free(&report.arena);
    record_free(&record);
}

static void test_every_method_comes_back(void **state)
{
    (void)state;
    for (enum attribute_method method = ATTRIBUTE_NONE; method <= ATTRIBUTE_LAST; method++) {
        struct joule_host *host;
        joule_meter *meter = make_meter(&host);
        struct recorder *recorder;
        struct record record;
        struct report report;
        assert_int_equal(recorder_open(meter, path, "sleep 5", &recorder, NULL), JOULE_OK);
        report_init(&report, "sleep 5");
        report.share.method = method;
        recorder_report(recorder, &report);
        report_free(&report);
        assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
        joule_close(meter);
        assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
        assert_true(record.is_whole && record.has_findings);
        assert_int_equal(record.found.share.method, method);
        record_free(&record);
    }
    write_record(true);
}

static void expect_function(const struct report *report, const char *name, uint64_t count, double joules)
{
    for (size_t i = 0; i < report->function_count; i++) {
        const struct tag_row *row = &report->functions[i];
        if (strcmp(row->name, name) != 0)
            continue;
        assert_int_equal(row->result.count, count);
        if (!(fabs(row->result.attributed.value - joules) < 0.5))
            fail_msg("%s: %g J instead of %g J", name, row->result.attributed.value, joules);
        return;
    }
    fail_msg("no function %s", name);
}

/* There are five regions of half a second at 50 W. The first one overlaps a sixth region of another thread,
 * so both get half of the energy. */
static void test_regions_are_shared_out_where_the_writer_could_not(void **state)
{
    (void)state;
    struct record record;
    struct report report;
    write_record(false);
    assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
    assert_int_equal(record_report(&record, &report), JOULE_OK);
    assert_int_equal(report.function_count, 3);
    expect_function(&report, "odd", 3, 25 + 25 + 12.5);
    expect_function(&report, "even", 2, 50);
    expect_function(&report, "beside", 1, 12.5);
    assert_false(report.is_partial);
    arena_free(&report.arena);
    record_free(&record);
    write_record(true);
}

static void test_cut_anywhere_keeps_what_came_before(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = (uint8_t *)test_read_file(path, &length);
    double last = 0;
    for (size_t cut = 0; cut <= length; cut++) {
        struct record record;
        joule_error error = {0};
        joule_status status = record_parse(bytes, cut, &record, &error);
        if (status == JOULE_OK) {
            assert_int_equal(record.is_whole, cut == length);
            struct window w = meter_window(record.meter, JOULE_TOTAL, record.begin_ns, record.end_ns);
            double joules = isnan(w.joules.value) ? 0 : w.joules.value;
            assert_true(joules >= last - 1e-9);
            last = joules;
        } else {
            assert_true(error.message[0] != '\0');
        }
        record_free(&record);
    }
    assert_true(last > 200);
    free(bytes);
}

static void test_a_flipped_bit_is_noticed(void **state)
{
    (void)state;
    size_t length;
    uint8_t *bytes = (uint8_t *)test_read_file(path, &length);
    for (size_t i = 16; i < length; i += 7) {
        bytes[i] ^= 0x10;
        struct record record;
        if (record_parse(bytes, length, &record, NULL) == JOULE_OK)
            assert_false(record.is_whole);
        record_free(&record);
        bytes[i] ^= 0x10;
    }
    free(bytes);
}

static void test_noise_is_refused(void **state)
{
    (void)state;
    size_t length = 10 << 20;
    uint8_t *bytes = malloc(length);
    assert_non_null(bytes);
    srand(5);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)rand();
    struct record record;
    joule_error error = {0};
    assert_int_equal(record_parse(bytes, length, &record, &error), JOULE_FAILED);
    assert_contains(error.message, "not a joule record");
    memcpy(bytes, "JOULEREC\1\0\0\0\20\0\0\0", 16);
    assert_int_equal(record_parse(bytes, length, &record, &error), JOULE_FAILED);
    memcpy(bytes, "JOULEREC\2\0\0\0\20\0\0\0", 16);
    assert_int_equal(record_parse(bytes, length, &record, &error), JOULE_UNSUPPORTED);
    free(bytes);
}

/* --- files that no writer produces ---------------------------------------------------------------------- */

static void test_more_names_than_a_session_has_are_refused(void **state)
{
    (void)state;
    struct forgery *f = forge_begin(1);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %d", i);
        forge_block(f, RECORD_REGION);
        forge_number(f, 1, 8);
        forge_number(f, 2, 8);
        forge_number(f, 0, 8); /* thread and flags */
        forge_text(f, name);
        forge_end_of_block(f);
    }
    struct record record;
    assert_int_equal(record_parse(f->bytes, f->length, &record, NULL), JOULE_OK);
    assert_int_equal(record.name_count, 4096);
    assert_int_equal(record.region_count, 4096);
    assert_string_equal(record.names[record.regions[4095].name], "name 4095");
    assert_true(record.lost_bytes > 0);
    record_free(&record);
    free(f);
}

/* Differences of such times overflow an int64_t. */
static void test_times_beyond_all_clocks_are_refused(void **state)
{
    (void)state;
    static const uint64_t times[] = {UINT64_C(1) << 63, INT64_MAX, UINT64_MAX - 1000};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        struct forgery *f = forge_begin(times[i]);
        struct record record;
        joule_error error = {0};
        assert_int_equal(record_parse(f->bytes, f->length, &record, &error), JOULE_FAILED);
        assert_contains(error.message, "first block");
        free(f);
        f = forge_begin(1);
        forge_block(f, RECORD_END);
        forge_number(f, times[i], 8);
        forge_end_of_block(f);
        assert_int_equal(record_parse(f->bytes, f->length, &record, NULL), JOULE_OK);
        assert_false(record.is_whole);
        assert_int_equal(record.end_ns, 1);
        record_free(&record);
        free(f);
    }
}

/* The record has a region and no domain, so the region's energy is unknown. */
static void test_a_region_needs_no_domain(void **state)
{
    (void)state;
    struct forgery *f = forge_begin(1);
    forge_block(f, RECORD_REGION);
    forge_number(f, 1, 8);
    forge_number(f, 1000, 8);
    forge_number(f, 0, 8); /* thread and flags */
    forge_text(f, "alone");
    forge_end_of_block(f);
    forge_block(f, RECORD_END);
    forge_number(f, 2000, 8);
    forge_end_of_block(f);
    struct record record;
    struct report report;
    assert_int_equal(record_parse(f->bytes, f->length, &record, NULL), JOULE_OK);
    assert_int_equal(record_report(&record, &report), JOULE_OK);
    assert_int_equal(report.function_count, 1);
    assert_true(isnan(report.functions[0].result.attributed.value));
    arena_free(&report.arena);
    record_free(&record);
    free(f);
}

/* The block with the command's findings ends too early. None of its findings may be shown. */
static void test_a_cut_command_is_none(void **state)
{
    (void)state;
    struct forgery *f = forge_begin(1);
    forge_block(f, RECORD_COMMAND);
    forge_number(f, 1, 8); /* begin */
    forge_double(f, 5);    /* seconds */
    forge_number(f, ATTRIBUTE_CGROUP, 4);
    for (int i = 0; i < 4; i++)
        forge_double(f, 1); /* CPU seconds and the share */
    forge_end_of_block(f);
    struct record record;
    struct report report;
    assert_int_equal(record_parse(f->bytes, f->length, &record, NULL), JOULE_OK);
    assert_true(record.lost_bytes > 0);
    assert_false(record.has_findings);
    assert_int_equal(record_report(&record, &report), JOULE_OK);
    assert_int_equal(report.share.method, ATTRIBUTE_NONE);
    assert_true(isnan(report.share.share));
    arena_free(&report.arena);
    record_free(&record);
    free(f);
}

/* --- long reports --------------------------------------------------------------------------------------- */

/* The report has the maximum number of tags of a session and of labels of a command line, each of maximal
 * length. */
static void test_a_long_report_comes_back_whole(void **state)
{
    (void)state;
    enum { ROWS = 4096, LABELS = 32, LENGTH = 1000 };
    static struct tag_row rows[ROWS];
    static char names[ROWS][48], word[LENGTH + 1];
    struct report_label labels[LABELS];
    struct joule_host *host;
    joule_meter *meter = make_meter(&host);
    struct recorder *recorder;
    struct report report;
    assert_int_equal(recorder_open(meter, path, "long", &recorder, NULL), JOULE_OK);
    report_init(&report, "long");
    memset(word, 'w', LENGTH);
    for (int i = 0; i < ROWS; i++) {
        snprintf(names[i], sizeof names[i], "a name about as long as they may be: %d", i);
        rows[i] = (struct tag_row){.name = names[i], .budget_joules = NAN, .result = {.count = 1}};
    }
    for (int i = 0; i < LABELS; i++)
        labels[i] = (struct report_label){word, word};
    report.functions = rows;
    report.function_count = ROWS;
    report.labels = labels;
    report.label_count = LABELS;
    recorder_report(recorder, &report);
    report_free(&report);
    assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
    joule_close(meter);

    struct record record;
    assert_int_equal(record_read(path, &record, NULL), JOULE_OK);
    assert_true(record.is_whole);
    assert_int_equal(record.found.function_count, ROWS);
    assert_string_equal(record.found.functions[ROWS - 1].name, names[ROWS - 1]);
    assert_int_equal(record.found.label_count, LABELS);
    assert_string_equal(record.found.labels[LABELS - 1].value, word);
    record_free(&record);
}

static void test_a_full_disk_is_reported(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    struct joule_host *host;
    joule_meter *meter = make_meter(&host);
    struct recorder *recorder;
    joule_error error = {0};
    assert_int_equal(recorder_open(meter, "/dev/full", "x", &recorder, &error), JOULE_OK);
    meter_tick(meter);
    assert_int_equal(recorder_close(recorder, &error), JOULE_FAILED);
    assert_contains(error.message, "incomplete");
    assert_int_equal(recorder_open(meter, "/nowhere/at/all", "x", &recorder, &error), JOULE_ABSENT);
    joule_close(meter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_record_reads_back),
        cmocka_unit_test(test_errors_of_sampled_power_come_back),
        cmocka_unit_test(test_points_of_one_time_are_all_written),
        cmocka_unit_test(test_the_report_comes_back),
        cmocka_unit_test(test_every_method_comes_back),
        cmocka_unit_test(test_regions_are_shared_out_where_the_writer_could_not),
        cmocka_unit_test(test_cut_anywhere_keeps_what_came_before),
        cmocka_unit_test(test_a_flipped_bit_is_noticed),
        cmocka_unit_test(test_noise_is_refused),
        cmocka_unit_test(test_more_names_than_a_session_has_are_refused),
        cmocka_unit_test(test_times_beyond_all_clocks_are_refused),
        cmocka_unit_test(test_a_region_needs_no_domain),
        cmocka_unit_test(test_a_cut_command_is_none),
        cmocka_unit_test(test_a_full_disk_is_reported),
        /* this test is last, because it replaces the file */
        cmocka_unit_test(test_a_long_report_comes_back_whole),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
