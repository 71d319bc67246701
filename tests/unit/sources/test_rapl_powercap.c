/* Tests powercap zones: their names, refused zones, and energies across wraps. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/machine.h"
#include "support/ramp.h"
#include "support/test_data.h"
#include "support/ttar.h"

#define CLASS "/sys/class/powercap/"

static void open_on(struct machine_bench *bench, struct joule_host *host)
{
    assert_non_null(host);
    bench->host->ops->close(bench->host);
    bench->host = host;
    bench->meter = machine_open(host, "rapl_powercap");
}

static double absolute_joules(struct machine_bench *bench, const char *name)
{
    const struct channel *ch = machine_require_channel(bench->meter, name);
    assert_true(ch->counter.primed);
    return (double)ch->counter.last_raw * ch->counter.unit_joules;
}

/* Adds a zone to a scripted machine. `energy` NULL means a constant count of 1 J. */
static void add_zone(struct joule_host *host, const char *id, const char *name, struct ramp *energy)
{
    char path[128];
    snprintf(path, sizeof path, CLASS "%s/name", id);
    host_script_text(host, path, name);
    snprintf(path, sizeof path, CLASS "%s/max_energy_range_uj", id);
    host_script_text(host, path, "262143328850\n");
    snprintf(path, sizeof path, CLASS "%s/energy_uj", id);
    if (energy)
        host_script_file(host, path, ramp_text, energy);
    else
        host_script_text(host, path, "1000000\n");
}

/* --- recorded machines ---------------------------------------------------------------------------------- */

static void check_exporter_values(struct machine_bench *bench)
{
    assert_true(fabs(absolute_joules(bench, "package-0") - 240422.366267) < 1e-6);
    assert_true(fabs(absolute_joules(bench, "core-0") - 118821.284256) < 1e-6);
    assert_string_equal(machine_require_channel(bench->meter, "core-0")->parent_zone, "cpu0/package");
    assert_true(machine_require_channel(bench->meter, "package-0")->rank == RANK_POWERCAP);
}

static void test_zones_of_node_exporter_are_read(void **state)
{
    const char *path = test_data("fixtures/node_exporter/sys.ttar.gz");
    if (!path)
        skip();
    struct machine_bench *bench = *state;
    open_on(bench, ttar_load(path));
    check_exporter_values(bench);
    assert_int_equal(joule_domain_count(bench->meter), 2);
}

/* The recording has the zones of the previous test, a zone with a hexadecimal number, and an mmio duplicate
 * of package-0. The duplicate must not be listed. */
static void test_duplicate_zones_of_kepler_are_hidden(void **state)
{
    const char *path = test_data("fixtures/kepler");
    if (!path)
        skip();
    struct machine_bench *bench = *state;
    open_on(bench, host_tree_open(path));
    check_exporter_values(bench);
    assert_int_equal(joule_domain_count(bench->meter), 3);
    assert_true(fabs(absolute_joules(bench, "package-10") - 240422.366267) < 1e-6);
    assert_string_equal(machine_require_channel(bench->meter, "package-10")->zone, "cpu10/package");
}

static void test_core_zone_of_an_epyc_is_one_core(void **state)
{
    struct machine_bench *bench = *state;
    open_on(bench, host_tree_open(machine_fixture("amd-epyc")));
    assert_int_equal(joule_domain_count(bench->meter), 2);
    assert_true(fabs(absolute_joules(bench, "package-0") - 40422.366267) < 1e-6);
    assert_true(fabs(absolute_joules(bench, "package-1") - 40422.366268) < 1e-6);
    assert_null(machine_channel(bench->meter, "core-0"));
    assert_string_equal(machine_require_channel(bench->meter, "package-1")->info.device, "cpu:1");
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->info.vendor, "amd");
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->info.model, "EPYC 7763 64-Core");
    /* The file max_energy_range_uj gives the largest count. The modulus is larger by one count, which is
     * 15.258 uJ. */
    assert_true(machine_require_channel(bench->meter, "package-0")->counter.modulus ==
                UINT64_C(65532610987) + 15);
}

