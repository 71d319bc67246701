/* Tests programs that are run on the real machine: their output is read, and no process remains.
 *
 * The caller's own children and signals must not be affected. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "joule/host/host.h"

#define LONG_NS (60 * NS_PER_S)

struct outcome {
    char text[4096];
    ssize_t length;
    int status;
};

static struct outcome run(const char *const *argv, int64_t timeout_ns, size_t size)
{
    struct outcome outcome = {.status = 99};
    struct joule_host *host = host_real();
    outcome.length = host->ops->run(host, argv, timeout_ns, outcome.text, size, &outcome.status);
    return outcome;
}

static struct outcome shell(const char *commands, int64_t timeout_ns)
{
    return run((const char *[]){"sh", "-c", commands, NULL}, timeout_ns, 4096);
}

/* Fails unless the process has ended or ends soon. */
static void expect_gone(pid_t pid)
{
    assert_true(pid > 1);
    while (kill(pid, 0) == 0)
        usleep(1000); /* the time limit of the test ends this loop */
}

/* Runs a shell that prints its process id and does not end. The shell is killed at the deadline and has no
 * exit status. If it has not printed its id by then, the test repeats with more time. */
static void expect_killed(const char *commands)
{
    struct outcome outcome = {.length = 0};
    for (int64_t timeout_ns = NS_PER_S / 5; !outcome.text[0]; timeout_ns *= 8) {
        outcome = shell(commands, timeout_ns);
        assert_int_equal(outcome.length, -ETIMEDOUT);
        assert_int_equal(outcome.status, -1);
    }
    expect_gone((pid_t)atoi(outcome.text)); /* the output before the kill is returned */
}

static void test_output_and_status(void **state)
{
    (void)state;
    struct outcome outcome = shell("echo some text; echo lost >&2", LONG_NS);
    assert_string_equal(outcome.text, "some text\n");
    assert_int_equal(outcome.length, 10);
    assert_int_equal(outcome.status, 0);
    outcome = shell("printf reason; exit 6", LONG_NS);
    assert_string_equal(outcome.text, "reason");
    assert_int_equal(outcome.status, 6);
    outcome = shell("kill -TERM $$", LONG_NS);
    assert_int_equal(outcome.length, 0);
    assert_int_equal(outcome.status, 128 + SIGTERM);
}

static void test_words_are_not_a_command_line(void **state)
{
    (void)state;
    struct outcome outcome =
        run((const char *[]){"printf", "%s|", "a b", "$HOME", ";", "", NULL}, LONG_NS, 4096);
    assert_string_equal(outcome.text, "a b|$HOME|;||");
}

static void test_standard_input_is_empty(void **state)
{
    (void)state;
    struct outcome outcome = shell("cat; echo end", LONG_NS);
    assert_string_equal(outcome.text, "end\n");
}

static void test_missing_and_denied_programs_are_refused(void **state)
{
    char folder[] = "/tmp/joule-run-XXXXXX", path[64];
    (void)state;
    assert_int_equal(run((const char *[]){"joule-has-no-such-program", NULL}, LONG_NS, 64).length, -ENOENT);
    assert_int_equal(run((const char *[]){"/nowhere/at/all", NULL}, LONG_NS, 64).length, -ENOENT);
    assert_int_equal(run((const char *[]){"/etc/passwd", NULL}, LONG_NS, 64).length, -EACCES);
    assert_int_equal(run((const char *[]){"/tmp", NULL}, LONG_NS, 64).length, -EACCES);

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "no program\n", 11), 11);
    close(fd);
    struct outcome outcome = run((const char *[]){path, NULL}, LONG_NS, 64);
    assert_int_equal(outcome.length, -ENOEXEC);
    assert_int_equal(outcome.status, -1);
    assert_string_equal(outcome.text, "");
    unlink(path);
    rmdir(folder);
}

