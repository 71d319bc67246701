/* Tests the scripted host: sources see the files, registers, events and programs that a test has registered,
 * in virtual time. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "joule/host/host.h"

#define S INT64_C(1000000000)

static int set_up(void **state)
{
    *state = host_script_open();
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    struct joule_host *host = *state;
    host->ops->close(host);
    return 0;
}

static ssize_t time_text(void *context, int64_t time_ns, char *buffer, size_t size)
{
    return snprintf(buffer, size, "%s %lld\n", (const char *)context, (long long)(time_ns / S));
}

static int time_value(void *context, int64_t time_ns, uint64_t *out_value)
{
    *out_value = *(uint64_t *)context + (uint64_t)(time_ns / S);
    return 0;
}

static void expect_text(struct joule_host *host, const char *path, const char *text)
{
    char buffer[64];
    assert_int_equal(host->ops->read_file(host, path, buffer, sizeof buffer), strlen(text));
    assert_string_equal(buffer, text);
}

static ssize_t read_error(struct joule_host *host, const char *path)
{
    char buffer[64];
    return host->ops->read_file(host, path, buffer, sizeof buffer);
}

static void test_clocks_never_go_back(void **state)
{
    struct joule_host *host = *state;
    int64_t begin = host->ops->clock_ns(host, CLOCK_MONOTONIC);
    int64_t real = host->ops->clock_ns(host, CLOCK_REALTIME);
    assert_true(begin > 0);
    host_script_set_time(host, begin + 5 * S);
    host_script_set_time(host, begin); /* the time does not go back */
    assert_true(host->ops->clock_ns(host, CLOCK_MONOTONIC) == begin + 5 * S);
    assert_true(host->ops->clock_ns(host, CLOCK_BOOTTIME) == begin + 5 * S);
    host_script_suspend(host, 60 * S);
    assert_true(host->ops->clock_ns(host, CLOCK_MONOTONIC) == begin + 5 * S);
    assert_true(host->ops->clock_ns(host, CLOCK_BOOTTIME) == begin + 65 * S);
    assert_true(host->ops->clock_ns(host, CLOCK_REALTIME) == real + 65 * S);
}

static void test_files_change_with_time(void **state)
{
    struct joule_host *host = *state;
    host_script_set_time(host, 2 * S);
    assert_true(host_script_file(host, "/sys/power", time_text, (void *)"at"));
    int handle = host->ops->open_file(host, "/sys/power");
    char buffer[64];
    assert_int_equal(host->ops->read_handle(host, handle, buffer, sizeof buffer), 5);
    assert_string_equal(buffer, "at 2\n");
    host_script_set_time(host, 7 * S);
    host->ops->read_handle(host, handle, buffer, sizeof buffer);
    assert_string_equal(buffer, "at 7\n");
    host->ops->read_handle(host, handle, buffer, 3); /* the text is truncated, but terminated */
    assert_string_equal(buffer, "at");
}

static void test_texts_are_replaced_and_removed(void **state)
{
    struct joule_host *host = *state;
    host_script_text(host, "/sys/a/name", "one\n");
    int handle = host->ops->open_file(host, "/sys/a/name");
    host_script_text(host, "/sys/a/name", "two\n");
    expect_text(host, "/sys/a/name", "two\n");
    host_script_text(host, "/sys/a/name", NULL);
    assert_int_equal(read_error(host, "/sys/a/name"), -ENOENT);
    char buffer[8];
    assert_int_equal(host->ops->read_handle(host, handle, buffer, sizeof buffer), -ENODEV);
    struct arena arena = {0};
    char **names;
    assert_int_equal(host->ops->list(host, "/sys/a", &arena, &names), -ENOENT);
    arena_free(&arena);
    host_script_text(host, "/sys/a/name", "back");
    expect_text(host, "/sys/a/name", "back");
}

