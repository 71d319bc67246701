/* Tests meters on scripted machines: which domains form a total, which totals are partial, and that no energy
 * is counted twice. */
#include <errno.h>
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
#include "support/check.h"

#define MS       1000000LL
#define POWERCAP "/sys/class/powercap/"

/* A reading shows the count of the last tick, which was on average half a millisecond ago. */
#define LATE_S 0.6e-3

/* A counter in microjoules that rises at *watts. */
static ssize_t counter_uj(void *watts, int64_t time_ns, char *buffer, size_t size)
{
    double joules = 1000 + *(double *)watts * (double)time_ns * 1e-9;
    return snprintf(buffer, size, "%lld\n", (long long)(joules * 1e6));
}

static void add_zone(struct joule_host *host, const char *zone, const char *name, double *watts)
{
    char path[200], text[64];
    snprintf(path, sizeof path, POWERCAP "%s/name", zone);
    snprintf(text, sizeof text, "%s\n", name);
    host_script_text(host, path, text);
    snprintf(path, sizeof path, POWERCAP "%s/max_energy_range_uj", zone);
    host_script_text(host, path, "262143328850\n");
    snprintf(path, sizeof path, POWERCAP "%s/energy_uj", zone);
    if (watts)
        host_script_file(host, path, counter_uj, watts);
    else
        host_script_error(host, path, EACCES);
}

static struct joule_host *make_host(void)
{
    struct joule_host *host = host_script_open();
    host_script_set_time(host, 1000 * MS);
    return host;
}

static joule_meter *open_meter(struct joule_host *host, const char *sources)
{
    joule_options options = {.struct_size = sizeof options, .sources = sources};
    joule_meter *meter = NULL;
    joule_error error = {0};
    assert_ok(meter_open_on(host, true, &options, &meter, &error), &error);
    return meter;
}

static void pass(joule_meter *meter, struct joule_host *host, int from_ms, int to_ms)
{
    for (int ms = from_ms; ms <= to_ms; ms += 100) {
        host_script_set_time(host, 1000 * MS + ms * MS);
        meter_tick(meter);
    }
}

static int32_t id_of(joule_meter *meter, const char *name)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        joule_domain domain = {.struct_size = sizeof domain};
        joule_domain_get(meter, i, &domain);
        if (strcmp(domain.name, name) == 0)
            return domain.id;
    }
    fail_msg("no domain is named %s", name);
    return -1;
}

static void test_a_package_is_counted_once_and_has_a_rest(void **state)
{
    (void)state;
    double package = 100, core = 60, uncore = 5;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-0", &package);
    add_zone(host, "intel-rapl:0:0", "core", &core);
    add_zone(host, "intel-rapl:0:1", "uncore", &uncore);
    add_zone(host, "intel-rapl-mmio:0", "package-0", &package);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    pass(meter, host, 100, 1000);
    joule_quantity joules;
    assert_int_equal(joule_energy_joules(meter, JOULE_TOTAL, &joules), JOULE_OK);
    assert_near(joules.value, 100, LATE_S * 100);
    assert_int_equal(joules.cls, JOULE_CLASS_MEASURED);
    assert_int_equal(joule_rest_joules(meter, id_of(meter, "package-0"), &joules), JOULE_OK);
    assert_near(joules.value, 35, 0.01);
    assert_int_equal(joule_rest_joules(meter, id_of(meter, "core-0"), &joules), JOULE_ABSENT);
    joule_quantity watts;
    assert_int_equal(joule_power_watts(meter, JOULE_TOTAL, &watts), JOULE_OK);
    assert_near(watts.value, 100, 0.1);
    joule_close(meter);
}

/* The power alternates between 90 W and 10 W, each for a quarter of a second. */
static ssize_t square_uj(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    int64_t half_ns = 250 * MS, turns = time_ns / half_ns, left_ns = time_ns % half_ns;
    double joules = 25.0 * (double)(turns / 2) + (turns % 2 ? 22.5 : 0);
    joules += (turns % 2 ? 10 : 90) * (double)left_ns * 1e-9;
    return snprintf(buffer, size, "%lld\n", (long long)(joules * 1e6));
}

static void test_energy_since_the_opening_never_falls(void **state)
{
    (void)state;
    double watts = 30, before = 0;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-0", &watts);
    add_zone(host, "intel-rapl:0:0", "dram", &watts);
    host_script_file(host, POWERCAP "intel-rapl:0/energy_uj", square_uj, NULL);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    for (int ms = 1; ms <= 5000; ms++) {
        joule_quantity total;
        host_script_set_time(host, 1000 * MS + ms * MS);
        if (ms % 100 == 0)
            meter_tick(meter);
        if (joule_energy_joules(meter, JOULE_TOTAL, &total) != JOULE_OK)
            continue;
        if (total.value < before)
            fail_msg("after %d ms %.9g J, less than %.9g J", ms, total.value, before);
        before = total.value;
    }
    assert_near(before, 5 * (50 + 30), 0.1);
    joule_close(meter);
}

static void test_dram_is_beside_the_package_and_psys_is_not_added(void **state)
{
    (void)state;
    double package = 80, dram = 12, psys = 150;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-0", &package);
    add_zone(host, "intel-rapl:0:0", "dram", &dram);
    add_zone(host, "intel-rapl:1", "psys", &psys);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    pass(meter, host, 100, 2000);
    joule_quantity joules;
    joule_energy_joules(meter, JOULE_TOTAL, &joules);
    assert_near(joules.value, 2 * 92, LATE_S * 92);
    struct cover cover;
    char name[100];
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter), &cover);
    meter_cover_name(meter, &cover, name, sizeof name);
    assert_string_equal(name, "package-0 + dram-0");
    assert_false(cover.is_partial);
    joule_close(meter);
}

