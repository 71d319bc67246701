/* Tests monitors, batteries and gauges on machines that were recorded by others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/machine.h"
#include "support/test_data.h"
#include "support/ttar.h"

static void test_recorded_kepler_has_its_powers(void **state)
{
    (void)state;
    const char *root = test_data("fixtures/kepler");
    if (!root)
        skip();
    struct joule_host *host = machine_load(root);
    joule_meter *meter = machine_open(host, "hwmon");
    machine_run(meter, 3, 0.05);
    static const struct {
        const char *name;
        double watts;
    } wanted[] = {
        {"k10temp-package", 45},
        {"k10temp-core", 15},
        {"platform-sensor-power1", 30},
        {"hwmon-device-path-device-path-test", 25},
        {"hwmon-dir-fallback-dir-fallback-test", 35},
        {"ina3221-channel-1", 12},
        {"ina3221-channel-2", 10},
        {"test-power-chip-psu-rail-a", 45},
        {"test-power-chip-psu-rail-b", 15},
        {"ina226-pair1", 60},
        {"max20730-pair1", 120}, /* the output voltage times the output current */
        {"unknown-chip-pair1", 60},
        {"unknown-chip-pair2", 10},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_relative(machine_watts(meter, wanted[i].name), wanted[i].watts, 1e-9);
    assert_null(machine_channel(meter, "ina3221-channel-3"));
    assert_null(machine_channel(meter, "test-power-chip-psu-rail-c"));
    assert_null(machine_channel(meter, "energy-with-enable-rail-c"));
    assert_non_null(machine_channel(meter, "energy-with-enable-rail-b"));
    joule_close(meter);
    host->ops->close(host);
}

/* In recordings of graphics, a card is a board, and an integrated GPU is part of the package, with any
 * padding of the values. */
static void test_recorded_graphics_have_their_scope(void **state)
{
    static const struct {
        const char *folder, *name;
        joule_scope scope;
        double watts; /* NaN means that the domain is a counter, which is constant in a recording */
    } wanted[] = {
        {"amd/rx580/card0", "gpu-0", JOULE_SCOPE_GPU, 41.045},
        {"amd/rx5500xt/card1", "gpu-0", JOULE_SCOPE_GPU, 16},
        {"amd/rx6900xt/card0", "gpu-0", JOULE_SCOPE_GPU, 36},
        {"amd/rx7900xtx/card0", "gpu-0", JOULE_SCOPE_GPU, 68},
        {"amd/rx9070/card1", "gpu-0", JOULE_SCOPE_GPU, 49},
        {"amd/vega56/card0", "gpu-0", JOULE_SCOPE_GPU, 8},
        {"amd/phoenix/card1", "package-0", JOULE_SCOPE_PACKAGE, 3.103},
        {"amd/vangogh/card0", "package-0", JOULE_SCOPE_PACKAGE, 3.218},
        {"amd/vangogh/card0", "amdgpu-fastppt", JOULE_SCOPE_RAIL, 3.04},
        {"intel/a380-i915/card1", "gpu-0", JOULE_SCOPE_GPU, NAN},
        {"intel/b580/card1", "gpu-0", JOULE_SCOPE_GPU, NAN},
        {"intel/b580/card1", "xe-pkg", JOULE_SCOPE_RAIL, NAN},
    };
    const char *archive = test_data("fixtures/lact-gpu-sysfs.tar.gz");
    char command[4096], root[1024];
    (void)state;
    if (!archive)
        skip();
    snprintf(command, sizeof command, "mkdir -p '%s/lact' && tar -xzf '%s' -C '%s/lact'", TEST_BINARY_DIR,
             archive, TEST_BINARY_DIR);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct joule_host *host = host_script_open();
        snprintf(root, sizeof root, "%s/lact/tests/snapshots/%s/device/hwmon", TEST_BINARY_DIR,
                 wanted[i].folder);
        assert_true(machine_add(host, root, "/sys/class/hwmon"));
        joule_meter *meter = machine_open(host, "hwmon");
        machine_run(meter, 5, 0.05);
        const struct channel *ch = machine_require_channel(meter, wanted[i].name);
        assert_int_equal(ch->info.scope, wanted[i].scope);
        if (isnan(wanted[i].watts))
            assert_int_equal(ch->info.cls, JOULE_CLASS_MEASURED);
        else
            assert_relative(machine_mean_watts(meter, ch->info.id), wanted[i].watts, 1e-9);
        joule_close(meter);
        host->ops->close(host);
    }
}

static void test_recorded_node_exporter_has_its_gauges(void **state)
{
    static const struct {
        const char *name;
        double value;
    } gauges[] = {
        {"coretemp-physical-id-0", 55},
        {"thermal-cpu-thermal", 12.376},
        {"clock-cpu0", 1699.981},
    };
    const char *archive = test_data("fixtures/node_exporter/sys.ttar.gz");
    (void)state;
    if (!archive)
        skip();
    struct joule_host *host = ttar_load(archive);
    assert_non_null(host);
    joule_meter *meter = machine_open(host, "hwmon,battery,thermal");
    machine_run(meter, 10, 0.5);
    assert_relative(machine_watts(meter, "battery"), 5.002, 1e-9);
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++) {
        double value;
        assert_int_equal(joule_gauge(meter, machine_require_channel(meter, gauges[i].name)->info.id, &value),
                         JOULE_OK);
        assert_relative(value, gauges[i].value, 1e-9);
    }
    assert_null(machine_channel(meter, "coretemp-core-0"));
    for (size_t i = 0; i < joule_domain_count(meter); i++) /* the monitors of that machine show no power */
        assert_string_not_equal(meter->channels[i].channel->info.source, "hwmon");
    joule_close(meter);
    host->ops->close(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_kepler_has_its_powers),
        cmocka_unit_test(test_recorded_graphics_have_their_scope),
        cmocka_unit_test(test_recorded_node_exporter_has_its_gauges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
