/* joule/host/stream.c - see stream.h. */
#include "joule/host/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"

/* The address of a socket. */
struct place {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t size;
};

/* Sets *out to a Unix socket's address. Returns 0 or -errno. */
static int local_place(const char *path, struct place *out)
{
    out->local.sun_family = AF_UNIX;
    out->size = sizeof out->local;
    if (!string_copy(out->local.sun_path, sizeof out->local.sun_path, path))
        return -ENAMETOOLONG;
    return *path ? 0 : -EINVAL;
}

/* Parses "127.0.0.1:8431" or "[::1]:8431". Returns 0 or -EINVAL. */
static int tcp_place(const char *text, struct place *out)
{
    char name[64];
    uint64_t port;
    if (!string_copy(name, sizeof name, text))
        return -EINVAL;
    char *colon = strrchr(name, ':');
    if (!colon || !string_to_u64(colon + 1, 10, &port) || port == 0 || port > UINT16_MAX)
        return -EINVAL;
    *colon = '\0';
    if (inet_pton(AF_INET, name, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        out->size = sizeof out->v4;
        return 0;
    }
    size_t length = strlen(name);
    if (length < 2 || name[0] != '[' || name[length - 1] != ']')
        return -EINVAL;
    name[length - 1] = '\0';
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons((uint16_t)port);
    out->size = sizeof out->v6;
    return inet_pton(AF_INET6, name + 1, &out->v6.sin6_addr) == 1 ? 0 : -EINVAL;
}

/* Parses an address with its scheme, "unix:" or "tcp:". Returns 0 or -errno. */
static int find_place(const char *address, struct place *out)
{
    memset(out, 0, sizeof *out);
    if (string_starts(address, "unix:"))
        return local_place(address + strlen("unix:"), out);
    if (string_starts(address, "tcp:"))
        return tcp_place(address + strlen("tcp:"), out);
    return -EINVAL;
}

/* Waits until the socket is ready for `events`. Returns 0, -ETIMEDOUT at the deadline, or -errno. Checks once
 * even if the deadline is in the past. */
static int wait_for(int fd, short events, int64_t deadline_ns)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    for (;;) {
        int64_t left_ns = deadline_ns - clock_now_ns();
        struct timespec left = clock_timespec(left_ns > 0 ? left_ns : 0);
        int count = ppoll(&poll_fd, 1, &left, NULL);
        if (count > 0)
            return 0;
        if (count == 0)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

/* Waits until the connection is established. Returns 0, -ETIMEDOUT at the deadline, or -errno. */
static int finish_connecting(int fd, int64_t deadline_ns)
{
    int error = 0;
    socklen_t size = sizeof error;
    int rc = wait_for(fd, POLLOUT, deadline_ns);
    if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    return rc ? rc : -error;
}

int host_stream_open(const char *address, int64_t deadline_ns)
{
    struct place place;
    int rc = find_place(address, &place);
    if (rc != 0)
        return rc;
    int fd = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    rc = connect(fd, &place.any, place.size) == 0 ? 0 : -errno;
    if (rc == -EINPROGRESS || rc == -EINTR)
        rc = finish_connecting(fd, deadline_ns);
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

ssize_t host_stream_receive(int fd, void *buffer, size_t size, int64_t deadline_ns)
{
    for (;;) {
        ssize_t count = recv(fd, buffer, size, MSG_DONTWAIT);
        if (count >= 0)
            return count;
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        int rc = wait_for(fd, POLLIN, deadline_ns);
        if (rc != 0)
            return rc;
    }
}

int host_stream_send(int fd, const void *bytes, size_t size, int64_t deadline_ns)
{
    for (const char *next = bytes; size > 0;) {
        ssize_t count = send(fd, next, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count >= 0) {
            next += count;
            size -= (size_t)count;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        int rc = wait_for(fd, POLLOUT, deadline_ns);
        if (rc != 0)
            return rc;
    }
    return 0;
}