static void test_errors_come_where_a_kernel_gives_them(void **state)
{
    struct joule_host *host = *state;
    host_script_error(host, "/sys/denied", EACCES);
    host_script_error(host, "/sys/dead", EIO);
    assert_int_equal(host->ops->open_file(host, "/sys/denied"), -EACCES);
    assert_int_equal(read_error(host, "/sys/denied"), -EACCES);
    char buffer[8];
    int handle = host->ops->open_file(host, "/sys/dead");
    assert_true(handle >= 0);
    assert_int_equal(host->ops->read_handle(host, handle, buffer, sizeof buffer), -EIO);
    assert_int_equal(read_error(host, "/sys/nothing"), -ENOENT);
}

static void test_folders_are_listed_sorted(void **state)
{
    struct joule_host *host = *state;
    host_script_text(host, "/sys/class/z/name", "z");
    host_script_text(host, "/sys/class/b/name", "b");
    host_script_text(host, "/sys/class/b/value", "1");
    host_script_text(host, "/sys/classes", "no child of class");
    host_script_link(host, "/sys/class/a", "../devices/a");
    host_script_text(host, "/sys/devices/a/name", "a");
    struct arena arena = {0};
    char **names;
    assert_int_equal(host->ops->list(host, "/sys/class", &arena, &names), 3);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    assert_string_equal(names[2], "z");
    assert_int_equal(host->ops->list(host, "/sys/class/a/", &arena, &names), 1);
    assert_string_equal(names[0], "name");
    assert_int_equal(host->ops->list(host, "/", &arena, &names), 1);
    assert_int_equal(host->ops->list(host, "/sys/class/b/name", &arena, &names), -ENOTDIR);
    host_script_error(host, "/sys/closed", EACCES);
    assert_int_equal(host->ops->list(host, "/sys/closed", &arena, &names), -EACCES);
    assert_int_equal(read_error(host, "/sys/class/b"), -EISDIR);
    arena_free(&arena);
}

static void test_links_are_followed(void **state)
{
    struct joule_host *host = *state;
    char target[64];
    host_script_link(host, "/sys/class/hwmon0", "/sys/devices/chip");
    host_script_text(host, "/sys/class/hwmon0/name", "put through the link");
    expect_text(host, "/sys/devices/chip/name", "put through the link");
    expect_text(host, "/sys/class/hwmon0/name", "put through the link");
    assert_int_equal(host->ops->read_link(host, "/sys/class/hwmon0", target, sizeof target), 17);
    assert_string_equal(target, "/sys/devices/chip");
    assert_int_equal(host->ops->read_link(host, "/sys/devices/chip", target, sizeof target), -EINVAL);
    assert_int_equal(host->ops->read_link(host, "/sys/none", target, sizeof target), -ENOENT);
    host_script_link(host, "/sys/dangling", "../gone");
    assert_int_equal(read_error(host, "/sys/dangling/name"), -ENOENT);
}

static void test_registers_and_events(void **state)
{
    struct joule_host *host = *state;
    uint64_t base = 100, value;
    struct host_perf_event event = {.type = 9, .config = 2, .cpu = 0},
                           other = {.type = 9, .config = 2, .cpu = 1};
    host_script_set_time(host, 3 * S);
    host_script_register(host, 4, 0xC001029B, time_value, &base);
    assert_int_equal(host->ops->open_register(host, 0), -ENOENT);
    int handle = host->ops->open_register(host, 4);
    assert_true(handle >= 0);
    assert_int_equal(host->ops->read_register(host, handle, 0xC001029B, &value), 0);
    assert_true(value == 103);
    assert_int_equal(host->ops->read_register(host, handle, 0x611, &value), -EIO);
    host_script_error(host, "/dev/cpu/5/msr", EPERM);
    assert_int_equal(host->ops->open_register(host, 5), -EPERM);

    host_script_perf(host, &event, time_value, &base);
    assert_int_equal(host->ops->open_perf(host, &other), -ENOENT);
    handle = host->ops->open_perf(host, &event);
    assert_int_equal(host->ops->read_perf(host, handle, &value), 0);
    assert_true(value == 103);
    host_script_error(host, "/perf/9/0x2/1", EACCES);
    assert_int_equal(host->ops->open_perf(host, &other), -EACCES);
}

