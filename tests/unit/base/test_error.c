/* Tests messages in a caller's joule_error: a message may be truncated or get a prefix, and the caller may
 * pass NULL. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/error.h"

static void test_sets_status_and_message(void **state)
{
    (void)state;
    joule_error error = {0};
    assert_int_equal(error_set(&error, JOULE_DENIED, "cannot read %s: %d", "/x", 7), JOULE_DENIED);
    assert_int_equal(error.status, JOULE_DENIED);
    assert_string_equal(error.message, "cannot read /x: 7");
    assert_int_equal(error_set(NULL, JOULE_FAILED, "no error object"), JOULE_FAILED);
}

static void test_cuts_long_messages(void **state)
{
    (void)state;
    char long_text[2000];
    memset(long_text, 'a', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    joule_error error;
    memset(&error, 'z', sizeof error);
    error_set(&error, JOULE_INVALID, "%s", long_text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
}

static void test_wraps_its_own_message(void **state)
{
    (void)state;
    joule_error error;
    error_set(&error, JOULE_ABSENT, "no such file");
    error_set(&error, JOULE_FAILED, "cannot open: %s", error.message);
    assert_string_equal(error.message, "cannot open: no such file");
}

static void test_errno_values_map_to_statuses(void **state)
{
    (void)state;
    assert_int_equal(status_of_errno(0), JOULE_OK);
    assert_int_equal(status_of_errno(ENOENT), JOULE_ABSENT);
    assert_int_equal(status_of_errno(ENODEV), JOULE_ABSENT);
    assert_int_equal(status_of_errno(ENXIO), JOULE_ABSENT);
    assert_int_equal(status_of_errno(ENOTDIR), JOULE_ABSENT);
    assert_int_equal(status_of_errno(EACCES), JOULE_DENIED);
    assert_int_equal(status_of_errno(EPERM), JOULE_DENIED);
    assert_int_equal(status_of_errno(EOPNOTSUPP), JOULE_UNSUPPORTED);
    assert_int_equal(status_of_errno(EINVAL), JOULE_UNSUPPORTED);
    assert_int_equal(status_of_errno(ENODATA), JOULE_UNSUPPORTED);
    assert_int_equal(status_of_errno(ENOSYS), JOULE_UNSUPPORTED);
    assert_int_equal(status_of_errno(ENOMEM), JOULE_NO_MEMORY);
    assert_int_equal(status_of_errno(EIO), JOULE_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets_status_and_message),
        cmocka_unit_test(test_cuts_long_messages),
        cmocka_unit_test(test_wraps_its_own_message),
        cmocka_unit_test(test_errno_values_map_to_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
