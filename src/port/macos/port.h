/* port/macos/port.h - functions of Linux's C library that macOS does not have or that differ there.
 *
 * Included first in every file on macOS, so that the code needs no conditions.
 * Note: CLOCK_MONOTONIC of macOS continues during sleep and has a resolution of microseconds.
 * CLOCK_UPTIME_RAW stops during sleep, like CLOCK_MONOTONIC on Linux. CLOCK_MONOTONIC_RAW continues
 * (clock_gettime(3)).
 */
#ifndef PORT_MACOS_H
#define PORT_MACOS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <xlocale.h>

#undef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC CLOCK_UPTIME_RAW
#define CLOCK_BOOTTIME  CLOCK_MONOTONIC_RAW

#define program_invocation_short_name getprogname()

static inline char *secure_getenv(const char *name)
{
    return issetugid() ? NULL : getenv(name);
}

static inline void *memrchr(const void *bytes, int byte, size_t size)
{
    const unsigned char *first = bytes;
    while (size > 0)
        if (first[--size] == (unsigned char)byte)
            return (void *)(uintptr_t)(first + size);
    return NULL;
}

/* Accepts only CLOCK_MONOTONIC, and does nothing. Condition variables of macOS use the wall clock, so
 * port_cond_timedwait waits for a duration. */
static inline int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    (void)attributes;
    return clock == CLOCK_MONOTONIC ? 0 : EINVAL;
}

static inline int port_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                      const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left_ns = (deadline->tv_sec - now.tv_sec) * INT64_C(1000000000) + deadline->tv_nsec - now.tv_nsec;
    if (left_ns <= 0)
        return ETIMEDOUT;
    struct timespec left = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
    return pthread_cond_timedwait_relative_np(condition, mutex, &left);
}
#define pthread_cond_timedwait port_cond_timedwait

/* Fails, because macOS has no clock for a thread's CPU time. */
static inline int pthread_getcpuclockid(pthread_t thread, clockid_t *out_clock)
{
    (void)thread, (void)out_clock;
    return ENOSYS;
}

static inline int ppoll(struct pollfd *polls, nfds_t count, const struct timespec *timeout, const void *mask)
{
    (void)mask;
    int64_t ms = timeout->tv_sec * INT64_C(1000) + (timeout->tv_nsec + 999999) / 1000000;
    return poll(polls, count, ms < INT32_MAX ? (int)ms : INT32_MAX);
}

#define SOCK_CLOEXEC  0x10000000
#define SOCK_NONBLOCK 0x20000000

/* Makes a socket that raises no SIGPIPE. So a write to a closed connection only returns an error, as with
 * MSG_NOSIGNAL on Linux. */
static inline int port_socket(int family, int type, int protocol)
{
    static const int yes = 1;
    int fd = socket(family, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK), protocol);
    if (fd < 0)
        return -1;
    if ((type & SOCK_CLOEXEC && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) ||
        (type & SOCK_NONBLOCK && fcntl(fd, F_SETFL, O_NONBLOCK) != 0) ||
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}
#define socket port_socket

static inline int posix_fallocate(int fd, off_t offset, off_t length)
{
    fstore_t wanted = {.fst_flags = F_ALLOCATEALL,
                       .fst_posmode = F_PEOFPOSMODE,
                       .fst_offset = 0,
                       .fst_length = offset + length};
    return fcntl(fd, F_PREALLOCATE, &wanted) == -1 ? errno : 0;
}

#endif