static void test_a_total_lists_its_domains_in_their_order_not_as_they_were_found(void **state)
{
    (void)state;
    double watts = 80;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-1", &watts);
    add_zone(host, "intel-rapl:0:0", "dram", &watts);
    add_zone(host, "intel-rapl:1", "package-0", &watts);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    pass(meter, host, 100, 200);
    struct cover cover;
    char name[100];
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter), &cover);
    meter_cover_name(meter, &cover, name, sizeof name);
    assert_string_equal(name, "package-0 + package-1 + dram-1");
    joule_close(meter);
}

static void test_an_unreadable_domain_makes_the_total_partial(void **state)
{
    (void)state;
    double package = 80;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-0", &package);
    add_zone(host, "intel-rapl:1", "package-1", NULL);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    pass(meter, host, 100, 1000);
    struct cover cover;
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter), &cover);
    assert_true(cover.is_partial);
    joule_quantity joules;
    joule_energy_joules(meter, JOULE_TOTAL, &joules);
    assert_near(joules.value, 80, LATE_S * 80);
    joule_close(meter);
}

static void test_a_counter_that_never_moves_is_unknown_not_zero(void **state)
{
    (void)state;
    double package = 0;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-0", &package);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    pass(meter, host, 100, 5000);
    joule_quantity joules;
    assert_int_equal(joule_energy_joules(meter, JOULE_TOTAL, &joules), JOULE_PENDING);
    assert_true(isnan(joules.value));
    joule_close(meter);
}

static void test_a_suspend_is_a_gap(void **state)
{
    (void)state;
    double package = 50;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-0", &package);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    pass(meter, host, 100, 1000);
    package = 51; /* the counter continued while the measurement clock stood still */
    host_script_suspend(host, 3600 * 1000 * MS);
    pass(meter, host, 1100, 2000);
    struct window w = meter_window(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter));
    /* only the round in which the suspend occurred is a gap */
    assert_near(w.length_s - w.covered_s, 0.1, 0.002);
    assert_near(w.joules.value / w.covered_s, 50.5, 0.6);
    joule_quantity joules;
    double coverage = NAN;
    int64_t inside = 1000 * MS + 1030 * MS;
    /* the status is not JOULE_PENDING, because no later reading can fill the gap */
    assert_int_equal(joule_window_joules(meter, JOULE_TOTAL, inside, inside + 40 * MS, &joules, &coverage),
                     JOULE_ABSENT);
    assert_true(isnan(joules.value) && coverage == 0);
    joule_close(meter);
}

static void test_any_split_of_a_window_sums_to_it(void **state)
{
    (void)state;
    double package = 70, dram = 9;
    struct joule_host *host = make_host();
    add_zone(host, "intel-rapl:0", "package-0", &package);
    add_zone(host, "intel-rapl:0:0", "dram", &dram);
    joule_meter *meter = open_meter(host, "rapl_powercap");
    pass(meter, host, 100, 3000);
    struct cover cover;
    int64_t begin = meter->begin_ns, end = meter_now_ns(meter);
    meter_cover(meter, JOULE_TOTAL, begin, end, &cover);
    double sum = 0;
    for (int i = 0; i < 17; i++)
        sum += meter_cover_window(meter, &cover, begin + (end - begin) * i / 17,
                                  begin + (end - begin) * (i + 1) / 17)
                   .joules.value;
    double whole = meter_cover_window(meter, &cover, begin, end).joules.value;
    assert_near(sum, whole, 1e-9 * whole);
    joule_close(meter);
}

static void test_wrong_options_get_a_hint(void **state)
{
    (void)state;
    joule_meter *meter;
    joule_error error = {0};
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_perf,nosuch"};
    assert_int_equal(joule_open(&options, &meter, &error), JOULE_INVALID);
    assert_contains(error.message, "nosuch");
    options = (joule_options){.struct_size = sizeof options, .period_s = 1e-6};
    assert_int_equal(joule_open(&options, &meter, &error), JOULE_INVALID);
    options = (joule_options){.struct_size = 3};
    assert_int_equal(joule_open(&options, &meter, &error), JOULE_INVALID);
    options = (joule_options){.struct_size = sizeof options, .root = "/nowhere"};
    assert_int_equal(joule_open(&options, &meter, &error), JOULE_ABSENT);
    joule_close(NULL);
}

static void test_open_and_close_on_the_real_machine(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        joule_meter *meter = NULL;
        assert_int_equal(joule_open(NULL, &meter, NULL), JOULE_OK);
        assert_int_equal(joule_sample_now(meter), JOULE_OK);
        joule_close(meter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_package_is_counted_once_and_has_a_rest),
        cmocka_unit_test(test_energy_since_the_opening_never_falls),
        cmocka_unit_test(test_dram_is_beside_the_package_and_psys_is_not_added),
        cmocka_unit_test(test_a_total_lists_its_domains_in_their_order_not_as_they_were_found),
        cmocka_unit_test(test_an_unreadable_domain_makes_the_total_partial),
        cmocka_unit_test(test_a_counter_that_never_moves_is_unknown_not_zero),
        cmocka_unit_test(test_a_suspend_is_a_gap),
        cmocka_unit_test(test_any_split_of_a_window_sums_to_it),
        cmocka_unit_test(test_wrong_options_get_a_hint),
        cmocka_unit_test(test_open_and_close_on_the_real_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
