/* Tests the energy of processes on GPUs by active time: on an AMD board through fdinfo, and on an NVIDIA
 * board through its driver. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "joule/live/live.h"
#include "support/check.h"
#include "support/fake_nvml.h"
#include "support/machine.h"

#define SLOT "0000:03:00.0"
#define CARD "/sys/class/drm/card1/device/"

/* --- a board of AMD ------------------------------------------------------------------------------------- */

struct bench {
    struct machine_bench machine;
    struct live *live;
};

static void put_process(struct machine_bench *bench, int pid, double own_s)
{
    char path[32], text[128];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text, "%d (w) R 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 5 0 0\n", pid,
             (int)(own_s * 100));
    machine_put(bench, path, text);
}

/* Writes the fdinfo of descriptor `number` of a process: client `id` of the board with this active time. */
static void put_client(struct machine_bench *bench, int pid, int number, int id, double active_s)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
    assert_true(host_script_link(bench->host, path, "/dev/dri/renderD128"));
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, number);
    snprintf(text, sizeof text,
             "drm-driver: amdgpu\ndrm-client-id: %d\ndrm-pdev: " SLOT
             "\ndrm-memory-vram: 1024 KiB\ndrm-engine-gfx: %lld ns\n",
             id, (long long)(active_s * 1e9));
    machine_put(bench, path, text);
}

