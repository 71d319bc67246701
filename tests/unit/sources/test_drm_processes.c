/* Tests that processes that use a GPU are found: in fdinfo of graphics drivers, and by the search through
 * /proc. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "joule/sources/drm_fdinfo.h"
#include "support/check.h"
#include "support/machine.h"

#define SLOT  "0000:03:00.0"
#define OTHER "0000:00:02.0"
#define CARD  "/sys/class/drm/card1/device/"

/* --- fdinfo --------------------------------------------------------------------------------------------- */

static struct drm_client client_of(const char *text)
{
    struct drm_client client;
    if (!drm_parse(text, &client))
        fail_msg("not taken: %s", text);
    return client;
}

/* Returns the active fraction of `elapsed_s`; does not change the caller's `before`. */
static double advance(struct drm_client before, const struct drm_client *now, double elapsed_s)
{
    return drm_advance(&before, now, elapsed_s);
}

#define HEAD "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t685\n"

static void test_clients_of_amdgpu_are_read(void **state)
{
    (void)state;
    struct drm_client before = client_of(HEAD "drm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t" SLOT
                                              "\npasid:\t32770\ndrm-memory-vram:\t2048 KiB\n"
                                              "drm-engine-gfx:\t1000000000 ns\ndrm-engine-compute:\t5 ns\n");
    assert_int_equal(before.id, 7);
    assert_string_equal(before.pci_address, SLOT);
    assert_int_equal(before.memory_bytes, 2 << 20);
    assert_int_equal(before.engine_count, 2);
    struct drm_client now = before;
    /* both engines ran in parallel: the fraction is that of the busiest one */
    now.engines[0].active_ns += 250000000;
    now.engines[1].active_ns += 750000000;
    assert_near(advance(before, &now, 1), 0.75, 1e-9);
    assert_near(advance(before, &now, 0.5), 0.5, 1e-9);
}

/* A counter may fall for a while. Time that was already counted is not counted a second time. */
static void test_times_that_fall(void **state)
{
    (void)state;
    struct drm_client client = {.engine_count = 1, .engines = {{.name = "gfx", .active_ns = 500000000}}};
    struct drm_client now = client;
    now.engines[0].active_ns = 400000000;
    assert_near(drm_advance(&client, &now, 1), 0, 0);
    now.engines[0].active_ns = 700000000;
    assert_near(drm_advance(&client, &now, 1), 0.2, 1e-9);
    client.engines[0] = (struct drm_engine){"ccs", 0, 900, 1000, 0};
    now.engines[0] = (struct drm_engine){"ccs", 0, 800, 2000, 0};
    assert_near(drm_advance(&client, &now, 1), 0, 0);
    now.engines[0] = (struct drm_engine){"ccs", 0, 1400, 3000, 0};
    assert_near(drm_advance(&client, &now, 1), 0.5, 1e-9);
    now.engines[0] = (struct drm_engine){"ccs", 0, 10, 100, 0}; /* the board was reset */
    assert_near(drm_advance(&client, &now, 1), 0, 0);
    now.engines[0] = (struct drm_engine){"ccs", 0, 60, 200, 0};
    assert_near(drm_advance(&client, &now, 1), 0.5, 1e-9);
}

