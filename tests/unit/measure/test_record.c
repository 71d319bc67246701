/* Records: what was written comes back, cut at any byte the rest stays, noise is refused with a message. */
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
#include "joule/record.h"
#include "support/test_data.h"

static char path[] = "/tmp/joule-test-record-XXXXXX";

static ssize_t energy_uj(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context; /* 50 W */
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 20));
}

/* A scripted machine with one package at 50 W. */
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
    recorder_report(recorder, &report);
    report.functions = NULL;
    report_free(&report);
}

static void write_record(void)
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
    write_findings(recorder);
    assert_int_equal(recorder_close(recorder, NULL), JOULE_OK);
    joule_close(meter);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    close(fd);
    write_record();
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_round_trip(void **state)
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
    arena_free(&report.arena);
    record_free(&record);
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
    assert_non_null(strstr(error.message, "not a joule record"));
    memcpy(bytes, "JOULEREC\1\0\0\0\20\0\0\0", 16);
    assert_int_equal(record_parse(bytes, length, &record, &error), JOULE_FAILED);
    memcpy(bytes, "JOULEREC\2\0\0\0\20\0\0\0", 16);
    assert_int_equal(record_parse(bytes, length, &record, &error), JOULE_UNSUPPORTED);
    free(bytes);
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
    assert_non_null(strstr(error.message, "not complete"));
    assert_int_equal(recorder_open(meter, "/nowhere/at/all", "x", &recorder, &error), JOULE_ABSENT);
    joule_close(meter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_the_report_comes_back),
        cmocka_unit_test(test_cut_anywhere_keeps_what_came_before),
        cmocka_unit_test(test_a_flipped_bit_is_noticed),
        cmocka_unit_test(test_noise_is_refused),
        cmocka_unit_test(test_a_full_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
