/* Tests that a calibration is written, read, rejected if it is invalid, found on a machine, and applied to a
 * core and a table. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "calibrate/calibration_page.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "support/check.h"

#define TEXT_SIZE 65536
#define DAY       86400

static const struct cost_cpu cpu = {"intel", 6, 85, "Xeon Gold 6148", 2, 40, 80, false};
static const char cpuinfo[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
                              "model name\t: Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz\nstepping\t: 4\n\n";

static struct cost_term term(double value)
{
    return (struct cost_term){value, value * 0.9, value * 1.2};
}

/* Returns a calibration in which every value is different. */
static struct calibrated *sample(bool has_energy)
{
    static struct calibrated c;
    const struct cost_term none = {NAN, NAN, NAN};
    c = (struct calibrated){.no_energy = has_energy ? NULL : "no sensor"};
    struct cost_calibration *out = &c.calibration;
    *out = (struct cost_calibration){.vendor = "intel",
                                     .name = "Xeon Gold 6148",
                                     .uarch = "skylake-server",
                                     .family = 6,
                                     .model = 85,
                                     .stepping = 4,
                                     .unix_seconds = 1763800000,
                                     .joule_version = "0.1.0",
                                     .temperature_celsius = 51.5};
    out->speeds =
        (struct cost_speeds){.hz = term(2.5e9), .overlap = term(5), .log_sd = 0.125, .hz_log_sd = 0.01};
    out->prices.cls = has_energy ? JOULE_CLASS_MEASURED : JOULE_CLASS_NONE;
    out->prices.log_sd = has_energy ? 0.14 : NAN;
    snprintf(out->prices.source, sizeof out->prices.source, "%s", has_energy ? "rapl_perf" : "");
    for (int i = 0; i < COST_FEATURES; i++) {
        bool is_there = i >= COST_UOPS && i != COST_SIMD_512;
        out->speeds.per_cycle[i] = is_there && i != COST_MISPREDICTS ? term(0.5 + i) : none;
        out->speeds.latency[i] = is_there ? term(1 + i) : none;
        out->prices.joules[i] = has_energy && (is_there || i == COST_CYCLES || i == COST_PACKAGE_SECONDS)
                                    ? term(1e-10 * (i + 1))
                                    : none;
    }
    c.measured.count = 1;
    c.measured.list[0] = (struct fit_kernel){.name = "add, dependent", .family = FIT_CHAINS, .cycles = 33};
    return &c;
}

/* Returns the text of the calibration's file; the caller calls free(). */
static char *write_text(const struct calibrated *c)
{
    struct text out;
    char *text = calloc(1, TEXT_SIZE);
    assert_non_null(text);
    text_init(&out, text, TEXT_SIZE);
    calibrate_json(c, &out);
    assert_true(out.length < TEXT_SIZE);
    return text;
}

static joule_status parse(const char *text, struct cost_calibration *out, joule_error *error)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    joule_status status = cost_calibration_parse(copy, strlen(copy), "it", out, error);
    free(copy);
    return status;
}

static bool is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || !(a < b || a > b);
}

static void assert_same(const struct cost_term *a, const struct cost_term *b)
{
    assert_true(is_same(a->value, b->value) && is_same(a->low, b->low) && is_same(a->high, b->high));
    assert_true(isnan(a->value) == isnan(b->value));
}

static void check_round_trip(bool has_energy)
{
    struct calibrated *c = sample(has_energy);
    struct cost_calibration read;
    char *text = write_text(c);
    joule_error error;
    assert_ok(parse(text, &read, &error), &error);
    free(text);
    assert_same(&read.speeds.hz, &c->calibration.speeds.hz);
    assert_same(&read.speeds.overlap, &c->calibration.speeds.overlap);
    for (int i = 0; i < COST_FEATURES; i++) {
        assert_same(&read.speeds.per_cycle[i], &c->calibration.speeds.per_cycle[i]);
        assert_same(&read.speeds.latency[i], &c->calibration.speeds.latency[i]);
        assert_same(&read.prices.joules[i], &c->calibration.prices.joules[i]);
    }
    assert_true(read.unix_seconds == c->calibration.unix_seconds && read.stepping == 4);
    assert_string_equal(read.name, "Xeon Gold 6148");
    assert_string_equal(read.uarch, "skylake-server");
    assert_int_equal(read.prices.cls, has_energy ? JOULE_CLASS_MEASURED : JOULE_CLASS_NONE);
    assert_true(fabs(read.temperature_celsius - 51.5) < 1e-12 && fabs(read.speeds.log_sd - 0.125) < 1e-12);
    assert_true(cost_calibration_is_of(&read, &cpu, 4));
}

static void test_written_calibration_reads_back(void **state)
{
    (void)state;
    check_round_trip(true);
    check_round_trip(false);
}

