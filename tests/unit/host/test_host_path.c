/* Tests paths: every link stays below the machine's root, and the resolution of a path always ends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/host/path.h"

static const struct {
    const char *path, *target;
} links[] = {
    {"/sys/class/hwmon/hwmon0", "../../devices/chip0"},
    {"/sys/absolute", "/sys/devices/chip0"},
    {"/escape", "../../../../etc"},
    {"/chain", "sys/absolute"},
    {"/loop", "loop"},
    {"/a", "b"},
    {"/b", "a"},
};

static ssize_t read_link(void *context, const char *path, char *buffer, size_t size)
{
    (void)context;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (strcmp(links[i].path, path) == 0) {
            string_copy(buffer, size, links[i].target);
            return (ssize_t)strlen(buffer);
        }
    }
    return -EINVAL;
}

static void expect(const char *path, const char *resolved)
{
    char out[HOST_PATH_MAX];
    assert_int_equal(path_resolve(path, true, read_link, NULL, out), 0);
    assert_string_equal(out, resolved);
}

static void test_paths_are_normalised(void **state)
{
    (void)state;
    expect("/", "/");
    expect("//sys///class/", "/sys/class");
    expect("/sys/./class/../devices", "/sys/devices");
    expect("/not/there", "/not/there");
}

static void test_links_are_followed_inside_the_root(void **state)
{
    (void)state;
    expect("/sys/class/hwmon/hwmon0/name", "/sys/devices/chip0/name");
    expect("/sys/absolute/name", "/sys/devices/chip0/name");
    expect("/chain", "/sys/devices/chip0");
    expect("/sys/class/hwmon/hwmon0/../x", "/sys/devices/x");
}

static void test_nothing_leaves_the_root(void **state)
{
    (void)state;
    expect("/../../etc/passwd", "/etc/passwd");
    expect("/escape/passwd", "/etc/passwd");
    expect("/sys/../../..", "/");
}

static void test_last_link_can_be_kept(void **state)
{
    (void)state;
    char out[HOST_PATH_MAX];
    assert_int_equal(path_resolve("/sys/absolute", false, read_link, NULL, out), 0);
    assert_string_equal(out, "/sys/absolute");
    assert_int_equal(path_resolve("/sys/absolute/", false, read_link, NULL, out), 0);
    assert_string_equal(out, "/sys/absolute");
    assert_int_equal(path_resolve("/chain/name", false, read_link, NULL, out), 0);
    assert_string_equal(out, "/sys/devices/chip0/name");
}

static void test_loops_and_long_paths_are_refused(void **state)
{
    (void)state;
    char out[HOST_PATH_MAX], longest[2 * HOST_PATH_MAX];
    assert_int_equal(path_resolve("/loop/x", true, read_link, NULL, out), -ELOOP);
    assert_int_equal(path_resolve("/a", true, read_link, NULL, out), -ELOOP);
    assert_int_equal(path_resolve("relative", true, read_link, NULL, out), -EINVAL);
    assert_int_equal(path_resolve("", true, read_link, NULL, out), -EINVAL);
    memset(longest, '/', sizeof longest);
    for (size_t i = 1; i < sizeof longest; i += 2)
        longest[i] = 'x';
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(path_resolve(longest, true, read_link, NULL, out), -ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_normalised),
        cmocka_unit_test(test_links_are_followed_inside_the_root),
        cmocka_unit_test(test_nothing_leaves_the_root),
        cmocka_unit_test(test_last_link_can_be_kept),
        cmocka_unit_test(test_loops_and_long_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
