/* joule/sources/accelerator/grpc.h - one question to a gRPC server on this machine, one answer.
 *
 * Owns as much of HTTP/2 (RFC 9113) and of gRPC's framing as a single call over a fresh plain connection takes. It
 * knows nothing of what the messages mean.
 * Newcomers: headers that come back are not decoded. A call that worked has a message in its answer, one that failed
 * has none; more need not be known. An answer over GRPC_ANSWER_BYTES is refused, which also is why no window of HTTP/2
 * ever has to be opened further.
 */
#ifndef JOULE_GRPC_H
#define JOULE_GRPC_H

#include <joule/base.h>
#include "joule/host/host.h"

#define GRPC_QUESTION_BYTES 512
#define GRPC_ANSWER_BYTES   32768 /* less than the 65535 that a server may send unasked */

/* All that the client says first: preface, settings, headers and the message of a call of `path`
 * ("/package.Service/Method"). The number of bytes, 0 where they do not fit. */
size_t grpc_opening(const char *path, const uint8_t *message, size_t size,
                    uint8_t out_bytes[GRPC_QUESTION_BYTES]);

struct grpc_answer {
    uint8_t frame[16384 + 9]; /* the frame that is coming in: header and what fits by default */
    size_t frame_size;
    uint8_t message[GRPC_ANSWER_BYTES + 5]; /* with the five bytes that stand before it */
    size_t message_size;
};
/* What a client says back to what it hears. */
struct grpc_reply {
    uint8_t bytes[256];
    size_t size;
};
/* Takes bytes that came, whole frames or not, and writes what is to be said to them. -EAGAIN: there is more to come; 0: all was
 * heard; -EPROTO, -EMSGSIZE, -ENOSYS as grpc_call. */
int grpc_hear(struct grpc_answer *answer, const uint8_t *bytes, size_t count, struct grpc_reply *out_reply);
/* The message, once all was heard. False: the call failed, or the message is not whole. */
bool grpc_message(const struct grpc_answer *answer, const uint8_t **out_message, size_t *out_size);

/* Calls `path` of the service at `address` (host_ops.open_stream). The answer is in *out_answer, which is the caller's room
 * and holds what *out_message points to. 0, or -errno: of the stream; -EPROTO: what came is no answer; -EMSGSIZE: too
 * long; -ENOSYS: the server does not know the call or refuses it. */
int grpc_call(struct joule_host *host, const char *address, const char *path, const uint8_t *message,
              size_t size, int64_t deadline_ns, struct grpc_answer *out_answer, const uint8_t **out_message,
              size_t *out_size);

#endif
