/* Tests that the lines of every generation of tegrastats are parsed, and that the program is run only if no
 * other source reads the rails. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/jetson/tegrastats_text.h"
#include "support/check.h"
#include "support/machine.h"

static const char xavier[] = "RAM 1903/15692MB (lfb 3251x4MB) CPU [1%@1190,0%@1190] EMC_FREQ 0% GR3D_FREQ 0% "
                             "AO@32.5C GPU@32C Tboard@32C "
                             "Tdiode@34.75C AUX@31.5C CPU@33.5C thermal@32.9C PMIC@100C GPU 0/0 CPU 216/216 "
                             "SOC 864/864 CV 0/0 VDDRQ 144/144 "
                             "SYS5V 1889/1889\n";
static const char orin_nano[] =
    "09-17-2026 02:10:03 RAM 1488/7620MB (lfb 105x4MB) SWAP 253/12002MB (cached 2MB) CPU [0%@1036,0%@1036] "
    "GR3D_FREQ "
    "0% cpu@47.875C VDD_IN 4654mW/4654mW VDD_CPU_GPU_CV 560mW/560mW VDD_SOC 1484mW/1484mW\n";

static const struct sample {
    const char *line;
    const char *rails; /* expected rails, each as "NAME mW" */
    double busy, megahertz, celsius;
} samples[] = {
    {"RAM 613/3964MB (lfb 634x4MB) SWAP 0/1982MB (cached 0MB) CPU [2%@102,1%@102,0%@102,0%@102] EMC_FREQ 0% "
     "GR3D_FREQ 0% "
     "PLL@39C CPU@40.5C PMIC@100C GPU@41C AO@46C thermal@41C POM_5V_IN 900/943 POM_5V_GPU 0/0 POM_5V_CPU "
     "123/123\n",
     "POM_5V_IN 900 POM_5V_GPU 0 POM_5V_CPU 123 ", 0, NAN, 41},
    {"RAM 1179/3983MB (lfb 120x4MB) IRAM 0/252kB(lfb 252kB) CPU [1%@102,4%@102,0%@102,0%@102] EMC_FREQ "
     "7%@408 GR3D_FREQ "
     "0%@76 APE 25 AO@42.5C CPU@37.5C GPU@39C PLL@37C Tdiode@42.75C PMIC@100C Tboard@42C thermal@38.5C "
     "VDD_IN 2532/2698 "
     "VDD_CPU 76/178 VDD_GPU 19/19\n",
     "VDD_IN 2532 VDD_CPU 76 VDD_GPU 19 ", 0, 76, 39},
    {"RAM 1345/7829MB (lfb 1290x4MB) SWAP 0/512MB (cached 0MB) CPU [2%@345,off,off,off,off,off] EMC_FREQ "
     "13%@40 GR3D_FREQ "
     "0%@114 APE 150 BCPU@35C MCPU@35C GPU@41C PLL@35C AO@35.5C Tboard@35C Tdiode@36C PMIC@100C "
     "thermal@35.5C VDD_IN "
     "2003/2658 VDD_CPU 320/518 VDD_GPU 400/735 VDD_SOC 400/415 VDD_WIFI 0/0 VDD_DDR 240/348\n",
     "VDD_IN 2003 VDD_CPU 320 VDD_GPU 400 VDD_SOC 400 VDD_WIFI 0 VDD_DDR 240 ", 0, 114, 41},
    {xavier, "GPU 0 CPU 216 SOC 864 CV 0 VDDRQ 144 SYS5V 1889 ", 0, NAN, 32},
    {orin_nano, "VDD_IN 4654 VDD_CPU_GPU_CV 560 VDD_SOC 1484 ", 0, NAN, NAN},
    {"VDD_GPU_SOC 2390mW/2390mW VDD_CPU_CV 796mW/796mW VIN_SYS_5V0 3522mW/3522mW NC 0mW/0mW VDDQ_VDD2_1V8AO "
     "301mW/301mW NC "
     "0mW/0mW\n",
     "VDD_GPU_SOC 2390 VDD_CPU_CV 796 VIN_SYS_5V0 3522 NC 0 VDDQ_VDD2_1V8AO 301 NC 0 ", NAN, NAN, NAN},
    {"07-25-2026 09:08:28 RAM 20642/62817MB (lfb 1x2MB) CPU [23%@2201,10%@2201] EMC_FREQ 3%@3199 GR3D_FREQ "
     "12%@[1300,1300] "
     "NVENC0 off VIC off APE 174 cpu@52.968C/52.968C gpu@47.625C/47.625C VDD_GPU_SOC 5139mW/5139mW/5139mW "
     "VDD_CPU_CV "
     "3268mW/3268mW/3268mW VIN_SYS_5V0 5500mW/5500mW/5500mW\n",
     "VDD_GPU_SOC 5139 VDD_CPU_CV 3268 VIN_SYS_5V0 5500 ", 0.12, 1300, 47.625},
    {"RAM 4722/7844MB (lfb 1x512kB) EMC_FREQ 2%@1866 GR3D_FREQ @[1000,1000,1000] APE 150\n", "", NAN, 1000,
     NAN},
    {"RAM 4722/7844MB GR3D_FREQ 10%@1300 gpu@-256C\n", "", 0.1, 1300, NAN},
    {"RAM 4722/7844MB GR3D_FREQ 0%@[305]\n", "", 0, 305, NAN},
};

