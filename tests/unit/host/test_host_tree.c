/* Tests recorded and real machines: files below the folder of a recording are read, files outside it are not,
 * and errors are those that were recorded. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/host/host.h"
#include "support/scratch.h"

static char root[] = "/tmp/joule-tree-XXXXXX";

static void write_file(const char *path, const char *text)
{
    char full[256], *slash;
    snprintf(full, sizeof full, "%s%s", root, path);
    for (slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(full, 0755);
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void write_link(const char *path, const char *target)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", root, path);
    assert_int_equal(symlink(target, full), 0);
}

static int set_up(void **state)
{
    assert_non_null(mkdtemp(root));
    write_file("/sys/devices/chip0/name", "coretemp\n");
    write_file("/sys/devices/chip0/power1_input", "42\n");
    write_file("/sys/devices/chip0/closed", "1\n");
    write_file("/sys/class/hwmon/readme", "");
    write_link("/sys/class/hwmon/hwmon0", "/sys/devices/chip0");
    write_link("/sys/class/hwmon/out", "../../../../../../../../etc");
    write_link("/sys/class/hwmon/absolute", "/etc/hostname");
    write_file("/dev/cpu/1/msr", "0x606 0xa0e03\n0x611 0x1234\nnonsense\n");
    write_file("/perf/23/0x2/0", "4294967296\n");
    write_file("/drm/renderD128/1", "regions");
    write_file("/cpuid", "0x1 0x0 0x806f8 0x2 0x3 0x80000000\n7 1 1 2 3 4\n");
    write_file("/env", "HOME=/home/x\n\nCUDA_VISIBLE_DEVICES=1,2\n");
    write_file("/run/commands",
               "list.txt 0 smi --list\nquery.txt 6 smi --query a,b\n- ETIMEDOUT smi -l\nmalformed\n"
               "none.txt 0 smi none\n../env 0 smi up\n- 256 smi what\n");
    write_file("/run/list.txt", "board 0\nboard 1\n");
    write_file("/run/query.txt", "no field b\n");
    write_file("/errors", "/sys/devices/chip0/closed EACCES\n/sys/devices/chip0/power1_input EIO\n"
                          "/perf/23/0x2/1 EPERM\n/dev/cpu/0/msr ENXIO\n\nmalformed\n");
    *state = host_tree_open(root);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    struct joule_host *host = *state;
    host->ops->close(host);
    return scratch_remove_tree(root);
}

static ssize_t read_into(struct joule_host *host, const char *path, char buffer[64])
{
    return host->ops->read_file(host, path, buffer, 64);
}

static void test_files_and_links(void **state)
{
    struct joule_host *host = *state;
    char buffer[64];
    assert_int_equal(read_into(host, "/sys/class/hwmon/hwmon0/name", buffer), 9);
    assert_string_equal(buffer, "coretemp\n");
    assert_int_equal(host->ops->read_link(host, "/sys/class/hwmon/hwmon0", buffer, sizeof buffer), 18);
    assert_string_equal(buffer, "/sys/devices/chip0");
    assert_int_equal(read_into(host, "/sys/none", buffer), -ENOENT);
    int handle = host->ops->open_file(host, "/sys/devices/chip0/name");
    assert_true(handle >= 0);
    write_file("/sys/devices/chip0/name", "changed\n");
    assert_int_equal(host->ops->read_handle(host, handle, buffer, sizeof buffer), 8);
    assert_string_equal(buffer, "changed\n");
    host->ops->close_handle(host, handle);
}

/* /etc/hostname exists on the real machine, but must not be visible in the recording. */
static void test_nothing_outside_is_seen(void **state)
{
    struct joule_host *host = *state;
    char buffer[64];
    struct arena arena = {0};
    char **names;
    assert_int_equal(read_into(host, "/sys/class/hwmon/absolute", buffer), -ENOENT);
    assert_int_equal(read_into(host, "/sys/class/hwmon/out/hostname", buffer), -ENOENT);
    assert_int_equal(read_into(host, "/../../../../../../etc/hostname", buffer), -ENOENT);
    assert_int_equal(host->ops->open_file(host, "/etc/hostname"), -ENOENT);
    assert_int_equal(host->ops->list(host, "/sys/class/hwmon/out", &arena, &names), -ENOENT);
    arena_free(&arena);
}

