/* joule/sources/accelerator/grpc.h - one call to a gRPC server on this machine.
 *
 * Implements only the parts of HTTP/2 (RFC 9113) and of gRPC's framing that one call over a new, unencrypted
 * connection needs. The caller encodes and decodes messages.
 * Note: response headers are not decoded. A response with a message counts as success, a response without a
 * message as failure. A response over GRPC_RESPONSE_BYTES is rejected, so the client never has to extend
 * HTTP/2's flow-control window. */
#ifndef JOULE_GRPC_H
#define JOULE_GRPC_H

#include <joule/base.h>
#include "joule/host/host.h"

#define GRPC_REQUEST_BYTES  512
#define GRPC_RESPONSE_BYTES 32768 /* less than HTTP/2's default flow-control window of 65535 bytes */

/* Writes all that the client sends to call `path` ("/package.Service/Method"): preface, settings, headers and
 * the message of `size` bytes. Returns the number of bytes written, or 0 if they do not fit. */
size_t grpc_write_request(const char *path, const uint8_t *message, size_t size,
                          uint8_t out_bytes[GRPC_REQUEST_BYTES]);

/* Set both sizes to 0 before the first call of grpc_receive. */
struct grpc_response {
    uint8_t frame[16384 + 9]; /* the current frame: 9 bytes of header, HTTP/2's default maximum of payload */
    size_t frame_size;        /* bytes of the frame received so far */
    uint8_t message[GRPC_RESPONSE_BYTES + 5]; /* gRPC's prefix of 5 bytes, then the message */
    size_t message_size;                      /* bytes received so far, with the prefix */
};
/* Acknowledgements that the client must send back for received frames. */
struct grpc_reply {
    uint8_t bytes[256];
    size_t size;
};
/* Processes `count` received bytes, which may begin or end within a frame, and writes the reply. Returns
 * -EAGAIN while the response is incomplete, 0 when it is complete, or -EPROTO, -EMSGSIZE or -ENOSYS as
 * grpc_call does. */
int grpc_receive(struct grpc_response *response, const uint8_t *bytes, size_t count,
                 struct grpc_reply *out_reply);
/* Finds the message in a complete response; *out_message points into the response. Returns false if the
 * response contains no complete message, which means that the call failed. */
bool grpc_get_message(const struct grpc_response *response, const uint8_t **out_message, size_t *out_size);

/* Calls `path` of the service at `address`, in the form of host_ops.open_stream. Blocks until deadline_ns
 * (CLOCK_MONOTONIC) at most. Returns 0 or a negative errno, such as an error of the stream. -EPROTO: the
 * response is invalid; -EMSGSIZE: request or response is too long; -ENOSYS: the server does not know the
 * method or refuses the call. *out_message points into *out_response, which the caller owns. */
int grpc_call(struct joule_host *host, const char *address, const char *path, const uint8_t *message,
              size_t size, int64_t deadline_ns, struct grpc_response *out_response,
              const uint8_t **out_message, size_t *out_size);

#endif
