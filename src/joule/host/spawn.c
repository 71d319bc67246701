/* joule/host/spawn.c - see spawn.h.
 *
 * The C library cannot start a process that shares memory and begins in a given cgroup, so this file makes
 * the system call. The child uses the parent's stack. The child calls a function that does not return, so it
 * changes only the stack below the parent's frame.
 * Note: on processors other than x86-64 and AArch64 only vfork is available. Callers there must move the
 * child into its cgroup themselves.
 */
#include "joule/host/spawn.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__LP64__)

/* Makes a system call that starts a child, in which be(context) runs. Returns the kernel's result in the
 * parent. */
static long call_in_child(long number, const void *first, size_t second, spawn_fn be, void *context)
{
    long result;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "sub $128, %%rsp\n\t" /* the parent may have data below its stack pointer (red zone) */
                     "and $-16, %%rsp\n\t"
                     "mov %[context], %%rdi\n\t"
                     "call *%[be]\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "0"(number), "D"(first), "S"(second), [be] "r"(be), [context] "r"(context)
                     : "rcx", "r11", "cc", "memory");
    return result;
}

#elif defined(__aarch64__)

static long call_in_child(long number, const void *first, size_t second, spawn_fn be, void *context)
{
    register long x8 __asm__("x8") = number;
    register const void *x0 __asm__("x0") = first;
    register size_t x1 __asm__("x1") = second;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x0, %[context]\n\t"
                     "blr %[be]\n\t"
                     "brk #1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), [be] "r"(be), [context] "r"(context)
                     : "cc", "memory");
    return (long)x0;
}

#else

static long call_in_child(long number, const void *first, size_t second, spawn_fn be, void *context)
{
    (void)first, (void)second;
    if (number != SYS_clone)
        return -ENOSYS;
    pid_t pid = vfork();
    if (pid == 0) {
        be(context);
        spawn_end(127);
    }
    return pid < 0 ? -errno : pid;
}

#endif

void spawn_end(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}

#define BORROWED (CLONE_VM | CLONE_VFORK)

/* Converts the kernel's result: returns the process id, or -1 and sets errno. */
static pid_t pid_or_error(long result)
{
    if (result >= 0)
        return (pid_t)result;
    errno = (int)-result;
    return -1;
}

/* Starts a child that shares the caller's memory. exit_signal: sent to the parent when the child ends; 0: no
 * signal, and wait() ignores the child. Returns the process id, or -1 and sets errno. */
static pid_t clone_on_borrowed(unsigned long exit_signal, spawn_fn be, void *context)
{
    return pid_or_error(call_in_child(SYS_clone, (const void *)(BORROWED | exit_signal), 0, be, context));
}

pid_t spawn(int cgroup, spawn_fn be, void *context)
{
    if (cgroup < 0)
        return clone_on_borrowed(SIGCHLD, be, context);
    struct clone_args args = {
        .flags = BORROWED | CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup};
    return pid_or_error(call_in_child(SYS_clone3, &args, sizeof args, be, context));
}

pid_t spawn_unseen(spawn_fn be, void *context)
{
    return clone_on_borrowed(0, be, context);
}