static const struct seen_process *process_of(const struct live *live, int pid)
{
    size_t count;
    const struct seen_process *list = live_processes(live, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    fail_msg("there is no process %d", pid);
    return NULL;
}

static const struct live_sum *sum_of(const struct live *live, const char *device)
{
    size_t count;
    const struct live_sum *sums = live_sums(live, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(sums[i].device, device) == 0) {
            assert_near(sums[i].alive_joules + sums[i].ended_joules + sums[i].idle_joules +
                            sums[i].rest_joules,
                        sums[i].total_joules, 1e-9 * (1 + sums[i].total_joules));
            return &sums[i];
        }
    fail_msg("%s has no sum", device);
    return NULL;
}

static void put_board(struct machine_bench *bench)
{
    machine_put(bench, CARD "uevent",
                "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:740F\nPCI_SLOT_NAME=" SLOT "\n");
    machine_put(bench, CARD "gpu_busy_percent", "90\n");
    machine_put(bench, "/sys/class/hwmon/hwmon4/name", "amdgpu");
    machine_put(bench, "/sys/class/hwmon/hwmon4/power1_average", "200000000");
    assert_true(host_script_link(bench->host, "/sys/class/hwmon/hwmon4/device", "../../../" SLOT));
}

/* Opens the machine and makes the first update. */
static struct live *open_and_run(struct machine_bench *bench)
{
    bench->meter = machine_open_devices(bench->host, "amdgpu,hwmon");
    machine_run(bench->meter, 2, 0.1);
    struct live *live = live_open(bench->meter);
    assert_int_equal(live_update(live), JOULE_OK);
    return live;
}

static void test_a_board_is_shared_by_active_time(void **state)
{
    struct machine_bench *bench = *state;
    put_board(bench);
    put_process(bench, 10, 0);
    put_process(bench, 11, 0);
    put_process(bench, 12, 0);
    put_client(bench, 10, 5, 1, 100);
    put_client(bench, 10, 6, 1, 100); /* client 1 again, through a duplicated descriptor */
    put_client(bench, 11, 5, 2, 0);
    put_client(bench, 12, 9, 2, 0); /* the descriptor of client 2 again, inherited from process 11 */
    struct live *live = open_and_run(bench);
    for (int i = 1; i <= 10; i++) {
        put_client(bench, 10, 5, 1, 100 + 0.5 * i);
        put_client(bench, 10, 6, 1, 100 + 0.5 * i);
        put_client(bench, 11, 5, 2, 0.25 * i);
        put_client(bench, 12, 9, 2, 0.25 * i);
        machine_run(bench->meter, 1, 0.1);
        assert_int_equal(live_update(live), JOULE_OK);
        sum_of(live, "gpu:0");
    }
    const struct live_sum *sum = sum_of(live, "gpu:0");
    assert_near(sum->total_joules, 2000, 10);
    assert_near(process_of(live, 10)->gpu_joules, 1000, 10);
    assert_near(process_of(live, 11)->gpu_joules, 500, 10);
    assert_near(process_of(live, 12)->gpu_joules, 0, 0);
    /* The board was busy for 90 % of the time. Known processes were active for 75 % of the time. */
    assert_near(sum->rest_joules, 300, 10);
    assert_near(sum->idle_joules, 200, 10);
    assert_near(process_of(live, 10)->gpu_share, 0.5, 1e-3);
    assert_near(process_of(live, 10)->gpu_watts, 100, 1);
    assert_int_equal(process_of(live, 10)->gpu_memory_bytes, 1 << 20);
    assert_true(live_uses(live, process_of(live, 11), "gpu:0"));
    assert_false(live_uses(live, process_of(live, 12), "gpu:0"));
    machine_put(bench, "/proc/10/stat", NULL);
    machine_run(bench->meter, 1, 0.1);
    assert_int_equal(live_update(live), JOULE_OK);
    assert_near(sum_of(live, "gpu:0")->ended_joules, 1000, 10);
    live_close(live);
}

/* If it is unknown how busy the board was, unattributed joules do not count as idle. */
static void test_nothing_is_idle_where_it_is_not_known_how_busy(void **state)
{
    struct machine_bench *bench = *state;
    put_board(bench);
    machine_put(bench, CARD "gpu_busy_percent", NULL);
    put_process(bench, 10, 0);
    put_client(bench, 10, 5, 1, 0);
    struct live *live = open_and_run(bench);
    for (int i = 1; i <= 10; i++) {
        put_client(bench, 10, 5, 1, 0.25 * i);
        machine_run(bench->meter, 1, 0.1);
        assert_int_equal(live_update(live), JOULE_OK);
    }
    const struct live_sum *sum = sum_of(live, "gpu:0");
    assert_true(isnan(sum->busy));
    assert_near(process_of(live, 10)->gpu_joules, 500, 10);
    assert_near(sum->idle_joules, 0, 1e-9);
    assert_near(sum->rest_joules, 1500, 10);
    live_close(live);
}

static void test_a_board_without_power_has_processes_all_the_same(void **state)
{
    struct machine_bench *bench = *state;
    put_board(bench);
    machine_put(bench, "/sys/class/hwmon/hwmon4/power1_average", NULL);
    put_process(bench, 10, 0);
    put_client(bench, 10, 5, 1, 0);
    struct live *live = open_and_run(bench);
    put_client(bench, 10, 5, 1, 0.5);
    machine_run(bench->meter, 1, 0.1);
    assert_int_equal(live_update(live), JOULE_OK);
    assert_near(process_of(live, 10)->gpu_share, 0.5, 1e-3);
    assert_int_equal(sum_of(live, "gpu:0")->cls, JOULE_CLASS_NONE);
    machine_put(bench, "/proc/10/stat", NULL);
    machine_run(bench->meter, 1, 0.1);
    assert_int_equal(live_update(live), JOULE_OK);
    assert_near(sum_of(live, "gpu:0")->total_joules, 0, 0);
    live_close(live);
}

/* --- a board of NVIDIA ---------------------------------------------------------------------------------- */

static void test_nvidias_driver_names_processes(void **state)
{
    (void)state;
    struct fake_nvml fake;
    if (!fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", "watts=100 peak_watts=400 duty=0.5 processes=2"))
        fail_msg("no fake library");
    host_script_text(fake.host, "/proc/1000/stat",
                     "1000 (train) R 1 1 1 0 -1 0 0 0 0 0 5 0 0 0 20 0 1 0 5 0 0\n");
    fake_nvml_open_devices(&fake);
    fake_nvml_run(&fake, 3);
    struct live *live = live_open(fake.meter);
    assert_int_equal(live_update(live), JOULE_OK);
    assert_true(isnan(process_of(live, 1000)->gpu_share)); /* the share is unknown before the second update */
    assert_true(isnan(process_of(live, 1001)->gpu_share));
    for (int i = 0; i < 20; i++) {
        fake_nvml_run(&fake, 1);
        assert_int_equal(live_update(live), JOULE_OK);
        sum_of(live, "gpu:0");
    }
    const struct live_sum *sum = sum_of(live, "gpu:0");
    assert_near(sum->total_joules, 20 * 250, 150);
    assert_near(process_of(live, 1000)->gpu_joules, 0.5 * sum->total_joules, 100);
    const struct seen_process *other = process_of(live, 1001); /* this process is in another container */
    assert_true(other->is_outside);
    assert_near(other->gpu_share, 0.25, 0.02);
    assert_near(other->gpu_joules, 0.25 * sum->total_joules, 100);
    assert_true(isnan(other->cpu_joules));
    assert_string_equal(process_of(live, 1000)->name, "train");
    live_close(live);
    fake_nvml_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_board_is_shared_by_active_time, machine_setup,
                                        machine_teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_idle_where_it_is_not_known_how_busy, machine_setup,
                                        machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_board_without_power_has_processes_all_the_same, machine_setup,
                                        machine_teardown),
        cmocka_unit_test(test_nvidias_driver_names_processes),
    };
    return cmocka_run_group_tests_name("live_devices", tests, NULL, NULL);
}