static void test_memory_of_each_kind(void **state)
{
    static const struct {
        const char *lines;
        uint64_t bytes;
        bool is_used;
    } cases[] = {
        {"drm-memory-vram: 2048 KiB\ndrm-resident-vram: 1024 KiB\ndrm-memory-gtt: 8 MiB\n", 1 << 20, true},
        {"drm-resident-vram0: 3 MiB\ndrm-resident-vram1: 5 MiB\ndrm-total-vram0: 9 MiB\n", 8 << 20, true},
        {"drm-resident-local0: 4096\ndrm-resident-stolen-local0: 7 MiB\n", 4096, true},
        {"drm-resident-system0: 9 MiB\ndrm-engine-render: 0 ns\n", JOULE_BYTES_UNKNOWN, true},
        {"drm-resident-system0: 0\ndrm-engine-render: 7 ns\n", JOULE_BYTES_UNKNOWN, true},
        {"drm-cycles-rcs: 7\ndrm-total-cycles-rcs: 9\n", JOULE_BYTES_UNKNOWN, true},
        {"drm-memory-vram: 0 KiB\ndrm-engine-gfx: 0 ns\ndrm-total-cycles-rcs: 9\n", 0, false},
        {"drm-resident-vram0: 99999999999999999999 KiB\n", JOULE_BYTES_UNKNOWN, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "drm-pdev: " SLOT "\ndrm-client-id: 1\n%s", cases[i].lines);
        struct drm_client client = client_of(text);
        if (client.memory_bytes != cases[i].bytes || client.is_used != cases[i].is_used)
            fail_msg("%s gives %llu bytes, %d", cases[i].lines, (unsigned long long)client.memory_bytes,
                     client.is_used);
    }
}

static void test_i915_has_several_engines_of_a_kind(void **state)
{
    (void)state;
    struct drm_client before =
        client_of("drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: 11\n"
                  "drm-total-local0: 4 MiB\ndrm-resident-local0: 3 MiB\ndrm-engine-render: 0 ns\n"
                  "drm-engine-video: 0 ns\ndrm-engine-capacity-video: 2\n");
    assert_int_equal(before.memory_bytes, 3 << 20);
    assert_int_equal(before.engine_count, 2);
    struct drm_client now = before;
    now.engines[1].active_ns = 1000000000;
    assert_near(advance(before, &now, 1), 0.5, 1e-9);
}

static void test_xe_counts_cycles(void **state)
{
    (void)state;
    static const char *const form =
        "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\ndrm-resident-vram0:\t23992 KiB\n"
        "drm-cycles-rcs:\t%d\ndrm-total-cycles-rcs:\t%d\ndrm-cycles-ccs:\t%d\ndrm-total-cycles-ccs:\t%d\n"
        "drm-engine-capacity-ccs:\t4\n";
    char text[512];
    snprintf(text, sizeof text, form, 1000, 100000, 0, 100000);
    struct drm_client before = client_of(text);
    snprintf(text, sizeof text, form, 5000, 110000, 8000, 110000);
    struct drm_client now = client_of(text);
    assert_int_equal(now.memory_bytes, 23992 * 1024);
    /* rcs was active for 0.4 of the time, one of four ccs for 0.8 */
    assert_near(advance(before, &now, 2), 0.8, 1e-9);
}

static void test_other_files_are_no_clients(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      HEAD,
                                      "drm-client-id: 7\n",
                                      "drm-pdev: " SLOT "\n",
                                      "drm-pdev: " SLOT "\ndrm-client-id: -1\n",
                                      "drm-pdev: " SLOT "\ndrm-client-id: x\n",
                                      ":\n::\ndrm-:\n"};
    struct drm_client client;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (drm_parse(bad[i], &client))
            fail_msg("taken: %s", bad[i]);
    client_of("drm-pdev: " SLOT "\ndrm-client-id: 1\ndrm-resident-vram0: 99999999999999999999 KiB\n"
              "drm-engine-a-name-that-is-too-long-for-us: 5 ns\ndrm-engine-x\ndrm-cycles-y: none\n");
}

/* --- processes ------------------------------------------------------------------------------------------ */

/* Writes the fdinfo of descriptor `number` of a process: client `id` of the board at `place`. */
static void put_client(struct machine_bench *bench, int pid, int number, const char *place, int id,
                       double active_s, int kibibytes)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
    assert_true(host_script_link(bench->host, path, "/dev/dri/renderD128"));
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", pid, number);
    snprintf(text, sizeof text,
             "drm-driver: amdgpu\ndrm-client-id: %d\ndrm-pdev: %s\ndrm-memory-vram: %d KiB\n"
             "drm-engine-gfx: %lld ns\n",
             id, place, kibibytes, (long long)(active_s * 1e9));
    machine_put(bench, path, text);
}

