/* Tests AMD's compute driver: its nodes, the processes that use them, and partitions of a board. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/amd/kfd.h"
#include "support/machine.h"
#include "support/test_data.h"

#define SLOT  "0000:c1:00.0"
#define CARD  "/sys/class/drm/card1/device/"
#define KFD   "/sys/class/kfd/kfd/"
#define NODES KFD "topology/nodes/"
#define BUS   0xc100u

static void put_number(struct machine_bench *bench, const char *path, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%llu\n", (unsigned long long)number);
    machine_put(bench, path, text);
}

/* Adds a node with the id 1000 + number and 24 GB of memory. */
static void put_node(struct machine_bench *bench, unsigned number, uint32_t location, uint64_t unique_id)
{
    char path[128], text[256];
    snprintf(text, sizeof text,
             "cpu_cores_count 0\nsimd_count 152\ngfx_target_version 90402\nlocation_id %u\ndomain 0\n"
             "local_mem_size 0\nunique_id %llu\nnum_xcc 1\n",
             location, (unsigned long long)unique_id);
    snprintf(path, sizeof path, NODES "%u/properties", number);
    machine_put(bench, path, text);
    snprintf(path, sizeof path, NODES "%u/gpu_id", number);
    put_number(bench, path, 1000 + number);
    snprintf(path, sizeof path, NODES "%u/mem_banks/0/properties", number);
    machine_put(bench, path, "heap_type 1\nsize_in_bytes 24000000000\nflags 0\nwidth 8192\n");
}

static void put_memory(struct machine_bench *bench, int pid, unsigned node, uint64_t bytes)
{
    char path[128];
    snprintf(path, sizeof path, KFD "proc/%d/vram_%u", pid, 1000 + node);
    put_number(bench, path, bytes);
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "uevent",
                "DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID=1002:74A1\nPCI_SLOT_NAME=" SLOT "\n");
    machine_put(bench, CARD "current_compute_partition", "SPX\n");
    machine_put(bench, CARD "current_memory_partition", "NPS1\n");
    machine_put(bench, KFD "topology/generation_id", "2\n");
    machine_put(bench, NODES "0/properties", "cpu_cores_count 96\nsimd_count 0\nlocation_id 0\n");
    machine_put(bench, NODES "0/gpu_id", "0\n");
    put_node(bench, 1, BUS, 77);
    assert_true(host_script_link(bench->host, "/proc/self/ns/pid", "pid:[4026531836]"));
    return 0;
}

static joule_device run_s(struct machine_bench *bench, double seconds)
{
    joule_device device = {.struct_size = sizeof device};
    if (!bench->meter)
        bench->meter = machine_open_devices(bench->host, "amdgpu");
    machine_run(bench->meter, seconds, 0.1);
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    return device;
}

/* --- processes ------------------------------------------------------------------------------------------ */

static void test_computing_processes_are_listed(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_process list[4];
    put_node(bench, 2, 0x0300, 78);
    put_memory(bench, 4242, 1, 5000000000);
    put_memory(bench, 4242, 2, 0); /* the driver has a file for each node, also for unused ones */
    put_memory(bench, 4243, 1, 0);
    put_memory(bench, 4243, 2, 1000000);
    machine_put(bench, KFD "proc/4242/sdma_1001", "12345\n");
    joule_device device = run_s(bench, 2.5);
    assert_string_equal(device.architecture, "gfx942");
    assert_true(device.has_process_list);
    assert_int_equal(device.partition_count, 0);
    assert_int_equal(joule_device_processes(bench->meter, "gpu:0", list, 4), 1);
    assert_int_equal(list[0].pid, 4242);
    assert_true(list[0].memory_bytes == 5000000000 && isnan(list[0].busy));
    put_memory(bench, 4242, 1, 0); /* the process ends */
    run_s(bench, 1);
    assert_int_equal(joule_device_processes(bench->meter, "gpu:0", list, 4), 0);
}

/* The graphics driver shows the memory of the process, but not its compute work. Its busy fraction is
 * therefore 0 and is not used. */
static void put_client(struct machine_bench *bench, int pid, int kibibytes)
{
    char path[64], text[160];
    snprintf(path, sizeof path, "/proc/%d/fd/5", pid);
    assert_true(host_script_link(bench->host, path, "/dev/dri/renderD128"));
    snprintf(path, sizeof path, "/proc/%d/fdinfo/5", pid);
    snprintf(text, sizeof text,
             "drm-client-id: %d\ndrm-pdev: " SLOT "\ndrm-memory-vram: %d KiB\ndrm-engine-gfx: 5 ns\n", pid,
             kibibytes);
    machine_put(bench, path, text);
}

static void test_one_process_in_both_drivers(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_process list[4];
    put_client(bench, 10, 8192);
    put_client(bench, 20, 64);
    put_memory(bench, 10, 1, 1 << 20);
    run_s(bench, 3.5);
    assert_int_equal(joule_device_processes(bench->meter, "gpu:0", list, 4), 2);
    assert_int_equal(list[0].pid, 10);
    assert_int_equal(list[0].memory_bytes, 8 << 20);
    assert_true(isnan(list[0].busy));
    assert_int_equal(list[1].pid, 20);
    assert_true(list[1].busy == 0);
    put_memory(bench, 30, 1, 4096); /* the process of another user */
    run_s(bench, 1);
    assert_int_equal(joule_device_processes(bench->meter, "gpu:0", list, 4), 3);
    /* in a container, process numbers differ from the driver's */
    machine_put(bench, "/proc/self/ns/pid", NULL);
    run_s(bench, 1);
    assert_int_equal(joule_device_processes(bench->meter, "gpu:0", list, 4), 2);
    assert_true(list[0].busy == 0);
}

