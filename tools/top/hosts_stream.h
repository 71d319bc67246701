/* tools/top/hosts_stream.h - connections to `joule serve` on many machines, by libcurl.
 *
 * Note: a connection that ends is opened again, after 1 to 15 s.
 */
#ifndef TOP_HOSTS_STREAM_H
#define TOP_HOSTS_STREAM_H

#include <poll.h>
#include "hosts.h"

/* Secrets and certificates for the connections; NULL: none. */
struct stream_access {
    const char *token, *password; /* "NAME:PASSWORD" */
    const char *ca_file;
};

struct streams;

/* Connects to all hosts. The rows of hosts must not move or be freed before streams_close, which frees the
 * result. On failure returns NULL with a message. */
struct streams *streams_open(struct hosts *hosts, const struct stream_access *access, joule_error *out_error);
/* Waits at most `timeout_ms` for data from the hosts or for events of `others` (at most 4). Sets revents of
 * `others`, and processes the received data. */
void streams_wait(struct streams *streams, struct pollfd *others, unsigned count, int timeout_ms);
void streams_close(struct streams *streams);

#endif