static void test_folders_are_listed_sorted(void **state)
{
    struct joule_host *host = *state;
    struct arena arena = {0};
    char **names;
    assert_int_equal(host->ops->list(host, "/sys/class/hwmon", &arena, &names), 4);
    assert_string_equal(names[0], "absolute");
    assert_string_equal(names[1], "hwmon0");
    assert_int_equal(host->ops->list(host, "/sys/class/hwmon/hwmon0", &arena, &names), 3);
    assert_string_equal(names[0], "closed");
    assert_int_equal(host->ops->list(host, "/sys/class/hwmon/readme", &arena, &names), -ENOTDIR);
    arena_free(&arena);
}

static void test_recorded_errors_are_returned(void **state)
{
    struct joule_host *host = *state;
    char buffer[64];
    assert_int_equal(host->ops->open_file(host, "/sys/class/hwmon/hwmon0/closed"), -EACCES);
    assert_int_equal(read_into(host, "/sys/devices/chip0/closed", buffer), -EACCES);
    int handle = host->ops->open_file(host, "/sys/devices/chip0/power1_input");
    assert_true(handle >= 0);
    assert_int_equal(host->ops->read_handle(host, handle, buffer, sizeof buffer), -EIO);
    host->ops->close_handle(host, handle);
    assert_int_equal(host->ops->open_perf(host, &(struct host_perf_event){23, 2, 1}), -EPERM);
    assert_int_equal(host->ops->open_register(host, 0), -ENXIO);
}

static void test_registers_events_cpuid_env(void **state)
{
    struct joule_host *host = *state;
    uint64_t value = 0;
    uint32_t registers[4];
    int handle = host->ops->open_register(host, 1);
    assert_int_equal(host->ops->read_register(host, handle, 0x611, &value), 0);
    assert_true(value == 0x1234);
    assert_int_equal(host->ops->read_register(host, handle, 0x639, &value), -EIO);
    host->ops->close_handle(host, handle);
    assert_int_equal(host->ops->open_register(host, 2), -ENOENT);
    handle = host->ops->open_perf(host, &(struct host_perf_event){23, 2, 0});
    assert_int_equal(host->ops->read_perf(host, handle, &value), 0);
    assert_true(value == UINT64_C(4294967296));
    host->ops->close_handle(host, handle);
    assert_int_equal(host->ops->open_perf(host, &(struct host_perf_event){23, 3, 0}), -ENOENT);
    assert_true(host->ops->cpuid(host, 1, 0, registers));
    assert_int_equal(registers[0], 0x806f8);
    assert_true(host->ops->cpuid(host, 7, 1, registers));
    assert_false(host->ops->cpuid(host, 7, 0, registers));
    assert_string_equal(host->ops->env(host, "CUDA_VISIBLE_DEVICES"), "1,2");
    assert_null(host->ops->env(host, "CUDA"));
    assert_null(host->ops->env(host, "PATH"));
    assert_null(host->ops->open_library(host, "libc.so.6"));
}

static ssize_t run_words(struct joule_host *host, const char *const *argv, char buffer[64], int *out_status)
{
    return host->ops->run(host, argv, 1, buffer, 64, out_status);
}

static void test_recorded_answers_of_graphics_drivers_are_returned(void **state)
{
    struct joule_host *host = *state;
    char buffer[64];
    assert_int_equal(host->ops->query_drm(host, "renderD128", HOST_XE_MEMORY, buffer, sizeof buffer), 7);
    assert_memory_equal(buffer, "regions", 7);
    assert_int_equal(host->ops->query_drm(host, "renderD128", HOST_I915_MEMORY, buffer, sizeof buffer),
                     -ENOENT);
}