static void test_denied_zones_are_shown_with_a_remedy(void **state)
{
    static const char *const names[] = {"package-0", "core-0", "uncore-0", "psys"};
    struct machine_bench *bench = *state;
    open_on(bench, host_tree_open(machine_fixture("intel-client-denied")));
    /* the mmio duplicate, which is denied too, is not listed */
    assert_int_equal(joule_domain_count(bench->meter), 4);
    for (size_t i = 0; i < 4; i++) {
        const joule_domain *info = &machine_require_channel(bench->meter, names[i])->info;
        assert_int_equal(info->state, JOULE_DENIED);
        assert_contains(info->remedy, "chmod");
    }
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->parent_zone, "psys");
    assert_string_equal(machine_require_channel(bench->meter, "psys")->parent_zone, "");
    assert_int_equal(machine_source(bench->meter, "rapl_powercap")->state, JOULE_DENIED);
    joule_quantity total;
    assert_int_not_equal(joule_energy_joules(bench->meter, JOULE_TOTAL, &total), JOULE_OK);
    assert_true(isnan(total.value));
}

static void test_masked_zones_are_denied_not_absent(void **state)
{
    struct machine_bench *bench = *state;
    open_on(bench, host_tree_open(machine_fixture("intel-masked")));
    assert_int_equal(machine_source(bench->meter, "rapl_powercap")->state, JOULE_DENIED);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    const joule_domain *info = &machine_require_channel(bench->meter, "package-0")->info;
    assert_int_equal(info->state, JOULE_DENIED);
    assert_contains(info->remedy, "container");
}

static void test_hexadecimal_zones_and_dies(void **state)
{
    struct machine_bench *bench = *state;
    open_on(bench, host_tree_open(machine_fixture("hex-zones")));
    assert_int_equal(joule_domain_count(bench->meter), 5);
    assert_string_equal(machine_require_channel(bench->meter, "package-0-die-0")->zone, "cpu0.0/package");
    assert_string_equal(machine_require_channel(bench->meter, "package-0-die-1")->zone, "cpu0.1/package");
    assert_string_equal(machine_require_channel(bench->meter, "dram-0-die-1")->zone, "cpu0.1/dram");
    /* memory is not part of a package */
    assert_string_equal(machine_require_channel(bench->meter, "dram-0-die-1")->parent_zone, "");
    assert_true(fabs(absolute_joules(bench, "dram-10") - 5) < 1e-9);
    assert_string_equal(machine_require_channel(bench->meter, "dram-10")->info.device, "memory:10");
}

/* --- scripted machines ---------------------------------------------------------------------------------- */

static void test_missing_zones_get_advice(void **state)
{
    struct machine_bench *bench = *state;
    open_on(bench, host_script_open());
    assert_int_equal(joule_domain_count(bench->meter), 0);
    assert_int_equal(machine_source(bench->meter, "rapl_powercap")->state, JOULE_ABSENT);
    assert_contains(machine_source(bench->meter, "rapl_powercap")->remedy, "modprobe");
}

static void test_mmio_zone_counts_where_it_is_alone(void **state)
{
    struct machine_bench *bench = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl-mmio:0", "package-0", NULL);
    open_on(bench, host);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_true(machine_require_channel(bench->meter, "package-0")->rank == RANK_POWERCAP_MMIO);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->info.state, JOULE_OK);
}

static void test_mmio_zone_counts_where_the_other_is_denied(void **state)
{
    struct machine_bench *bench = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl-mmio:0", "package-0", NULL);
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    host_script_error(host, CLASS "intel-rapl:0/energy_uj", EACCES);
    open_on(bench, host);
    assert_int_equal(joule_domain_count(bench->meter), 2);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->info.state, JOULE_OK);
    assert_int_equal(machine_require_channel(bench->meter, "package-0@rapl_powercap")->info.state,
                     JOULE_DENIED);
}

static void test_wrap_at_the_range_of_the_zone(void **state)
{
    struct machine_bench *bench = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "262143000000\n");
    open_on(bench, host);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "1000000\n");
    machine_run(bench->meter, 0.1, 0.1);
    const struct counter *counter = &machine_require_channel(bench->meter, "package-0")->counter;
    assert_int_equal(counter->wraps, 1);
    /* one count is 61 uJ */
    assert_true(fabs((double)counter->total * counter->unit_joules - 1.32885) < 62e-6);
}

