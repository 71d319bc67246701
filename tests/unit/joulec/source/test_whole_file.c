/* Checks that joulec reads files as a whole, with a NUL after the contents, and reports errors for unreadable
 * files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "joulec/source/whole_file.h"

#define LONG 100000 /* longer than a stdio buffer */

/* Creates a file with these bytes and writes its path to `path`. Returns a descriptor that is open for
 * reading. */
static int file_of(char path[], const char *bytes, size_t size)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    return fd;
}

static void check(const char *bytes, size_t size, size_t read_by_path)
{
    char path[] = "/tmp/test_whole_file_XXXXXX";
    struct arena arena = {0};
    int fd = file_of(path, bytes, size);
    size_t got = SIZE_MAX;
    char *by_path = whole_file(path, &got), *by_fd = whole_fd(&arena, fd);
    assert_true(by_path && by_fd);
    assert_int_equal(got, read_by_path);
    assert_memory_equal(by_path, bytes, read_by_path);
    assert_memory_equal(by_fd, bytes, size);
    assert_int_equal(by_path[got], '\0');
    assert_int_equal(by_fd[size], '\0');
    free(by_path);
    arena_free(&arena);
    close(fd);
    unlink(path);
}

static void test_whole_file_is_read(void **state)
{
    (void)state;
    char *bytes = malloc(LONG);
    assert_non_null(bytes);
    memset(bytes, 'x', LONG);
    check("", 0, 0);
    check("a\nb", 3, 3);
    check(bytes, LONG, LONG);
    free(bytes);
}

static void test_text_by_path_ends_with_a_nul(void **state)
{
    (void)state;
    check("a\0b", 3, 2);
}

static void test_unreadable_files_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    size_t size;
    int ends[2];
    errno = 0;
    assert_null(whole_file("/nonexistent/file", &size));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(pipe(ends), 0);
    assert_null(whole_fd(&arena, ends[0]));
    assert_null(whole_fd(&arena, -1));
    close(ends[0]);
    close(ends[1]);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_file_is_read),
        cmocka_unit_test(test_text_by_path_ends_with_a_nul),
        cmocka_unit_test(test_unreadable_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
