/* Powercap zones: their names, refused ones, and correct energies. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/machine.h"
#include "support/ramp.h"
#include "support/test_data.h"
#include "support/ttar.h"

#define CLASS "/sys/class/powercap/"

struct rig {
    struct joule_host *host;
    joule_meter *meter;
};

static int set_up(void **state)
{
    static struct rig rig;
    rig = (struct rig){0};
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    joule_close(rig->meter);
    if (rig->host)
        rig->host->ops->close(rig->host);
    return 0;
}

static void open_on(struct rig *rig, struct joule_host *host)
{
    assert_non_null(host);
    rig->host = host;
    rig->meter = machine_open(host, "rapl_powercap");
}

static const struct channel *channel(struct rig *rig, const char *name)
{
    const struct channel *ch = machine_channel(rig->meter, name);
    if (!ch)
        fail_msg("no domain is called %s", name);
    return ch;
}

static double absolute_joules(struct rig *rig, const char *name)
{
    const struct channel *ch = channel(rig, name);
    assert_true(ch->counter.primed);
    return (double)ch->counter.last_raw * ch->counter.unit_joules;
}

/* Adds a zone to a scripted machine; `energy` NULL: constant 1 J. */
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

static void check_exporter_values(struct rig *rig)
{
    assert_true(fabs(absolute_joules(rig, "package-0") - 240422.366267) < 1e-6);
    assert_true(fabs(absolute_joules(rig, "core-0") - 118821.284256) < 1e-6);
    assert_string_equal(channel(rig, "core-0")->parent_zone, "cpu0/package");
    assert_true(channel(rig, "package-0")->rank == RANK_POWERCAP);
}

static void test_node_exporter(void **state)
{
    const char *path = test_data("fixtures/node_exporter/sys.ttar.gz");
    if (!path)
        skip();
    struct rig *rig = *state;
    open_on(rig, ttar_load(path));
    check_exporter_values(rig);
    assert_int_equal(joule_domain_count(rig->meter), 2);
}

/* The same zones, a hexadecimal one, and an mmio duplicate of package-0 that must not be shown. */
static void test_kepler(void **state)
{
    const char *path = test_data("fixtures/kepler");
    if (!path)
        skip();
    struct rig *rig = *state;
    open_on(rig, host_tree_open(path));
    check_exporter_values(rig);
    assert_int_equal(joule_domain_count(rig->meter), 3);
    assert_true(fabs(absolute_joules(rig, "package-10") - 240422.366267) < 1e-6);
    assert_string_equal(channel(rig, "package-10")->zone, "cpu10/package");
}

static void test_core_zone_of_an_epyc_is_one_core(void **state)
{
    struct rig *rig = *state;
    open_on(rig, host_tree_open(machine_fixture("amd-epyc")));
    assert_int_equal(joule_domain_count(rig->meter), 2);
    assert_true(fabs(absolute_joules(rig, "package-0") - 40422.366267) < 1e-6);
    assert_true(fabs(absolute_joules(rig, "package-1") - 40422.366268) < 1e-6);
    assert_null(machine_channel(rig->meter, "core-0"));
    assert_string_equal(channel(rig, "package-1")->info.device, "cpu:1");
    assert_string_equal(channel(rig, "package-0")->info.vendor, "amd");
    assert_string_equal(channel(rig, "package-0")->info.model, "EPYC 7763 64-Core");
    /* 2^32 units of 15.258 uJ; the file has 2^32 - 1 units. */
    assert_true(channel(rig, "package-0")->counter.modulus == UINT64_C(65532610987) + 15);
}

static void test_denied_zones_are_shown_with_a_remedy(void **state)
{
    static const char *const names[] = {"package-0", "core-0", "uncore-0", "psys"};
    struct rig *rig = *state;
    open_on(rig, host_tree_open(machine_fixture("intel-client-denied")));
    assert_int_equal(joule_domain_count(rig->meter), 4); /* the mmio duplicate would be denied, too */
    for (size_t i = 0; i < 4; i++) {
        const joule_domain *info = &channel(rig, names[i])->info;
        assert_int_equal(info->state, JOULE_DENIED);
        assert_non_null(strstr(info->remedy, "chmod"));
    }
    assert_string_equal(channel(rig, "package-0")->parent_zone, "psys");
    assert_string_equal(channel(rig, "psys")->parent_zone, "");
    assert_int_equal(rig->meter->lanes[0]->sources[0]->state, JOULE_DENIED);
    joule_quantity total;
    assert_int_not_equal(joule_energy_joules(rig->meter, JOULE_TOTAL, &total), JOULE_OK);
    assert_true(isnan(total.value));
}

