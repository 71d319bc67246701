/* joule/host/stream.h - connections to services of this machine, for hosts that reach real ones.
 *
 * Owns the sockets behind open_stream, receive and send of host.h, none of which waits past its deadline.
 * Newcomers: names are never looked up: a TCP address is written in numbers.
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