static void put_process(struct machine_bench *bench, int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/0", pid);
    assert_true(host_script_link(bench->host, path, "/dev/null"));
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "uevent",
                "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:740F\nPCI_SLOT_NAME=" SLOT "\n");
    machine_put(bench, "/sys/class/drm/card0/device/uevent",
                "DRIVER=i915\nPCI_CLASS=30000\nPCI_ID=8086:A7A0\nPCI_SLOT_NAME=" OTHER "\n");
    put_process(bench, 1);
    return 0;
}

static void run_s(struct machine_bench *bench, double seconds)
{
    if (!bench->meter)
        bench->meter = machine_open_devices(bench->host, "amdgpu,intel_gpu");
    machine_run(bench->meter, seconds, 0.1);
}

static size_t list_of(const struct machine_bench *bench, const char *name, joule_device_process list[8])
{
    return joule_device_processes(bench->meter, name, list, 8);
}

static bool is_known(const struct machine_bench *bench, size_t position)
{
    joule_device d = {.struct_size = sizeof d};
    assert_int_equal(joule_device_get(bench->meter, position, &d), JOULE_OK);
    assert_true(d.has_process_list || d.process_count == 0);
    return d.has_process_list;
}

static void test_each_device_has_its_own(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_process list[8];
    put_client(bench, 10, 5, SLOT, 1, 100, 1024);
    put_client(bench, 10, 6, SLOT, 1, 100, 1024); /* client 1 again, through a duplicated descriptor */
    put_client(bench, 10, 7, SLOT, 3, 0, 2048);   /* another client of the same process */
    put_client(bench, 10, 8, OTHER, 3, 0, 4096);  /* a client of another board, with the same id */
    put_client(bench, 11, 5, SLOT, 1, 100, 1024); /* client 1 again, in a process that inherited it */
    put_client(bench, 12, 5, SLOT, 9, 0, 0);      /* the process has opened the board, but does not use it */
    put_client(bench, 9, 3, OTHER, 20, 5, 0);
    run_s(bench, 2.5);
    assert_int_equal(list_of(bench, "gpu:0", list), 1);
    assert_int_equal(list[0].pid, 10);
    assert_int_equal(list[0].memory_bytes, 3 << 20);
    assert_near(list[0].busy, 0, 0);
    assert_int_equal(list_of(bench, "gpu:1", list), 2);
    assert_int_equal(list[0].pid, 9);
    assert_int_equal(list[0].memory_bytes, 0);
    assert_int_equal(list[1].pid, 10);
    assert_int_equal(list[1].memory_bytes, 4 << 20);
    for (int i = 1; i <= 3; i++) {
        put_client(bench, 10, 5, SLOT, 1, 100 + 0.5 * i, 1024);
        put_client(bench, 10, 6, SLOT, 1, 100 + 0.5 * i, 1024);
        put_client(bench, 11, 5, SLOT, 1, 100 + 0.5 * i, 1024);
        put_client(bench, 10, 7, SLOT, 3, 0.25 * i, 2048);
        run_s(bench, 1);
        assert_int_equal(list_of(bench, "gpu:0", list), 1);
        assert_near(list[0].busy, 0.75, 1e-6);
    }
    assert_true(is_known(bench, 0) && is_known(bench, 1));
}

