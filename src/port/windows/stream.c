/* port/windows/stream.c - replaces joule/host/stream.c: on Windows there are no services to query. */
#include <errno.h>
#include "joule/host/stream.h"

int host_stream_open(const char *address, int64_t deadline_ns)
{
    (void)address, (void)deadline_ns;
    return -ENOSYS;
}

ssize_t host_stream_receive(int fd, void *buffer, size_t size, int64_t deadline_ns)
{
    (void)fd, (void)buffer, (void)size, (void)deadline_ns;
    return -ENOSYS;
}

int host_stream_send(int fd, const void *bytes, size_t size, int64_t deadline_ns)
{
    (void)fd, (void)bytes, (void)size, (void)deadline_ns;
    return -ENOSYS;
}
