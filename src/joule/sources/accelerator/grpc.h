/* joule/sources/accelerator/grpc.h - one call to a gRPC server on this machine.
 *
 * It implements only what a single call over a new plain connection needs of HTTP/2 (RFC 9113) and gRPC's
 * framing. It does not interpret messages.
 * Note: response headers are not decoded. A successful call has a message in its response; a failed one has
 * none. A response over GRPC_RESPONSE_BYTES is refused, so HTTP/2's flow-control window never has to be
 * extended. */
#ifndef JOULE_GRPC_H
#define JOULE_GRPC_H

#include <joule/base.h>
#include "joule/host/host.h"

#define GRPC_REQUEST_BYTES  512
#define GRPC_RESPONSE_BYTES 32768 /* less than the 65535 that a server may send by default */

/* Writes everything that the client sends first: preface, settings, headers, and the message of a call of
 * `path` ("/package.Service/Method"). Returns the number of bytes; 0 if they do not fit. */
size_t grpc_write_request(const char *path, const uint8_t *message, size_t size,
                          uint8_t out_bytes[GRPC_REQUEST_BYTES]);

struct grpc_response {
    uint8_t frame[16384 + 9]; /* the incoming frame: header and the default maximum size */
    size_t frame_size;
    uint8_t message[GRPC_RESPONSE_BYTES + 5]; /* the message after its prefix of five bytes */
    size_t message_size;
};
/* The client's reply to received frames. */
struct grpc_reply {
    uint8_t bytes[256];
    size_t size;
};
/* Processes received bytes, whole frames or not, and writes the reply. Returns -EAGAIN if the response is
 * incomplete, 0 if it is complete, or -EPROTO, -EMSGSIZE, -ENOSYS as grpc_call. */
int grpc_receive(struct grpc_response *response, const uint8_t *bytes, size_t count,
                 struct grpc_reply *out_reply);
/* Finds the message in a complete response. Returns false if the call failed, or the message is
 * incomplete. */
bool grpc_get_message(const struct grpc_response *response, const uint8_t **out_message, size_t *out_size);

/* Calls `path` of the service at `address` (host_ops.open_stream). The caller owns *out_response, which
 * contains *out_message. Returns 0, or -errno of the stream; -EPROTO: invalid response; -EMSGSIZE: too long;
 * -ENOSYS: the server does not know the method or refuses the call. */
int grpc_call(struct joule_host *host, const char *address, const char *path, const uint8_t *message,
              size_t size, int64_t deadline_ns, struct grpc_response *out_response,
              const uint8_t **out_message, size_t *out_size);

#endif
