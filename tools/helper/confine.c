/* tools/helper/confine.c - see confine.h. It lists the allowed system calls, each with its reason. */
#include "helper/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/error.h"

#define NOBODY 65534 /* the kernel's overflow user */

static joule_status fail(joule_error *error, const char *what)
{
    int errno_value = errno;
    return error_set(error, JOULE_FAILED, "cannot drop %s: %s", what, strerror(errno_value));
}

/* --- user and capabilities ------------------------------------------------------------------------------ */

/* Changes the user from root to nobody, because root could reopen its own files even without capabilities. In
 * a user namespace that contains only root, no other user exists. There, dropping the capabilities
 * suffices. */
static joule_status become_nobody(joule_error *error)
{
    if (geteuid() != 0)
        return JOULE_OK;
    if (setgroups(0, NULL) != 0 && errno != EPERM)
        return fail(error, "root's groups");
    if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return errno == EINVAL ? JOULE_OK : fail(error, "the user root");
    return JOULE_OK;
}

#define BIT(cap) (UINT64_C(1) << (cap))

/* Drops all capabilities of this thread except `keep`. Clearing the inheritable capabilities also clears the
 * ambient ones. Threads that a library started earlier keep their capabilities, except after become_nobody,
 * because the C library changes the user of all threads. */
static joule_status set_capabilities(uint64_t keep, joule_error *error)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
    if (syscall(SYS_capget, &header, sets) != 0)
        return fail(error, "capabilities");
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        sets[i].permitted &= (uint32_t)(keep >> 32 * i);
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, sets) == 0 ? JOULE_OK : fail(error, "capabilities");
}

joule_status confine_capabilities(uint64_t keep, joule_error *out_error)
{
    if (geteuid() == 0)
        keep |= BIT(CAP_SETUID) | BIT(CAP_SETGID);
    return set_capabilities(keep, out_error);
}

/* --- system calls --------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef ARCHITECTURE
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef ARCHITECTURE
#endif
#endif

#ifdef ARCHITECTURE

#define CALL(name)                                                                                           \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static joule_status forbid_calls(joule_error *error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        /* Calls of the x32 ABI have the same architecture but higher numbers, so none of the lines below
         * allows them. */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        CALL(ppoll),           /* waits for all clients */
        CALL(accept4),         /* accepts a client */
        CALL(getsockopt),      /* identifies the client: SO_PEERCRED */
        CALL(recvfrom),        /* receives requests */
        CALL(sendto),          /* sends answers */
        CALL(close),           /* disconnects a client */
        CALL(pread64),         /* reads open sysfs files and registers */
        CALL(read),            /* reads open perf events */
        CALL(clock_gettime),   /* reads the clock if the vDSO cannot */
        CALL(write),           /* writes log lines to standard error */
        CALL(rt_sigreturn),    /* returns from the handler of SIGTERM */
        CALL(restart_syscall), /* resumes a call after a stop */
        CALL(exit_group),      /* ends the process */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return fail(error, "system calls (seccomp)");
    return JOULE_OK;
}

bool confine_forbids_calls(void)
{
    return true;
}

#else

bool confine_forbids_calls(void)
{
    return false;
}

static joule_status forbid_calls(joule_error *error)
{
    (void)error;
    return JOULE_OK;
}

#endif

/* Note: no_new_privs makes the loss of rights permanent: no program that is executed later can regain
 * them. */
joule_status confine_rights(joule_error *out_error)
{
    joule_status status = become_nobody(out_error);
    if (status == JOULE_OK)
        status = set_capabilities(0, out_error);
    if (status == JOULE_OK && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        status = fail(out_error, "new rights (no_new_privs)");
    if (status == JOULE_OK && prctl(PR_SET_DUMPABLE, 0) != 0)
        status = fail(out_error, "access by debuggers (dumpable)");
    return status;
}

joule_status confine(joule_error *out_error)
{
    joule_status status = confine_rights(out_error);
    return status == JOULE_OK ? forbid_calls(out_error) : status;
}
