/* joule/host/stream.h - socket connections to services of this machine, for open_stream, receive and send of
 * host.h.
 *
 * The functions have the same arguments and results as those of host.h. A handle is a file descriptor.
 * Note: TCP addresses are numeric, and no name is looked up.
 */
#ifndef JOULE_HOST_STREAM_H
#define JOULE_HOST_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int host_stream_open(const char *address, int64_t deadline_ns);
ssize_t host_stream_receive(int fd, void *buffer, size_t size, int64_t deadline_ns);
int host_stream_send(int fd, const void *bytes, size_t size, int64_t deadline_ns);

#endif