static void test_new_and_ended_clients_are_counted(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_process list[8];
    run_s(bench, 2.5);
    assert_int_equal(list_of(bench, "gpu:0", list), 0);
    put_client(bench, 300, 5, SLOT, 1, 0, 64); /* a new process is found at the next update */
    put_process(bench, 301);
    run_s(bench, 1);
    assert_int_equal(list_of(bench, "gpu:0", list), 1);
    assert_int_equal(list[0].pid, 300);
    assert_true(isnan(list[0].busy)); /* the fraction is unknown until the next update */
    /* process 301 opens the board only now; it is new, so it is searched again soon */
    put_client(bench, 301, 4, SLOT, 2, 0, 64);
    run_s(bench, 4);
    assert_int_equal(list_of(bench, "gpu:0", list), 2);
    /* Process 1 opens the board only now. Old processes are searched rarely, so it is found last. */
    put_client(bench, 1, 4, SLOT, 3, 0, 64);
    run_s(bench, 34);
    assert_int_equal(list_of(bench, "gpu:0", list), 3);
    machine_put(bench, "/proc/300/fdinfo/5", NULL); /* the process closes the board */
    /* the file number now belongs to another file */
    machine_put(bench, "/proc/301/fdinfo/4", "pos: 0\nflags: 02\n");
    run_s(bench, 1);
    assert_int_equal(list_of(bench, "gpu:0", list), 1);
    assert_int_equal(list[0].pid, 1);
}

/* If a file number is reused by another client, its active time is counted from the beginning. */
static void test_another_client_under_the_same_number(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_process list[8];
    put_client(bench, 10, 5, SLOT, 1, 1, 64);
    run_s(bench, 2.5);
    put_client(bench, 10, 5, SLOT, 2, 500, 64);
    run_s(bench, 1);
    assert_int_equal(list_of(bench, "gpu:0", list), 1);
    assert_true(isnan(list[0].busy));
    put_client(bench, 10, 5, SLOT, 2, 500.5, 64);
    run_s(bench, 1);
    list_of(bench, "gpu:0", list);
    assert_near(list[0].busy, 0.5, 1e-6);
}

/* The process list is known to be empty only if all processes were visible and none used the board. If
 * processes were not visible, the list is unknown. */
static void test_list_is_unknown_unless_all_processes_are_visible(void **state)
{
    struct machine_bench *bench = *state;
    run_s(bench, 2.5);
    assert_false(is_known(bench, 0)); /* the process namespace is unknown */
    assert_true(host_script_link(bench->host, "/proc/self/ns/pid", "pid:[4026532000]"));
    run_s(bench, 1);
    assert_false(is_known(bench, 0)); /* the process namespace is that of a container */
    machine_put(bench, "/proc/self/ns/pid", NULL);
    assert_true(host_script_link(bench->host, "/proc/self/ns/pid", "pid:[4026531836]"));
    run_s(bench, 1);
    assert_true(is_known(bench, 0) && is_known(bench, 1));
    /* the process of another user cannot be read */
    assert_true(host_script_error(bench->host, "/proc/50/fd", EACCES));
    run_s(bench, 1);
    assert_false(is_known(bench, 0));
    put_client(bench, 60, 5, SLOT, 1, 0, 64);
    run_s(bench, 1);
    /* the list is known, because one process is visible; there may be others */
    assert_true(is_known(bench, 0));
    assert_false(is_known(bench, 1));
}

static void test_number_of_processes_is_limited(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_process list[8];
    for (int pid = 100; pid < 900; pid++)
        put_process(bench, pid);
    for (int pid = 1000; pid < 1100; pid++)
        put_client(bench, pid, 5, SLOT, pid, 0, 64);
    run_s(bench, 5);
    assert_int_equal(list_of(bench, "gpu:0", list), 64); /* 64 processes are the maximum */
    assert_int_equal(list[0].pid, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients_of_amdgpu_are_read),
        cmocka_unit_test(test_times_that_fall),
        cmocka_unit_test(test_memory_of_each_kind),
        cmocka_unit_test(test_i915_has_several_engines_of_a_kind),
        cmocka_unit_test(test_xe_counts_cycles),
        cmocka_unit_test(test_other_files_are_no_clients),
        cmocka_unit_test_setup_teardown(test_each_device_has_its_own, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_new_and_ended_clients_are_counted, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_another_client_under_the_same_number, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_list_is_unknown_unless_all_processes_are_visible, setup,
                                        machine_teardown),
        cmocka_unit_test_setup_teardown(test_number_of_processes_is_limited, setup, machine_teardown),
    };
    return cmocka_run_group_tests_name("drm_processes", tests, NULL, NULL);
}