/* Asserts that the text is rejected after the first `from` in it is replaced by `to`. */
static void assert_broken(const char *from, const char *to)
{
    char *text = write_text(sample(true)), *other = calloc(2, TEXT_SIZE), *at = strstr(text, from);
    struct cost_calibration read;
    joule_error error;
    assert_non_null(other);
    if (!at)
        fail_msg("there is no %s", from);
    snprintf(other, (size_t)2 * TEXT_SIZE, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    if (parse(other, &read, &error) != JOULE_INVALID)
        fail_msg("%s instead of %s was taken", to, from);
    assert_true(strstr(error.message, "it: ") == error.message ||
                strstr(error.message, "it:") == error.message);
    assert_true(isnan(read.speeds.per_cycle[COST_UOPS].value));
    free(other);
    free(text);
}

static void test_values_out_of_range_are_refused(void **state)
{
    (void)state;
    static const char *const changes[][2] = {
        {"joule-calibration-1", "joule-calibration-9"},
        {"\"schema\"", "\"Schema\""},
        {"\"log_sd\":0.125", "\"log_sd\":0"},
        {"\"log_sd\":0.125", "\"log_sd\":1.5"},
        {"\"log_sd\":0.125", "\"log_sd\":\"0.125\""},
        {"\"log_sd\":0.125", "\"log_sd\":1e999"},
        {"\"hz\":{\"value\":2500000000", "\"hz\":{\"value\":0"},
        {"\"hz\":{\"value\":2500000000", "\"hz\":{\"value\":25000000000000"},
        {"\"value\":5,\"low\":4.5", "\"value\":5,\"low\":5.5"}, /* the interval does not contain the value */
        {"\"value\":5,\"low\":4.5", "\"value\":5,\"Low\":4.5"},
        {"\"uops\":{", "\"uopz\":{"},
        {"\"uops\":{", "\"int_ops\":{"}, /* a name occurs twice */
        {"\"uops\":{\"value\":", "\"uops\":{\"value\":-"},
        {"\"energy\":{", "\"energi\":{"},
        {"\"class\":\"measured\"", "\"class\":\"modelled\""},
        {"\"source\":\"rapl_perf\"",
         "\"source\":\"a word that is far too long to be the name of any source at all\""},
        {"\"stepping\":4", "\"stepping\":-4"},
        {"\"virtual\":false", "\"virtual\":0"},
        {"\"unix_seconds\":1763800000", "\"unix_seconds\":null"},
        {"\"joules\":{", "\"joules\":[],\"x\":{"},
        {"{", "{{"},
        {"{", "["},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        assert_broken(changes[i][0], changes[i][1]);
}

static void test_a_text_that_ends_early(void **state)
{
    (void)state;
    char *text = write_text(sample(true));
    struct cost_calibration read;
    for (size_t length = strlen(text) - 2; length < TEXT_SIZE; length -= 97) {
        text[length] = '\0';
        assert_int_equal(parse(text, &read, NULL), JOULE_INVALID);
    }
    free(text);
}

/* --- on a machine --------------------------------------------------------------------------------------- */

struct found {
    struct joule_host *host;
    struct cpu_calibration found;
};

static int set_up(void **state)
{
    static struct found f;
    f.host = host_script_open();
    *state = &f;
    return f.host && host_script_text(f.host, "/proc/cpuinfo", cpuinfo) &&
                   host_script_env(f.host, "HOME", "/home/ada")
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    struct found *f = *state;
    f->host->ops->close(f->host);
    return 0;
}

/* Writes a calibration that is `days` days old. */
static void put(struct found *f, const char *path, double days, unsigned stepping)
{
    struct calibrated *c = sample(false);
    c->calibration.unix_seconds =
        f->host->ops->clock_ns(f->host, CLOCK_REALTIME) / 1000000000 - (int64_t)(days * DAY);
    c->calibration.stepping = stepping;
    if (c->calibration.unix_seconds < 0) /* the date of the calibration would be before 1970 */
        host_script_suspend(f->host, (int64_t)(2 * days * DAY) * 1000000000),
            c->calibration.unix_seconds += (int64_t)(2 * days * DAY);
    char *text = write_text(c);
    assert_true(host_script_text(f->host, path, text));
    free(text);
}

static enum calibration_state load(struct found *f)
{
    cpu_calibration_find(f->host, &cpu, &f->found);
    return f->found.state;
}

static void test_missing_file_is_no_calibration(void **state)
{
    struct found *f = *state;
    assert_int_equal(load(f), CALIBRATION_NONE);
    assert_false(cpu_calibration_is_used(&f->found));
}

static void test_users_calibration_precedes_the_systems(void **state)
{
    struct found *f = *state;
    put(f, CALIBRATION_SYSTEM_PATH, 1, 4);
    assert_int_equal(load(f), CALIBRATION_GOOD);
    assert_string_equal(f->found.path, CALIBRATION_SYSTEM_PATH);
    put(f, "/home/ada/.config/joule/calibration.json", 0.5, 4);
    assert_int_equal(load(f), CALIBRATION_GOOD);
    assert_string_equal(f->found.path, "/home/ada/.config/joule/calibration.json");
    assert_true(fabs(f->found.age_days - 0.5) < 0.01);
    host_script_env(f->host, "XDG_CONFIG_HOME", "/etc/ada");
    assert_int_equal(load(f), CALIBRATION_GOOD);
    assert_string_equal(f->found.path, CALIBRATION_SYSTEM_PATH);
    host_script_env(f->host, "XDG_CONFIG_HOME", "relative"); /* a relative path counts as not set */
    load(f);
    assert_string_equal(f->found.path, "/home/ada/.config/joule/calibration.json");
}

static void test_old_foreign_and_broken(void **state)
{
    struct found *f = *state;
    const char *own = "/home/ada/.config/joule/calibration.json";
    put(f, own, 200, 4);
    assert_int_equal(load(f), CALIBRATION_OLD);
    assert_true(cpu_calibration_is_used(&f->found) && f->found.age_days > 199);
    put(f, own, 1, 7);
    assert_int_equal(load(f), CALIBRATION_FOREIGN);
    assert_false(cpu_calibration_is_used(&f->found));
    host_script_text(f->host, own, "{\"schema\":");
    assert_int_equal(load(f), CALIBRATION_BROKEN);
    assert_contains(f->found.error.message, own);
    host_script_error(f->host, own, EACCES);
    assert_int_equal(load(f), CALIBRATION_BROKEN);
    put(f, CALIBRATION_SYSTEM_PATH, 1, 4);
    /* the user's file is ignored, and the system's file is used */
    assert_int_equal(load(f), CALIBRATION_GOOD);
    assert_string_equal(f->found.path, CALIBRATION_SYSTEM_PATH);
}

/* --- in use --------------------------------------------------------------------------------------------- */

static void test_times_without_joules_keep_the_prices(void **state)
{
    (void)state;
    struct cost_core core, seed;
    struct cost_table table, guessed;
    const struct cost_calibration *c = &sample(false)->calibration;
    cost_core_describe(&cpu, NAN, &seed);
    cost_core_table(&cpu, &guessed);
    core = seed;
    table = guessed;
    cost_calibration_apply(c, &core, &table);
    assert_int_equal(seed.cls, JOULE_CLASS_ASSUMED);
    assert_int_equal(core.cls, JOULE_CLASS_DERIVED);
    assert_true(fabs(core.hz - 2.5e9) < 1 && fabs(core.log_sd - 0.125) < 1e-12);
    assert_true(fabs(core.latency[COST_INT_MULS] - (1 + COST_INT_MULS)) < 1e-12);
    /* this feature was not measured */
    assert_true(fabs(core.per_cycle[COST_SIMD_512] - seed.per_cycle[COST_SIMD_512]) < 1e-12);
    assert_memory_equal(core.cache_bytes, seed.cache_bytes, sizeof core.cache_bytes);
    assert_memory_equal(&table, &guessed, sizeof table);
}

static void test_joules_as_well(void **state)
{
    (void)state;
    struct cost_core core;
    struct cost_table table;
    struct cost_features work = {.version = COST_VERSION, .amount = {[COST_UOPS] = 1000}};
    const struct cost_calibration *c = &sample(true)->calibration;
    cost_core_describe(&cpu, NAN, &core);
    cost_core_table(&cpu, &table);
    cost_calibration_apply(c, &core, &table);
    assert_int_equal(table.cls, JOULE_CLASS_DERIVED);
    assert_string_equal(table.id, "calibrated/skylake-server 2025-11-22");
    assert_true(fabs(table.joules[COST_UOPS] / 1e-10 - (COST_UOPS + 1)) < 1e-9);
    struct estimate total = cost_of(&table, &work).total;
    assert_true(fabs(estimate_sd(&total) / total.value - hypot(0.14, 0.05)) < 1e-6);
    work.amount[COST_SIMD_512] = 1; /* this feature was not measured, so its price is unknown */
    assert_true(isnan(cost_joules(&table, &work)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_calibration_reads_back),
        cmocka_unit_test(test_values_out_of_range_are_refused),
        cmocka_unit_test(test_a_text_that_ends_early),
        cmocka_unit_test_setup_teardown(test_missing_file_is_no_calibration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_users_calibration_precedes_the_systems, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_foreign_and_broken, set_up, tear_down),
        cmocka_unit_test(test_times_without_joules_keep_the_prices),
        cmocka_unit_test(test_joules_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