/* --- partitions ----------------------------------------------------------------------------------------- */

static void put_partitions(struct machine_bench *bench, const char *mode, unsigned count, unsigned shift)
{
    machine_put(bench, CARD "current_compute_partition", mode);
    for (unsigned i = 0; i < count; i++)
        put_node(bench, 1 + i, BUS | i << shift, 77 + i);
}

static void assert_partitions(struct machine_bench *bench, size_t count, const char *profile)
{
    joule_device_partition list[16];
    assert_int_equal(run_s(bench, 2.5).partition_count, count);
    assert_int_equal(joule_device_partitions(bench->meter, "gpu:0", list, 16), count);
    for (size_t i = 0; i < count; i++) {
        char uuid[32];
        snprintf(uuid, sizeof uuid, "GPU-%016x", (unsigned)(77 + i));
        assert_string_equal(list[i].uuid, uuid);
        assert_string_equal(list[i].profile, profile);
        assert_int_equal(list[i].instance, i);
        assert_int_equal(list[i].compute_instance, JOULE_INSTANCE_UNKNOWN);
        assert_true(list[i].memory_total_bytes == 24000000000);
        assert_true(list[i].memory_used_bytes == JOULE_BYTES_UNKNOWN);
    }
}

static void test_partitions_are_listed(void **state)
{
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "current_memory_partition", "NPS4\n");
    put_partitions(bench, "CPX\n", 8, 28);
    assert_partitions(bench, 8, "CPX/NPS4");
    assert_int_equal(joule_device_count(bench->meter), 1);
}

/* The first kernels with partitions had no memory mode, and the PCI function was the partition's number. */
static void test_partitions_of_older_kernels(void **state)
{
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "current_memory_partition", NULL);
    put_partitions(bench, "QPX\n", 4, 0);
    assert_partitions(bench, 4, "QPX");
}

/* The partition mode changes while the meter is open. */
static void test_the_mode_changes(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_process list[4];
    assert_partitions(bench, 0, "");
    put_partitions(bench, "DPX\n", 2, 28);
    put_memory(bench, 50, 1, 1000);
    put_memory(bench, 50, 2, 500);
    machine_put(bench, KFD "topology/generation_id", "4\n");
    assert_partitions(bench, 2, "DPX/NPS1");
    assert_int_equal(joule_device_processes(bench->meter, "gpu:0", list, 4), 1);
    assert_true(list[0].memory_bytes == 1500); /* the sum of both partitions */
    machine_put(bench, CARD "current_compute_partition", "SPX\n");
    machine_put(bench, NODES "2/properties", NULL);
    machine_put(bench, KFD "topology/generation_id", "6\n");
    assert_partitions(bench, 0, "");
}

static void test_nodes_that_may_not_be_read(void **state)
{
    struct machine_bench *bench = *state;
    put_partitions(bench, "CPX\n", 8, 28);
    for (unsigned node = 2; node <= 8; node++) {
        char path[64];
        snprintf(path, sizeof path, NODES "%u/properties", node);
        assert_true(host_script_error(bench->host, path, EPERM));
    }
    assert_partitions(bench, 1, "CPX/NPS1");
}

/* The PCI function of a node can be the number of a partition. If a device with this function exists on the
 * bus, it is not. */
static void test_a_function_of_the_bus(void **state)
{
    struct machine_bench *bench = *state;
    struct kfd *kfd = calloc(1, sizeof *kfd);
    put_node(bench, 2, 0x0301, 90);
    put_node(bench, 3, 0x0402, 91);
    machine_put(bench, "/sys/bus/pci/devices/0000:03:00.1/vendor", "0x1002\n");
    kfd_read_nodes(kfd, bench->host);
    assert_int_equal(kfd->node_count, 3);
    assert_string_equal(kfd->nodes[0].pci_address, "0000:03:00.1");
    assert_int_equal(kfd->nodes[0].partition, 0);
    assert_string_equal(kfd->nodes[1].pci_address, "0000:04:00.0");
    assert_int_equal(kfd->nodes[1].partition, 2);
    kfd_free(kfd);
    free(kfd);
}

/* --- a recorded machine --------------------------------------------------------------------------------- */

static void test_a_recorded_machine(void **state)
{
    struct machine_bench *bench = *state;
    const char *archive = test_data("fixtures/lact-gpu-sysfs.tar.gz"), *root = TEST_BINARY_DIR "/lact-kfd";
    char command[4096], name[32];
    if (!archive)
        skip();
    snprintf(command, sizeof command, "mkdir -p '%s' && tar -xzf '%s' -C '%s' tests/snapshots/amd/phoenix",
             root, archive, root);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s/tests/snapshots/amd/phoenix/kfd", root);
    assert_true(machine_add(bench->host, command, "/sys/class/kfd/kfd"));
    struct kfd *kfd = calloc(1, sizeof *kfd);
    kfd_read_nodes(kfd, bench->host);
    assert_int_equal(kfd->node_count, 1);
    assert_string_equal(kfd->nodes[0].pci_address, "0000:64:00.0");
    assert_int_equal(kfd->nodes[0].id, 35218);
    assert_true(kfd->nodes[0].memory_bytes == 31433977856);
    kfd_architecture(kfd, "0000:64:00.0", name, sizeof name);
    assert_string_equal(name, "gfx1103");
    kfd_free(kfd);
    free(kfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_computing_processes_are_listed, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_one_process_in_both_drivers, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_partitions_are_listed, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_partitions_of_older_kernels, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_the_mode_changes, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_nodes_that_may_not_be_read, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_function_of_the_bus, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_recorded_machine, machine_setup, machine_teardown),
    };
    return cmocka_run_group_tests_name("kfd", tests, NULL, NULL);
}