static void test_masked_zones_are_denied_not_absent(void **state)
{
    struct rig *rig = *state;
    open_on(rig, host_tree_open(machine_fixture("intel-masked")));
    assert_int_equal(rig->meter->lanes[0]->sources[0]->state, JOULE_DENIED);
    assert_int_equal(joule_domain_count(rig->meter), 1);
    const joule_domain *info = &channel(rig, "package-0")->info;
    assert_int_equal(info->state, JOULE_DENIED);
    assert_non_null(strstr(info->remedy, "container"));
}

static void test_hexadecimal_zones_and_dies(void **state)
{
    struct rig *rig = *state;
    open_on(rig, host_tree_open(machine_fixture("hex-zones")));
    assert_int_equal(joule_domain_count(rig->meter), 5);
    assert_string_equal(channel(rig, "package-0-die-0")->zone, "cpu0.0/package");
    assert_string_equal(channel(rig, "package-0-die-1")->zone, "cpu0.1/package");
    assert_string_equal(channel(rig, "dram-0-die-1")->zone, "cpu0.1/dram");
    assert_string_equal(channel(rig, "dram-0-die-1")->parent_zone, ""); /* memory is not part of a package */
    assert_true(fabs(absolute_joules(rig, "dram-10") - 5) < 1e-9);
    assert_string_equal(channel(rig, "dram-10")->info.device, "memory:10");
}

/* --- scripted machines ---------------------------------------------------------------------------------- */

static void test_no_zones(void **state)
{
    struct rig *rig = *state;
    open_on(rig, host_script_open());
    assert_int_equal(joule_domain_count(rig->meter), 0);
    assert_int_equal(rig->meter->lanes[0]->sources[0]->state, JOULE_ABSENT);
    assert_non_null(strstr(rig->meter->lanes[0]->sources[0]->remedy, "modprobe"));
}

static void test_mmio_zone_counts_where_it_is_alone(void **state)
{
    struct rig *rig = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl-mmio:0", "package-0", NULL);
    open_on(rig, host);
    assert_int_equal(joule_domain_count(rig->meter), 1);
    assert_true(channel(rig, "package-0")->rank == RANK_POWERCAP_MMIO);
    assert_int_equal(channel(rig, "package-0")->info.state, JOULE_OK);
}

static void test_mmio_zone_counts_where_the_other_is_denied(void **state)
{
    struct rig *rig = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl-mmio:0", "package-0", NULL);
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    host_script_error(host, CLASS "intel-rapl:0/energy_uj", EACCES);
    open_on(rig, host);
    assert_int_equal(joule_domain_count(rig->meter), 2);
    assert_int_equal(channel(rig, "package-0")->info.state, JOULE_OK);
    assert_int_equal(channel(rig, "package-0@rapl_powercap")->info.state, JOULE_DENIED);
}

static void test_wrap_at_the_range_of_the_zone(void **state)
{
    struct rig *rig = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "262143000000\n");
    open_on(rig, host);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "1000000\n");
    machine_run(rig->meter, 0.1, 0.1);
    const struct counter *counter = &channel(rig, "package-0")->counter;
    assert_int_equal(counter->wraps, 1);
    assert_true(fabs((double)counter->total * counter->unit_joules - 1.32885) <
                62e-6); /* one unit of 61 uJ */
}

static void test_hour_of_500_watts_wraps_often(void **state)
{
    struct rig *rig = *state;
    struct joule_host *host = host_script_open();
    struct ramp ramp = {.watts = 500, .unit_joules = 1e-6, .modulus = UINT64_C(65532610987) + 15};
    add_zone(host, "intel-rapl:0", "package-0", &ramp);
    host_script_text(host, CLASS "intel-rapl:0/max_energy_range_uj", "65532610987\n");
    open_on(rig, host);
    machine_run(rig->meter, 3600, 1);
    assert_int_equal(channel(rig, "package-0")->counter.wraps, 27);
    assert_true(fabs(machine_mean_watts(rig->meter, JOULE_TOTAL) - 500) < 0.5);
}

