/* Tests joule-helper after it is confined: its loop works, but it cannot open, create, remove or execute
 * anything.
 *
 * A child process makes each attempt, because the kernel kills that process. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "helper/confine.h"

static int pair[2], file;

/* Returns the wait status of a child that confines itself and then calls `deed`. */
static int confined(void (*deed)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        joule_error error;
        if (confine(&error) != JOULE_OK)
            _exit(99);
        deed();
        syscall(SYS_exit_group, 0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void open_file(void)
{
    syscall(SYS_openat, AT_FDCWD, "/etc/hostname", O_RDONLY);
}
#ifdef SYS_open
static void open_as_before(void)
{
    syscall(SYS_open, "/etc/hostname", O_RDONLY);
}
#endif
static void run_program(void)
{
    syscall(SYS_execve, "/bin/true", NULL, NULL);
}
static void make_process(void)
{
    syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
static void make_socket(void)
{
    socket(AF_INET, SOCK_STREAM, 0);
}
static void remove_file(void)
{
    syscall(SYS_unlinkat, AT_FDCWD, "/nonexistent", 0);
}
static void end_another(void)
{
    kill(1, 0);
}
static void read_other_process(void)
{
    ptrace(PTRACE_ATTACH, 1, NULL, NULL);
}
static void make_memory(void)
{
    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void make_event(void)
{
    syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}
static void get_rights_back(void)
{
    syscall(SYS_setresuid, 0, 0, 0);
}
static void control_device(void)
{
    syscall(SYS_ioctl, file, 0);
}

static void do_what_the_loop_does(void)
{
    char bytes[16] = "";
    struct pollfd poll_fd = {.fd = pair[0], .events = POLLIN};
    struct timespec now, none = {0};
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    bool ok = send(pair[1], "hello", 5, MSG_NOSIGNAL) == 5 && ppoll(&poll_fd, 1, &none, NULL) == 1 &&
              recv(pair[0], bytes, sizeof bytes, MSG_DONTWAIT) == 5 && pread(file, bytes, 1, 0) == 1 &&
              read(file, bytes, 1) == 1 &&
              getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0 &&
              syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0 && write(STDERR_FILENO, "", 0) == 0 &&
              accept4(pair[0], NULL, NULL, 0) < 0 && close(pair[0]) == 0;
    syscall(SYS_exit_group, ok ? 7 : 8);
}

static int set_up(void **state)
{
    (void)state;
    file = open("/proc/self/status", O_RDONLY);
    return file >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 ? 0 : -1;
}

static void test_needed_system_calls_work(void **state)
{
    (void)state;
    int status = confined(do_what_the_loop_does);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void test_other_system_calls_are_killed(void **state)
{
    (void)state;
    if (!confine_forbids_calls()) {
        print_message("skipped: no filter of system calls in this build\n");
        skip();
    }
    static void (*const deeds[])(void) = {
        open_file,          run_program, make_process, make_socket,     remove_file,    end_another,
        read_other_process, make_memory, make_event,   get_rights_back, control_device,
#ifdef SYS_open
        open_as_before,
#endif
    };
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        int status = confined(deeds[i]);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("deed %zu came to %#x", i, (unsigned)status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_needed_system_calls_work),
        cmocka_unit_test(test_other_system_calls_are_killed),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
