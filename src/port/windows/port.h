/* port/windows/port.h - functions of Linux's C library that Windows does not have or that differ there.
 *
 * Included first in every file on Windows, so that the code needs no conditions. Threads are those of mingw's
 * winpthreads.
 * Note: the monotonic clock continues during sleep, so a suspend is not detected.
 */
#ifndef PORT_WINDOWS_H
#define PORT_WINDOWS_H

#define _POSIX_THREAD_SAFE_FUNCTIONS 1                /* gmtime_r */
#define tell                         port_unused_tell /* io.h declares a function of this name */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#undef tell

#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#define O_CLOEXEC      (O_NOINHERIT | O_BINARY)
#define O_NOCTTY       0
#define S_ISSOCK(mode) ((void)(mode), false)
#define _SC_CLK_TCK    2

#define program_invocation_short_name port_program_name()
const char *port_program_name(void);

#define secure_getenv getenv /* Windows has no set-user-id programs */

char *strsep(char **string, const char *separators);
void *memrchr(const void *bytes, int byte, size_t size);
void *memmem(const void *bytes, size_t size, const void *wanted, size_t wanted_size);
/* Changes the file position, so only one thread at a time may use a descriptor. */
ssize_t pread(int fd, void *buffer, size_t size, off_t offset);
int scandir(const char *path, struct dirent ***out_entries, int (*is_wanted)(const struct dirent *entry),
            int (*compare)(const struct dirent **a, const struct dirent **b));

/* fcntl only supports the query whether a descriptor is open. */
#define F_GETFD 1
static inline int fcntl(int fd, int command)
{
    (void)command;
    return _get_osfhandle(fd) == -1 ? -1 : 0;
}

static inline char *realpath(const char *path, char *out_path)
{
    return _fullpath(out_path, path, 260); /* MAX_PATH; allocates if out_path is NULL */
}

static inline int lstat(const char *path, struct stat *out_info)
{
    return stat(path, out_info);
}

/* Returns the clock ticks per second of a recorded Linux machine. */
static inline long sysconf(int name)
{
    return name == _SC_CLK_TCK ? 100 : -1;
}

static inline ssize_t readlink(const char *path, char *buffer, size_t size)
{
    (void)path, (void)buffer, (void)size;
    errno = ENOSYS;
    return -1;
}

/* `process` must be this process. */
static inline int kill(int process, int number)
{
    (void)process;
    return raise(number);
}

typedef _sigset_t sigset_t;

static inline int sigfillset(sigset_t *set)
{
    *set = ~(sigset_t)0;
    return 0;
}

#undef pthread_sigmask
static inline int pthread_sigmask(int how, const sigset_t *set, sigset_t *out_before)
{
    (void)how, (void)set, (void)out_before;
    return 0;
}
#define SIG_BLOCK   0
#define SIG_SETMASK 2

/* Windows has no fork. */
#undef pthread_atfork
static inline int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare, (void)parent, (void)child;
    return 0;
}

#undef pthread_getcpuclockid
static inline int pthread_getcpuclockid(pthread_t thread, clockid_t *out_clock)
{
    (void)thread, (void)out_clock;
    return ENOSYS;
}

#endif