static void test_lines_of_every_generation_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        const struct sample *sample = &samples[i];
        struct tegrastats stats;
        char rails[256] = "";
        assert_true(tegrastats_parse(sample->line, &stats));
        for (size_t k = 0; k < stats.rail_count; k++)
            snprintf(rails + strlen(rails), sizeof rails - strlen(rails), "%s %.0f ", stats.rails[k].name,
                     stats.rails[k].watts * 1e3);
        assert_string_equal(rails, sample->rails);
        assert_relative(stats.gpu_busy, sample->busy, 1e-6);
        assert_relative(stats.gpu_megahertz, sample->megahertz, 1e-6);
        assert_relative(stats.gpu_celsius, sample->celsius, 1e-6);
    }
}

static void test_the_last_whole_line(void **state)
{
    struct tegrastats stats;
    (void)state;
    assert_true(
        tegrastats_parse("RAM 1/2MB VDD_IN 1/1\nRAM 1/2MB VDD_IN 2000/1\nRAM 1/2MB VDD_IN 3000/1", &stats));
    assert_int_equal(stats.rail_count, 1);
    assert_relative(stats.rails[0].watts, 2, 1e-6);
}

static void test_other_lines_are_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "RAM 1/2MB VDD_IN 1/1",
                                        "tegrastats: command not found\n",
                                        "VDD_IN 1mW/\n",
                                        "VDD_IN 1/2W\n",
                                        "VDD_IN 9999999999/1\n",
                                        "vdd 1/1\n"};
    struct tegrastats stats;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (tegrastats_parse(texts[i], &stats))
            fail_msg("\"%s\" was taken for a line", texts[i]);
}

/* --- the source ----------------------------------------------------------------------------------------- */

static struct truth {
    const char *text;
    ssize_t error; /* -errno of starting the program, or 0 */
} truth;

static ssize_t run_tegrastats(void *context, int64_t time_ns, const char *const *argv, char *buffer,
                              size_t size, int *out_status)
{
    (void)context, (void)time_ns, (void)out_status;
    assert_string_equal(argv[1], "--interval");
    snprintf(buffer, size, "%s", truth.text);
    return truth.error;
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    truth = (struct truth){xavier, -ETIMEDOUT};
    host_script_program(bench->host, "tegrastats", run_tegrastats, NULL);
    host_script_text(bench->host, "/proc/device-tree/model", "Jetson-AGX");
    return 0;
}

static void run(struct machine_bench *bench)
{
    bench->meter = machine_open(bench->host, "tegrastats");
    machine_run(bench->meter, 20, 2);
}

static void test_rails_are_domains(void **state)
{
    struct machine_bench *bench = *state;
    run(bench);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 3.113, 1e-6);
    assert_relative(machine_watts(bench->meter, "rail-cpu"), 0.216, 1e-6);
    assert_relative(machine_channel(bench->meter, "gpu-0-busy")->gauge, 0, 1e-6);
    assert_relative(machine_channel(bench->meter, "gpu-0-temperature")->gauge, 32, 1e-6);
    assert_string_equal(machine_channel(bench->meter, "module-0")->info.measurement, "tegrastats");
    truth.text = orin_nano; /* the output now has other rails than when the source was opened */
    machine_run(bench->meter, 4, 2);
    assert_int_equal(machine_channel(bench->meter, "module-0")->info.state, JOULE_STALE);
    truth.text = "";
    machine_run(bench->meter, 4, 2);
    assert_int_equal(machine_channel(bench->meter, "module-0")->info.state, JOULE_FAILED);
    truth = (struct truth){"", -EACCES};
    machine_run(bench->meter, 4, 2);
    assert_int_equal(machine_channel(bench->meter, "module-0")->info.state, JOULE_DENIED);
    assert_int_equal(machine_channel(bench->meter, "gpu-0-busy")->info.state, JOULE_DENIED);
}

static void test_not_beside_sysfs(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/sys/class/hwmon/hwmon1/name", "ina3221");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon1/in1_label", "VDD_IN");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon1/in1_input", "5000");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon1/curr1_input", "1000");
    run(bench);
    assert_int_equal(joule_domain_count(bench->meter), 0);
    host_script_error(bench->host, "/sys/class/hwmon/hwmon1/curr1_input", EACCES);
    joule_close(bench->meter);
    run(bench);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 3.113, 1e-6);
}

static void test_failing_program_gives_no_domains(void **state)
{
    static const struct truth troubles[] = {
        {"", -ENOENT}, {"", -EACCES}, {"", -ETIMEDOUT}, {"Cannot find it\n", 0}, {"RAM 1/2MB\n", -ETIMEDOUT}};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        truth = troubles[i];
        run(bench);
        assert_int_equal(joule_domain_count(bench->meter), 0);
        joule_close(bench->meter);
        bench->meter = NULL;
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_every_generation_are_read),
        cmocka_unit_test(test_the_last_whole_line),
        cmocka_unit_test(test_other_lines_are_refused),
        TEST(test_rails_are_domains),
        TEST(test_not_beside_sysfs),
        TEST(test_failing_program_gives_no_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
