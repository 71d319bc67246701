/* Tests superchips whose GPU counter counts the whole module: it is not attributed to the GPU, and is not
 * added to Grace's own meters.
 *
 * The scripted GPU draws 245 W, the rest of its module 150 W. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include <math.h>
#include "joule/api/open.h"
#include "support/check.h"
#include "support/fake_nvml.h"
#include "support/machine.h"

#define LOAD        "watts=90 peak_watts=400 duty=0.5 period_ms=1000; superchip=1; module_watts=150; "
#define GPU_WATTS   245.0
#define OTHER_WATTS 150.0
#define SECONDS     10.0

static struct fake_nvml fake;

static void open_with(const char *script, bool has_grace)
{
    assert_true(fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", script));
    host_script_library(fake.host, "libnvidia-ml.so.1", fake.symbols, fake.symbol_count);
    if (has_grace)
        assert_true(machine_add(fake.host, machine_fixture("grace"), ""));
    joule_options options = {
        .struct_size = sizeof options, .flags = JOULE_OPEN_DEVICES, .sources = "nvml,hwmon"};
    assert_int_equal(meter_open_on(fake.host, true, &options, &fake.meter, NULL), JOULE_OK);
    fake_nvml_run(&fake, SECONDS);
}

static const struct channel *channel(const char *name)
{
    const struct channel *found = fake_nvml_channel(&fake, name);
    if (!found)
        fail_msg("no channel is called %s", name);
    return found;
}

static double mean_watts(int32_t domain)
{
    joule_quantity joules = {.value = NAN};
    joule_energy_joules(fake.meter, domain, &joules);
    return joules.value / SECONDS;
}

/* The counter counts the module, and the power is that of the GPU. Each value is shown with its own scope. */
static void the_counter_is_the_module(void **state)
{
    (void)state;
    open_with(LOAD "counts_module=1", false);
    assert_int_equal(channel("gpu-0-module")->info.scope, JOULE_SCOPE_MODULE);
    assert_string_equal(channel("gpu-0-module")->zone, "module0");
    assert_int_equal(channel("gpu-0-power")->info.scope, JOULE_SCOPE_GPU);
    assert_string_equal(channel("gpu-0-power")->zone, "gpu0/board");
    assert_near(mean_watts(machine_domain(fake.meter, "gpu-0-module")), GPU_WATTS + OTHER_WATTS, 15);
    assert_near(mean_watts(JOULE_GPU), GPU_WATTS, 15);
    joule_device device = machine_device(fake.meter, 0);
    assert_int_equal(device.domain, machine_domain(fake.meter, "gpu-0-power"));
    assert_near(device.energy_joules.value / SECONDS, GPU_WATTS, 15);
    fake_nvml_close(&fake);
}

/* If Grace (the CPU of the module) has its own meters, the total is the sum of Grace and the GPU. The module
 * is not added. */
static void module_is_not_counted_beside_the_meters_of_grace(void **state)
{
    joule_quantity total;
    (void)state;
    open_with(LOAD "counts_module=1", true);
    assert_int_equal(joule_energy_joules(fake.meter, JOULE_TOTAL, &total), JOULE_OK);
    double watts = total.value / SECONDS;
    double graces = mean_watts(machine_domain(fake.meter, "package-0")) +
                    mean_watts(machine_domain(fake.meter, "package-1"));
    assert_near(graces, 62 + 40, 1);
    assert_near(watts, GPU_WATTS + graces, 15);
    assert_near(mean_watts(JOULE_GPU), GPU_WATTS, 15);
    fake_nvml_close(&fake);
}

/* The module of two GPUs and one Grace is counted once. */
static void gpus_of_a_module_share_its_zone(void **state)
{
    (void)state;
    assert_true(fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", LOAD "boards=3; counts_module=1"));
    const char *const nodes[] = {"0\n", "0\n", "1\n"};
    for (unsigned i = 0; i < 3; i++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/numa_node", 0x65 + i);
        host_script_text(fake.host, path, nodes[i]);
    }
    fake_nvml_open_devices(&fake);
    assert_string_equal(channel("gpu-0-module")->zone, "module0");
    assert_string_equal(channel("gpu-1-module")->zone, "module0");
    assert_string_equal(channel("gpu-2-module")->zone, "module1");
    fake_nvml_close(&fake);
}

/* A counter that differs from the module's counter belongs to the GPU. */
static void gpu_may_have_its_own_counter(void **state)
{
    (void)state;
    open_with(LOAD "module_energy=1", false);
    assert_int_equal(channel("gpu-0")->info.scope, JOULE_SCOPE_GPU);
    assert_near(mean_watts(JOULE_GPU), GPU_WATTS, 15);
    fake_nvml_close(&fake);
}

/* If the GPU's power value is also that of the whole module, no energy is attributed to the GPU. */
static void module_counter_alone_gives_no_gpu_energy(void **state)
{
    joule_quantity joules;
    (void)state;
    open_with("superchip=1; module_watts=0; counts_module=1", false);
    assert_int_equal(channel("gpu-0")->info.scope, JOULE_SCOPE_MODULE);
    assert_int_equal(channel("gpu-0-power")->info.scope, JOULE_SCOPE_MODULE);
    assert_int_not_equal(joule_energy_joules(fake.meter, JOULE_GPU, &joules), JOULE_OK);
    fake_nvml_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_is_the_module),
        cmocka_unit_test(module_is_not_counted_beside_the_meters_of_grace),
        cmocka_unit_test(gpus_of_a_module_share_its_zone),
        cmocka_unit_test(gpu_may_have_its_own_counter),
        cmocka_unit_test(module_counter_alone_gives_no_gpu_energy),
    };
    return cmocka_run_group_tests_name("nvml_module", tests, NULL, NULL);
}
