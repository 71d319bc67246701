/* Tests that small files are read as trimmed text and numbers, and that unreadable files are empty. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "joule/host/host.h"

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

static void text_is_trimmed_and_cut(void **state)
{
    char text[8];
    host_script_text(*state, "/sys/a", " b c\t\n");
    assert_true(host_read_text(*state, "/sys/a", text, sizeof text));
    assert_string_equal(text, "b c");
    host_script_text(*state, "/sys/a", "123456789\n");
    assert_true(host_read_text(*state, "/sys/a", text, sizeof text));
    assert_string_equal(text, "1234567");
    host_script_text(*state, "/sys/a", "");
    assert_true(host_read_text(*state, "/sys/a", text, sizeof text));
    assert_string_equal(text, "");
}

static ssize_t fail_half_way(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    (void)time_ns;
    snprintf(buffer, size, "half");
    return -EIO;
}

static void unreadable_files_are_empty(void **state)
{
    char text[8] = "before";
    assert_false(host_read_text(*state, "/sys/none", text, sizeof text));
    assert_string_equal(text, "");
    host_script_file(*state, "/sys/half", fail_half_way, NULL);
    assert_false(host_read_text(*state, "/sys/half", text, sizeof text));
    assert_string_equal(text, "");
}

static void a_number_is_all_of_the_file(void **state)
{
    uint64_t value = 7;
    host_script_text(*state, "/sys/n", "18446744073709551615\n");
    assert_true(host_read_u64(*state, "/sys/n", &value));
    assert_true(value == UINT64_MAX);
    host_script_text(*state, "/sys/n", "12 J\n");
    assert_false(host_read_u64(*state, "/sys/n", &value));
    assert_false(host_read_u64(*state, "/sys/none", &value));
    assert_true(value == UINT64_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(text_is_trimmed_and_cut),
        TEST(unreadable_files_are_empty),
        TEST(a_number_is_all_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