/* Only absolute folders of PATH are searched. The first folder that contains the program is used. */
static void test_absolute_folders_of_path_are_searched(void **state)
{
    char folder[] = "/tmp/joule-run-XXXXXX", path[64], list[256], *before = strdup(getenv("PATH"));
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/joule-tool", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "#!/bin/sh\necho found\n", 21), 21);
    close(fd);
    int old_folder = open(".", O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(chdir(folder), 0);
    setenv("PATH", ":.::/nowhere", 1);
    assert_int_equal(run((const char *[]){"joule-tool", NULL}, LONG_NS, 64).length, -ENOENT);
    snprintf(list, sizeof list, "/nowhere:%s:/usr/bin:/bin", folder);
    setenv("PATH", list, 1);
    assert_string_equal(run((const char *[]){"joule-tool", NULL}, LONG_NS, 64).text, "found\n");
    setenv("PATH", before, 1);
    assert_int_equal(fchdir(old_folder), 0);
    close(old_folder);
    unlink(path);
    rmdir(folder);
    free(before);
}

static void test_more_than_the_buffer_holds(void **state)
{
    (void)state;
    struct outcome outcome = run((const char *[]){"printf", "1234567", NULL}, LONG_NS, 8);
    assert_int_equal(outcome.length, 7); /* the output fits exactly */
    outcome = run((const char *[]){"printf", "12345678", NULL}, LONG_NS, 8);
    assert_int_equal(outcome.length, -ENOBUFS);
    assert_string_equal(outcome.text, "1234567");
    assert_int_equal(outcome.status, -1);
    /* this program does not end by itself */
    assert_int_equal(run((const char *[]){"yes", NULL}, LONG_NS, 4096).length, -ENOBUFS);
}

static void test_hanging_program_is_killed(void **state)
{
    (void)state;
    expect_killed("echo $$; exec sleep 1000");
    /* the program closes the pipe, but continues to run */
    expect_killed("echo $$; exec >/dev/null; exec sleep 1000");
}

static void test_program_that_ignores_signals_is_killed(void **state)
{
    (void)state;
    expect_killed("trap '' TERM INT HUP; echo $$; while :; do sleep 1000; done");
}

/* The call returns when the program ends, even if another process has the pipe open. The program's whole
 * process group is then killed. */
static void test_grandchild_holding_the_pipe(void **state)
{
    (void)state;
    struct outcome outcome = shell("sleep 1000 & echo $!; exit 3", LONG_NS);
    assert_int_equal(outcome.status, 3);
    assert_true(outcome.length > 0);
    expect_gone((pid_t)atoi(outcome.text));
}

/* If the caller is killed, its programs are killed, too. */
static void test_the_caller_is_killed(void **state)
{
    char path[] = "/tmp/joule-run-XXXXXX", command[64], text[32] = "";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(command, sizeof command, "echo $$ > %s; exec sleep 1000", path);
    pid_t caller = fork();
    if (caller == 0) {
        shell(command, 60 * LONG_NS);
        _exit(0);
    }
    while (!strchr(text, '\n')) {
        usleep(1000);
        assert_true(pread(fd, text, sizeof text - 1, 0) >= 0);
    }
    kill(caller, SIGKILL);
    assert_int_equal(waitpid(caller, NULL, 0), caller);
    expect_gone((pid_t)atoi(text));
    close(fd);
    unlink(path);
}

/* --- signals, children and descriptors of the caller ---------------------------------------------------- */

static volatile sig_atomic_t signals_received;

static void on_child(int number)
{
    (void)number;
    signals_received = signals_received + 1;
}

static void *wait_for_any(void *context)
{
    (void)context;
    return (void *)(intptr_t)waitpid(-1, NULL, 0);
}

static void test_children_of_others_are_left_alone(void **state)
{
    struct sigaction action = {.sa_handler = on_child}, before, after;
    sigset_t mask_before, mask_after;
    int ends[2];
    pthread_t waiter;
    void *waited;
    (void)state;
    assert_int_equal(sigaction(SIGCHLD, &action, &before), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t own = fork();
    if (own == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 1 ? 7 : 8);
    }
    /* This thread must not get any child of the host. */
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_any, NULL), 0);
    assert_string_equal(shell("echo one", LONG_NS).text, "one\n");
    assert_int_equal(shell("exec sleep 1000", 1).length, -ETIMEDOUT);
    assert_int_equal(signals_received, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    pthread_join(waiter, &waited);
    assert_int_equal((intptr_t)waited, own);
    assert_int_equal(signals_received, 1);
    sigaction(SIGCHLD, NULL, &after);
    assert_ptr_equal(after.sa_handler, on_child);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    for (int number = 1; number <= SIGRTMAX; number++)
        assert_int_equal(sigismember(&mask_before, number), sigismember(&mask_after, number));
    sigaction(SIGCHLD, &before, NULL);
    close(ends[0]);
    close(ends[1]);
}

/* If the caller ignores SIGCHLD, the kernel reaps children itself, and the exit status of a program would be
 * lost. */
static void test_where_children_and_pipes_are_ignored(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    struct outcome outcome = shell("(exit 5); echo $?; kill -PIPE $$", LONG_NS);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    assert_string_equal(outcome.text, "5\n");
    assert_int_equal(outcome.status, 128 + SIGPIPE); /* the program does not inherit the ignored signals */
}

static void test_descriptors_stay_and_are_not_lent(void **state)
{
    char command[64];
    (void)state;
    int fd = open("/dev/null", O_RDONLY); /* opened without O_CLOEXEC */
    snprintf(command, sizeof command, "test -e /proc/self/fd/%d; echo $?", fd);
    struct outcome outcome = shell(command, LONG_NS);
    assert_int_equal(fcntl(fd, F_GETFD), 0);
    close(fd);
    assert_string_equal(outcome.text, "1\n");
}

static void *run_some(void *context)
{
    (void)context;
    intptr_t good = 0;
    for (int i = 0; i < 10; i++)
        good += strcmp(shell("echo $((6 * 7))", LONG_NS).text, "42\n") == 0;
    return (void *)good;
}

static void test_threads_may_run_programs(void **state)
{
    pthread_t threads[4];
    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_some, NULL), 0);
    for (size_t i = 0; i < 4; i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_int_equal((intptr_t)good, 10);
    }
    assert_int_equal(waitpid(-1, NULL, __WALL), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_and_status),
        cmocka_unit_test(test_words_are_not_a_command_line),
        cmocka_unit_test(test_standard_input_is_empty),
        cmocka_unit_test(test_missing_and_denied_programs_are_refused),
        cmocka_unit_test(test_absolute_folders_of_path_are_searched),
        cmocka_unit_test(test_more_than_the_buffer_holds),
        cmocka_unit_test(test_hanging_program_is_killed),
        cmocka_unit_test(test_program_that_ignores_signals_is_killed),
        cmocka_unit_test(test_grandchild_holding_the_pipe),
        cmocka_unit_test(test_the_caller_is_killed),
        cmocka_unit_test(test_children_of_others_are_left_alone),
        cmocka_unit_test(test_where_children_and_pipes_are_ignored),
        cmocka_unit_test(test_descriptors_stay_and_are_not_lent),
        cmocka_unit_test(test_threads_may_run_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
