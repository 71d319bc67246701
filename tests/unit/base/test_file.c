/* Tests files whose names or contents are not trusted: the functions do not wait for the other end of a pipe,
 * do not change other files, and leave no temporary file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/file.h"
#include "support/scratch.h"

static const char *const path = scratch_path, *const partial = scratch_partial;

static char *beside(const char *name)
{
    static char text[256];
    snprintf(text, sizeof text, "%s/%s", scratch_folder, name);
    return text;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void expect_text(const char *name, const char *text)
{
    size_t size;
    char *found = file_read_whole(name, FILE_REGULAR, 1000, &size);
    assert_non_null(found);
    assert_string_equal(found, text);
    assert_int_equal(size, strlen(text));
    free(found);
}

/* Replaces the contents of `path` through a temporary file. */
static int replace(const char *text, bool is_exclusive)
{
    struct file_draft draft;
    int reason = file_draft_begin(&draft, path, is_exclusive);
    if (reason)
        return reason;
    assert_int_equal(write(draft.fd, text, strlen(text)), strlen(text));
    return file_draft_commit(&draft);
}

static void test_kinds_of_files_are_found_without_blocking(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(file_open_kind(path, FILE_REGULAR | FILE_DEVICE), -EOPNOTSUPP);
    assert_int_equal(file_open_stream(path), -ENXIO); /* the pipe has no reader */
    assert_int_equal(file_open_kind(scratch_folder, FILE_REGULAR | FILE_DEVICE | FILE_PIPE), -EISDIR);
    assert_int_equal(file_open_kind("/dev/null", FILE_REGULAR), -EOPNOTSUPP);
    assert_int_equal(file_open_kind(beside("none"), FILE_REGULAR), -ENOENT);
    int fd = file_open_kind("/dev/null", FILE_DEVICE);
    assert_true(fd >= 0 && fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    int end = open(path, O_RDWR | O_CLOEXEC);
    fd = file_open_kind(path, FILE_PIPE);
    assert_true(end >= 0 && fd >= 0);
    assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
    fd = file_open_stream(path);
    assert_true(fd >= 0);
    assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
    close(end);
}

static void test_whole_files_have_a_limit(void **state)
{
    (void)state;
    size_t size = 0;
    write_text(path, "12345");
    expect_text(path, "12345");
    assert_null(file_read_whole(path, FILE_REGULAR, 4, &size));
    assert_int_equal(errno, EFBIG);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* the size is refused before the file is read */
    assert_null(file_read_whole(path, FILE_REGULAR, 1 << 20, &size));
    assert_int_equal(errno, EFBIG);
    assert_null(file_read_whole("/dev/zero", FILE_DEVICE, 1 << 20, &size)); /* the device has no end */
    assert_int_equal(errno, EFBIG);
    assert_int_equal(truncate(path, 0), 0);
    expect_text(path, "");
}

static void test_a_draft_replaces_the_whole_file(void **state)
{
    (void)state;
    struct stat info;
    assert_int_equal(replace("first", true), 0);
    expect_text(path, "first");
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(replace("second", false), 0);
    expect_text(path, "second");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 07777, 0604);
    struct file_draft draft;
    assert_int_equal(file_draft_begin(&draft, path, true), 0);
    file_draft_discard(&draft);
    expect_text(path, "second");
    assert_int_equal(access(partial, F_OK), -1);
}

static void test_only_regular_files_are_replaced(void **state)
{
    (void)state;
    struct file_draft draft;
    assert_int_equal(file_draft_begin(&draft, scratch_folder, true), EISDIR);
    assert_int_equal(file_draft_begin(&draft, "/dev/null", true), EOPNOTSUPP);
    assert_int_equal(file_draft_begin(&draft, "", true), ENOENT);
    assert_int_equal(symlink("nowhere", path), 0);
    assert_int_equal(file_draft_begin(&draft, path, true), ENOENT);
}

static void test_a_link_stays_and_its_file_is_replaced(void **state)
{
    (void)state;
    char *file = strdup(beside("file"));
    write_text(file, "old");
    assert_int_equal(symlink("file", path), 0);
    assert_int_equal(replace("new", true), 0);
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    expect_text(file, "new");
    unlink(file);
    free(file);
}

static void test_a_killed_writers_draft_is_replaced(void **state)
{
    (void)state;
    write_text(partial, "half of the old dra");
    assert_int_equal(replace("whole", true), 0);
    expect_text(path, "whole");
    assert_int_equal(access(partial, F_OK), -1);
}

static void test_another_writer_is_left_alone(void **state)
{
    (void)state;
    struct file_draft draft, other;
    assert_int_equal(file_draft_begin(&draft, path, true), 0);
    assert_int_equal(file_draft_begin(&other, path, true), EWOULDBLOCK);
    assert_int_equal(replace("of the other one", false), 0);
    expect_text(path, "of the other one");
    assert_int_equal(write(draft.fd, "mine", 4), 4);
    assert_int_equal(file_draft_commit(&draft), 0);
    expect_text(path, "mine");
}

/* An attacker who may write into the folder has put a link at the temporary name. A privileged writer must
 * not change the link's target. */
static void expect_untouched(const char *victim)
{
    assert_int_equal(replace("draft", true), 0);
    expect_text(path, "draft");
    if (victim) {
        expect_text(victim, "precious");
        unlink(victim);
    }
    struct stat info;
    assert_int_equal(lstat(partial, &info), 0); /* the link was not removed either */
    assert_int_equal(unlink(partial), 0);
    assert_int_equal(unlink(path), 0);
}

static void test_a_name_that_was_taken_is_not_touched(void **state)
{
    (void)state;
    char *victim = strdup(beside("victim"));
    write_text(victim, "precious");
    assert_int_equal(link(victim, partial), 0);
    expect_untouched(victim);
    write_text(victim, "precious");
    assert_int_equal(symlink("victim", partial), 0);
    expect_untouched(victim);
    assert_int_equal(mkfifo(partial, 0600), 0);
    expect_untouched(NULL);
    free(victim);
    if (geteuid() != 0) {
        print_message("skipped: a file of another user: only root can make one\n");
        return;
    }
    write_text(partial, "of another user");
    assert_int_equal(chown(partial, 65534, 65534), 0);
    expect_untouched(NULL);
}

/* Several writers replace the file at the same time. It always has the content of one writer. At first there
 * is no file, so that one writer creates it while another looks for it. */
static void run_writers(void)
{
    pid_t children[8];
    unlink(path);
    for (int i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        char text[65];
        memset(text, 'a' + i, 64);
        text[64] = '\0';
        for (int round = 0; round < 5; round++)
            if (replace(text, false) != 0)
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < 8; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    size_t size;
    char *text = file_read_whole(path, FILE_REGULAR, 1000, &size);
    assert_non_null(text);
    assert_int_equal(size, 64);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(text[i], text[0]);
    free(text);
}

/* The last writer leaves no temporary file. */
static void test_writers_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        run_writers();
    assert_int_equal(replace("last", true), 0);
    assert_int_equal(access(partial, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_set_up, scratch_tear_down)
        TEST(test_kinds_of_files_are_found_without_blocking),
        TEST(test_whole_files_have_a_limit),
        TEST(test_a_draft_replaces_the_whole_file),
        TEST(test_only_regular_files_are_replaced),
        TEST(test_a_link_stays_and_its_file_is_replaced),
        TEST(test_a_killed_writers_draft_is_replaced),
        TEST(test_another_writer_is_left_alone),
        TEST(test_a_name_that_was_taken_is_not_touched),
        TEST(test_writers_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
