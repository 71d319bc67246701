/* Tests Gaudi boards that are read with hl-smi: its output is parsed, and it is run only if necessary. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "joule/sources/gaudi/hl_smi_text.h"
#include "support/check.h"
#include "support/machine.h"

#define LINE                                                                                                 \
    "0, 01P4-HL3090A0-18-U4V193-22-07-00, 0000:19:00.0, HL-325L, 1.22.1-97ec1a4, 131072 MiB, 672 MiB, "      \
    "130400 MiB, "                                                                                           \
    "226 W, 850 W, 36 C, 7 %\n"

static size_t parse(const char *text, struct hl_smi_board *boards)
{
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", text);
    return hl_smi_parse(copy, boards, 4);
}

static void test_lines_are_read(void **state)
{
    struct hl_smi_board boards[4];
    (void)state;
    assert_int_equal(
        parse(LINE "1, N/A, 0000:1A:00.0, HL-225, 1.22.1, N/A, 0, 98304, [Unknown Error], 600, 40, 3\n",
              boards),
        2);
    assert_string_equal(boards[0].uuid, "01P4-HL3090A0-18-U4V193-22-07-00");
    assert_string_equal(boards[0].pci_address, "0000:19:00.0");
    assert_relative(boards[0].power_watts, 226, 1e-6);
    assert_relative(boards[0].max_watts, 850, 1e-6);
    assert_relative(boards[0].memory_free_mib, 130400, 1e-6);
    assert_relative(boards[0].busy_percent, 7, 1e-6);
    assert_string_equal(boards[1].uuid, "");
    assert_string_equal(boards[1].pci_address, "0000:1a:00.0");
    assert_true(isnan(boards[1].power_watts) && isnan(boards[1].memory_total_mib));
    assert_relative(boards[1].celsius, 40, 1e-6); /* the numbers of this line have no units */
}

static void test_invalid_lines_are_ignored(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "Command 'hl-smi' not found\n",
                                        "index, uuid, bus_id\n",
                                        "0, a, b, c, d, 1, 2, 3\n",
                                        "-1, a, b, c, d, 1, 2, 3, 4, 5, 6, 7\n",
                                        "0, a, b, c, d, 1, 2, 3, 4, 5, 6, 7, 8\n",
                                        "x, a, b, c, d, 1, 2, 3, 4, 5, 6, 7\n"};
    struct hl_smi_board boards[4];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_int_equal(parse(texts[i], boards), 0);
    assert_int_equal(parse("note: driver is old\r\n" LINE, boards), 1);
    /* at most as many boards as the array holds are read */
    assert_int_equal(parse(LINE LINE LINE LINE LINE, boards), 4);
}

/* --- when hl-smi is run --------------------------------------------------------------------------------- */

static struct {
    const char *text;
    ssize_t result; /* < 0 means -errno of starting the program */
    unsigned calls;
} program;

static ssize_t run_program(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                           int *out_status)
{
    (void)context, (void)time_ns, (void)out_status;
    program.calls++;
    assert_string_equal(argv[1], "-Q");
    assert_string_equal(argv[2], HL_SMI_QUERY);
    return program.result < 0 ? program.result : snprintf(buffer, size, "%s", program.text);
}

static void open_machine(struct machine_bench *bench, const char *sources)
{
    program.text = LINE;
    program.result = 0;
    program.calls = 0;
    assert_true(host_script_program(bench->host, "hl-smi", run_program, NULL));
    host_script_text(bench->host, "/sys/bus/pci/drivers/habanalabs/bind", "");
    host_script_text(bench->host, "/sys/bus/pci/devices/0000:19:00.0/uevent",
                     "PCI_CLASS=120000\nPCI_ID=1DA3:1060\n");
    bench->meter = machine_open_devices(bench->host, sources);
}

static void test_board_is_measured(void **state)
{
    struct machine_bench *bench = *state;
    joule_device device = {.struct_size = sizeof device};
    open_machine(bench, "hl_smi");
    machine_run(bench->meter, 10, 1);
    assert_relative(machine_mean_watts(bench->meter, JOULE_GPU), 226, 1e-6);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.cls, JOULE_CLASS_DERIVED);
    assert_string_equal(machine_require_channel(bench->meter, "hpu-0")->zone, "hpu0/board");
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    assert_string_equal(device.name, "hpu:0");
    assert_true(device.memory_used_bytes == 672ull << 20);
    assert_relative(device.power_limit_watts, 850, 1e-6);
    assert_relative(device.busy, 0.07, 1e-6);
    assert_relative(device.temperature_celsius, 36, 1e-6);
}

static void test_board_missing_from_the_list_is_a_failure(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "hl_smi");
    machine_run(bench->meter, 3, 1);
    program.text = "no device\n";
    machine_run(bench->meter, 3, 1);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_FAILED);
    program.text = LINE;
    machine_run(bench->meter, 3, 1);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_OK);
    program.result = -ETIMEDOUT;
    machine_run(bench->meter, 1, 1);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_FAILED);
}

static void test_program_is_the_last_resort(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "-estimated"); /* all sources except the modelled one */
    assert_true(program.calls > 0);
    joule_close(bench->meter);
    host_script_text(bench->host, "/sys/bus/pci/devices/0000:19:00.0/hwmon/hwmon3/power1_input",
                     "226000000\n");
    open_machine(bench, "-estimated");
    assert_int_equal(program.calls, 0);
    joule_close(bench->meter);
    open_machine(bench, "hl_smi"); /* the program is run if the user names its source */
    assert_true(program.calls > 0);
}

static void test_without_the_program(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/sys/bus/pci/drivers/habanalabs/bind", "");
    bench->meter = machine_open(bench->host, "hl_smi");
    assert_int_equal(bench->meter->lanes[bench->meter->lane_count - 1]->sources[0]->state, JOULE_ABSENT);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_read),
        cmocka_unit_test(test_invalid_lines_are_ignored),
        ON_A_MACHINE(test_board_is_measured),
        ON_A_MACHINE(test_board_missing_from_the_list_is_a_failure),
        ON_A_MACHINE(test_program_is_the_last_resort),
        ON_A_MACHINE(test_without_the_program),
    };
    return cmocka_run_group_tests_name("hl_smi", tests, NULL, NULL);
}
