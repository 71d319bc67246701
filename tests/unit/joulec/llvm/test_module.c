/* Checks that reading a module leaves no file open, even if the file cannot be opened. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include "joulec/module/module.h"

static char path[] = "/tmp/test_module_XXXXXX";

static int first_free(void)
{
    int fd = dup(STDOUT_FILENO);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

/* Reads a module while the process may open `room` more files. */
static joule_status read_with(int room)
{
    struct rlimit limit, own;
    struct module module;
    joule_error error;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
    limit = own;
    limit.rlim_cur = (rlim_t)first_free() + (rlim_t)room;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    joule_status status = module_read(path, NULL, &module, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &own), 0);
    if (status == JOULE_OK)
        module_free(&module);
    return status;
}

static void test_no_file_stays_open(void **state)
{
    (void)state;
    int own = first_free();
    assert_int_equal(read_with(0), JOULE_INVALID);
    assert_int_equal(first_free(), own);
    assert_int_equal(read_with(1), JOULE_OK);
    assert_int_equal(first_free(), own);
}

int main(void)
{
    static const char text[] = "define i32 @f(i32 %a) {\n  ret i32 %a\n}\n";
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)(sizeof text - 1))
        return 1;
    close(fd);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_file_stays_open)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