/* Prints its last argument and the time. If the last argument is "long", prints more than fits in the buffer.
 * If it is "hang", does not end. */
static ssize_t run_tool(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                        int *out_status)
{
    if (strcmp(argv[1], "hang") == 0)
        return -ETIMEDOUT;
    if (strcmp(argv[1], "fail") == 0)
        *out_status = 9;
    if (strcmp(argv[1], "long") == 0)
        return snprintf(buffer, size, "%0*d", (int)size, 0);
    return snprintf(buffer, size, "%s %s %lld", (const char *)context, argv[1], (long long)(time_ns / S));
}

static void test_scripted_programs_run(void **state)
{
    struct joule_host *host = *state;
    char buffer[64];
    int status;
    assert_int_equal(
        host->ops->run(host, (const char *[]){"tool", "a", NULL}, S, buffer, sizeof buffer, &status),
        -ENOENT);
    assert_true(host_script_program(host, "tool", run_tool, (void *)"told"));
    host_script_set_time(host, 4 * S);
    assert_int_equal(
        host->ops->run(host, (const char *[]){"tool", "a", NULL}, S, buffer, sizeof buffer, &status), 8);
    assert_string_equal(buffer, "told a 4");
    assert_int_equal(status, 0);
    assert_int_equal(
        host->ops->run(host, (const char *[]){"tool", "fail", NULL}, S, buffer, sizeof buffer, &status), 11);
    assert_int_equal(status, 9);
    assert_int_equal(
        host->ops->run(host, (const char *[]){"tool", "long", NULL}, S, buffer, sizeof buffer, &status),
        -ENOBUFS);
    assert_int_equal(strlen(buffer), sizeof buffer - 1);
    assert_int_equal(status, -1);
    assert_int_equal(
        host->ops->run(host, (const char *[]){"tool", "hang", NULL}, S, buffer, sizeof buffer, &status),
        -ETIMEDOUT);
}

static int answer(void)
{
    return 42;
}

static void test_environment_cpuid_and_libraries(void **state)
{
    struct joule_host *host = *state;
    uint32_t registers[4] = {1, 2, 3, 4}, out[4];
    assert_null(host->ops->env(host, "HOME"));
    host_script_env(host, "HOME", "/root");
    assert_string_equal(host->ops->env(host, "HOME"), "/root");
    host_script_env(host, "HOME", NULL);
    assert_null(host->ops->env(host, "HOME"));
    assert_false(host->ops->cpuid(host, 7, 0, out));
    host_script_cpuid(host, 7, 0, registers);
    assert_true(host->ops->cpuid(host, 7, 0, out));
    assert_int_equal(out[3], 4);
    assert_false(host->ops->cpuid(host, 7, 1, out));
    const struct script_symbol symbols[] = {{"answer", (void *)answer}};
    assert_null(host->ops->open_library(host, "libx.so.1"));
    host_script_library(host, "libx.so.1", symbols, 1);
    void *library = host->ops->open_library(host, "libx.so.1");
    assert_non_null(library);
    assert_ptr_equal(host->ops->library_symbol(host, library, "answer"), (void *)answer);
    assert_null(host->ops->library_symbol(host, library, "question"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_clocks_never_go_back),
        TEST(test_files_change_with_time),
        TEST(test_texts_are_replaced_and_removed),
        TEST(test_errors_come_where_a_kernel_gives_them),
        TEST(test_folders_are_listed_sorted),
        TEST(test_links_are_followed),
        TEST(test_registers_and_events),
        TEST(test_scripted_programs_run),
        TEST(test_environment_cpuid_and_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
