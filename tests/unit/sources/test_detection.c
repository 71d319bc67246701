/* Tests device files and environment variables that indicate devices. If a driver answers, it lists the
 * devices. If no driver answers, the remedy names the file or variable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "support/machine.h"

/* Returns the remedy of the only source that the meter opened. */
static const char *remedy_of(struct machine_bench *bench, const char *source)
{
    bench->meter = machine_open_devices(bench->host, source);
    for (size_t i = 0; i < bench->meter->lane_count; i++)
        for (size_t k = 0; k < bench->meter->lanes[i]->source_count; k++)
            if (strcmp(bench->meter->lanes[i]->sources[k]->ops->name, source) == 0) {
                assert_int_equal(bench->meter->lanes[i]->sources[k]->state, JOULE_ABSENT);
                return bench->meter->lanes[i]->sources[k]->remedy;
            }
    fail_msg("no source is called %s", source);
    return "";
}

static const struct sign {
    const char *source, *file, *variable, *value;
} kinds[] = {
    {"nvml", "/dev/nvidia0", "CUDA_VISIBLE_DEVICES", "0"},
    {"amdgpu", "/dev/kfd", "ROCR_VISIBLE_DEVICES", "0,1"},
    {"intel_gpu", "/dev/dri/renderD128", "ZE_AFFINITY_MASK", "0"},
    {"tpu", "/dev/accel0", "TPU_NAME", "my-tpu"},
    {"neuron", "/dev/neuron-monitor", "NEURON_RT_NUM_CORES", "2"},
    {"accelerators", "/dev/groqsomething", "GROQ_DEVICE_ID", "0"},
};

static void test_signs_without_hardware(void **state)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (int with = 0; with < 4; with++) {
            struct machine_bench *bench = *state;
            bool has_file = with & 1, has_variable = with & 2;
            if (has_file)
                host_script_text(bench->host, kinds[i].file, "");
            if (has_variable)
                host_script_env(bench->host, kinds[i].variable, kinds[i].value);
            const char *remedy = remedy_of(bench, kinds[i].source);
            if ((strstr(remedy, kinds[i].file) != NULL) != has_file ||
                (strstr(remedy, kinds[i].variable) != NULL) != has_variable)
                fail_msg("%s: %s", kinds[i].source, remedy);
            /* a device file or variable alone is not a device */
            assert_int_equal(joule_device_count(bench->meter), 0);
            machine_teardown(state);
            machine_setup(state);
        }
}

/* A variable whose value requests no device does not indicate that a device exists. */
static void test_variables_without_a_device_suggest_none(void **state)
{
    static const char *const values[] = {"", "-1", "none", "void"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct machine_bench *bench = *state;
        host_script_env(bench->host, "CUDA_VISIBLE_DEVICES", values[i]);
        assert_null(strstr(remedy_of(bench, "nvml"), "CUDA_VISIBLE_DEVICES"));
        machine_teardown(state);
        machine_setup(state);
    }
}

/* If /sys is hidden, the device files show how many devices exist. Their power is unknown. */
static void test_devices_by_their_files(void **state)
{
    static const struct {
        const char *source, *files[2], *name, *vendor;
    } cases[] = {
        {"neuron", {"/dev/neuron0", "/dev/neuron1"}, "neuron:1", "amazon"},
        {"accelerators", {"/dev/groqA0.pci", "/dev/groqA1.pci"}, "npu:1", "groq"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine_bench *bench = *state;
        joule_device device = {.struct_size = sizeof device};
        host_script_text(bench->host, cases[i].files[0], "");
        host_script_text(bench->host, cases[i].files[1], "");
        bench->meter = machine_open_devices(bench->host, cases[i].source);
        machine_run(bench->meter, 3, 0.5);
        assert_int_equal(joule_device_count(bench->meter), 2);
        assert_int_equal(joule_device_get(bench->meter, 1, &device), JOULE_OK);
        assert_string_equal(device.name, cases[i].name);
        assert_string_equal(device.vendor, cases[i].vendor);
        assert_true(device.remedy[0]);
        machine_teardown(state);
        machine_setup(state);
    }
}

/* host_has_any finds a device file. A source whose device file exists is opened, even if the user requests no
 * devices. */
static void test_files_open_a_source(void **state)
{
    struct machine_bench *bench = *state;
    assert_false(host_has_any(bench->host, "/sys/class/neuron_device:/dev/neuron*"));
    host_script_text(bench->host, "/dev/null", "");
    assert_false(host_has_any(bench->host, "/sys/class/neuron_device:/dev/neuron*"));
    host_script_text(bench->host, "/dev/neuron0", "");
    assert_true(host_has_any(bench->host, "/sys/class/neuron_device:/dev/neuron*"));
    assert_true(host_has_any(bench->host, "/dev"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_signs_without_hardware),
        TEST(test_variables_without_a_device_suggest_none),
        TEST(test_devices_by_their_files),
        TEST(test_files_open_a_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