/* Without a range, a step back may be a wrap or a reset: the interval is dropped, not guessed. */
static void test_no_range_means_no_wrap(void **state)
{
    struct rig *rig = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    host_script_text(host, CLASS "intel-rapl:0/max_energy_range_uj", "0\n");
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "262143000000\n");
    open_on(rig, host);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", "1000000\n");
    machine_run(rig->meter, 0.1, 0.1);
    assert_int_equal(channel(rig, "package-0")->counter.resets, 1);
    assert_int_equal(channel(rig, "package-0")->counter.total, 0);
}

/* Package 100, core 60, uncore 5, memory 7: the total is 107, and 35 of the package is neither core nor
 * uncore. */
static void test_parts_are_not_counted_again(void **state)
{
    struct rig *rig = *state;
    struct joule_host *host = host_script_open();
    struct ramp package = {.watts = 100, .unit_joules = 1e-6}, core = {.watts = 60, .unit_joules = 1e-6},
                uncore = {.watts = 5, .unit_joules = 1e-6}, dram = {.watts = 7, .unit_joules = 1e-6};
    add_zone(host, "intel-rapl:0", "package-0", &package);
    add_zone(host, "intel-rapl:0:0", "core", &core);
    add_zone(host, "intel-rapl:0:1", "uncore", &uncore);
    add_zone(host, "intel-rapl:0:2", "dram", &dram);
    open_on(rig, host);
    machine_run(rig->meter, 10, 0.1);
    assert_true(fabs(machine_mean_watts(rig->meter, JOULE_TOTAL) - 107) < 0.2);
    double rest = machine_mean_watts(rig->meter, channel(rig, "package-0")->info.id) -
                  machine_mean_watts(rig->meter, channel(rig, "core-0")->info.id) -
                  machine_mean_watts(rig->meter, channel(rig, "uncore-0")->info.id);
    assert_true(fabs(rest - 35) < 0.2);
}

static void test_zone_without_counter_and_garbage(void **state)
{
    struct rig *rig = *state;
    struct joule_host *host = host_script_open();
    add_zone(host, "intel-rapl:0", "package-0", NULL);
    add_zone(host, "intel-rapl:1", "package-1", NULL);
    add_zone(host, "intel-rapl:2", "package-2", NULL);
    add_zone(host, "intel-rapl:3", "package-3trailing", NULL);
    add_zone(host, "intel-rapl:4", "core", NULL); /* its package does not exist */
    add_zone(host, "intel-rapl:5:0", "core", NULL);
    host_script_text(host, CLASS "intel-rapl:0/energy_uj", NULL);
    host_script_error(host, CLASS "intel-rapl:1/energy_uj", EIO);
    host_script_text(host, CLASS "intel-rapl:2/energy_uj", "12 monkeys\n");
    open_on(rig, host);
    assert_int_equal(joule_domain_count(rig->meter), 3);
    assert_int_equal(channel(rig, "package-0")->info.state, JOULE_UNSUPPORTED);
    assert_int_equal(channel(rig, "package-1")->info.state, JOULE_FAILED);
    assert_int_equal(channel(rig, "package-2")->info.state, JOULE_FAILED);
    host_script_text(host, CLASS "intel-rapl:2/energy_uj", "12\n"); /* it can be read again */
    machine_run(rig->meter, 0.1, 0.1);
    assert_int_equal(channel(rig, "package-2")->info.state, JOULE_OK);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_node_exporter),
        TEST(test_kepler),
        TEST(test_core_zone_of_an_epyc_is_one_core),
        TEST(test_denied_zones_are_shown_with_a_remedy),
        TEST(test_masked_zones_are_denied_not_absent),
        TEST(test_hexadecimal_zones_and_dies),
        TEST(test_no_zones),
        TEST(test_mmio_zone_counts_where_it_is_alone),
        TEST(test_mmio_zone_counts_where_the_other_is_denied),
        TEST(test_wrap_at_the_range_of_the_zone),
        TEST(test_hour_of_500_watts_wraps_often),
        TEST(test_no_range_means_no_wrap),
        TEST(test_parts_are_not_counted_again),
        TEST(test_zone_without_counter_and_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