static void test_hour_of_500_watts_wraps_often(void **state)
{
    struct machine_bench *bench = *state;
    struct joule_host *host = host_script_open();
    struct ramp ramp = {.watts = 500, .unit_joules = 1e-6, .modulus = UINT64_C(65532610987) + 15};
    add_zone(host, "intel-rapl:0", "package-0", &ramp);
    host_script_text(host, CLASS "intel-rapl:0/max_energy_range_uj", "65532610987\n");
    open_on(bench, host);
    machine_run(bench->meter, 3600, 1);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->counter.wraps, 27);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 500) < 0.5);
}

/* Without a range, a step back may be a wrap or a reset. The meter drops the interval and does not guess its
 * energy. */
static void test_no_range_means_no_wrap(void **state)
{
    struct machine_bench *bench = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    host_script_text(host, CLASS "intel-rapl:0/max_energy_range_uj", "0\n");
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "262143000000\n");
    open_on(bench, host);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "1000000\n");
    machine_run(bench->meter, 0.1, 0.1);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->counter.resets, 1);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->counter.total, 0);
}

/* The package draws 100 W, its cores 60 W, the uncore 5 W, memory 7 W. The total is 107 W. Of the package, 35
 * W belong neither to cores nor to uncore. */
static void test_parts_are_not_counted_again(void **state)
{
    struct machine_bench *bench = *state;
    struct joule_host *host = host_script_open();
    struct ramp package = {.watts = 100, .unit_joules = 1e-6}, core = {.watts = 60, .unit_joules = 1e-6},
                uncore = {.watts = 5, .unit_joules = 1e-6}, dram = {.watts = 7, .unit_joules = 1e-6};
    add_zone(host, "intel-rapl:0", "package-0", &package);
    add_zone(host, "intel-rapl:0:0", "core", &core);
    add_zone(host, "intel-rapl:0:1", "uncore", &uncore);
    add_zone(host, "intel-rapl:0:2", "dram", &dram);
    open_on(bench, host);
    machine_run(bench->meter, 10, 0.1);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 107) < 0.2);
    double rest = machine_watts(bench->meter, "package-0") - machine_watts(bench->meter, "core-0") -
                  machine_watts(bench->meter, "uncore-0");
    assert_true(fabs(rest - 35) < 0.2);
}

static void test_zones_without_valid_counter_are_left_out(void **state)
{
    struct machine_bench *bench = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    add_zone(host, "intel-rapl:1", "package-1", NULL);
    add_zone(host, "intel-rapl:2", "package-2", NULL);
    add_zone(host, "intel-rapl:3", "package-3trailing", NULL);
    add_zone(host, "intel-rapl:4", "core", NULL); /* the zone has no parent zone, so its package is unknown */
    add_zone(host, "intel-rapl:5:0", "core", NULL);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", NULL);
    host_script_error(host, CLASS "intel-rapl:1/energy_uj", EIO);
    host_script_text(host, CLASS "intel-rapl:2/energy_uj", "12 monkeys\n");
    open_on(bench, host);
    assert_int_equal(joule_domain_count(bench->meter), 3);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->info.state, JOULE_UNSUPPORTED);
    assert_int_equal(machine_require_channel(bench->meter, "package-1")->info.state, JOULE_FAILED);
    assert_int_equal(machine_require_channel(bench->meter, "package-2")->info.state, JOULE_FAILED);
    host_script_text(host, CLASS "intel-rapl:2/energy_uj", "12\n"); /* the file can be read again */
    machine_run(bench->meter, 0.1, 0.1);
    assert_int_equal(machine_require_channel(bench->meter, "package-2")->info.state, JOULE_OK);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, machine_setup, machine_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_zones_of_node_exporter_are_read),
        TEST(test_duplicate_zones_of_kepler_are_hidden),
        TEST(test_core_zone_of_an_epyc_is_one_core),
        TEST(test_denied_zones_are_shown_with_a_remedy),
        TEST(test_masked_zones_are_denied_not_absent),
        TEST(test_hexadecimal_zones_and_dies),
        TEST(test_missing_zones_get_advice),
        TEST(test_mmio_zone_counts_where_it_is_alone),
        TEST(test_mmio_zone_counts_where_the_other_is_denied),
        TEST(test_wrap_at_the_range_of_the_zone),
        TEST(test_hour_of_500_watts_wraps_often),
        TEST(test_no_range_means_no_wrap),
        TEST(test_parts_are_not_counted_again),
        TEST(test_zones_without_valid_counter_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