static void test_recorded_programs_run(void **state)
{
    struct joule_host *host = *state;
    char buffer[64];
    int status;
    assert_int_equal(run_words(host, (const char *[]){"smi", "--list", NULL}, buffer, &status), 16);
    assert_string_equal(buffer, "board 0\nboard 1\n");
    assert_int_equal(status, 0);
    assert_int_equal(run_words(host, (const char *[]){"smi", "--query", "a,b", NULL}, buffer, &status), 11);
    assert_int_equal(status, 6);
    assert_int_equal(run_words(host, (const char *[]){"smi", "-l", NULL}, buffer, &status), -ETIMEDOUT);
    assert_int_equal(status, -1);
    assert_int_equal(run_words(host, (const char *[]){"smi", NULL}, buffer, &status), -ENOENT);
    assert_int_equal(run_words(host, (const char *[]){"smi", "--list", "-v", NULL}, buffer, &status),
                     -ENOENT);
    assert_int_equal(run_words(host, (const char *[]){"smi", "--lis", NULL}, buffer, &status), -ENOENT);
    assert_int_equal(run_words(host, (const char *[]){"smi", "none", NULL}, buffer, &status), -ENOENT);
    assert_int_equal(run_words(host, (const char *[]){"smi", "what", NULL}, buffer, &status), -EIO);
    assert_int_equal(host->ops->run(host, (const char *[]){"smi", "--list", NULL}, 1, buffer, 17, &status),
                     16);
    assert_int_equal(host->ops->run(host, (const char *[]){"smi", "--list", NULL}, 1, buffer, 16, &status),
                     -ENOBUFS);
    assert_int_equal(status, -1);
}

static void test_missing_folder_is_refused(void **state)
{
    (void)state;
    assert_null(host_tree_open("/proc/self/none"));
    assert_null(host_tree_open("/dev/null"));
}

static void test_real_machine_is_read(void **state)
{
    (void)state;
    struct joule_host *host = host_real();
    char buffer[64];
    struct arena arena = {0};
    char **names;
    assert_true(host->ops->read_file(host, "/proc/self/comm", buffer, sizeof buffer) > 0);
    assert_string_equal(buffer, "test_host_tree\n");
    assert_int_equal(host->ops->read_file(host, "/proc/self/status", buffer, sizeof buffer),
                     sizeof buffer - 1);
    assert_int_equal(host->ops->open_file(host, "/proc/self/none"), -ENOENT);
    int handle = host->ops->open_file(host, "/proc/self/stat");
    assert_true(handle >= 0);
    assert_true(fcntl(handle, F_GETFD) & FD_CLOEXEC);
    assert_true(host->ops->read_handle(host, handle, buffer, sizeof buffer) > 0);
    /* the second reading begins at the start of the file, too */
    assert_true(host->ops->read_handle(host, handle, buffer, sizeof buffer) > 0);
    host->ops->close_handle(host, handle);
    assert_true(host->ops->list(host, "/proc/self", &arena, &names) > 10);
    assert_int_equal(host->ops->list(host, "/proc/self/comm", &arena, &names), -ENOTDIR);
    assert_true(host->ops->read_link(host, "/proc/self/exe", buffer, sizeof buffer) > 0);
    assert_true(host->ops->clock_ns(host, CLOCK_MONOTONIC) > 0);
    assert_int_equal(host->ops->query_drm(host, "none", HOST_XE_MEMORY, buffer, sizeof buffer), -ENOENT);
    assert_null(host->ops->open_library(host, "libdoes-not-exist.so.9"));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_and_links),
        cmocka_unit_test(test_nothing_outside_is_seen),
        cmocka_unit_test(test_folders_are_listed_sorted),
        cmocka_unit_test(test_recorded_errors_are_returned),
        cmocka_unit_test(test_registers_events_cpuid_env),
        cmocka_unit_test(test_recorded_answers_of_graphics_drivers_are_returned),
        cmocka_unit_test(test_recorded_programs_run),
        cmocka_unit_test(test_missing_folder_is_refused),
        cmocka_unit_test(test_real_machine_is_read),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
