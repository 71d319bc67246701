/* joule/sources/accelerator/grpc.c - see grpc.h. */
#include "joule/sources/accelerator/grpc.h"

#include <errno.h>
#include <string.h>
#include "base/string.h"

#define HEADER_BYTES 9 /* header of a frame: length, type, flags, stream */
#define PREFIX_BYTES 5 /* prefix of a message: compression flag, length */
#define STREAM       1

enum {
    FRAME_DATA = 0,
    FRAME_HEADERS = 1,
    FRAME_RST_STREAM = 3,
    FRAME_SETTINGS = 4,
    FRAME_PING = 6,
};
enum { FLAG_END_STREAM = 1, FLAG_ACK = 1, FLAG_END_HEADERS = 4, FLAG_PADDED = 8 };

/* --- sending -------------------------------------------------------------------------------------------- */

struct writer {
    uint8_t *bytes;
    size_t size, at;
    bool is_full;
};

static void write_bytes(struct writer *w, const void *bytes, size_t count)
{
    if (count > w->size - w->at) {
        w->is_full = true;
        return;
    }
    memcpy(w->bytes + w->at, bytes, count);
    w->at += count;
}

static void write_byte(struct writer *w, unsigned byte)
{
    write_bytes(w, &(uint8_t){(uint8_t)byte}, 1);
}

static void write_frame(struct writer *w, size_t length, unsigned type, unsigned flags, unsigned stream)
{
    const uint8_t header[HEADER_BYTES] = {(uint8_t)(length >> 16),
                                          (uint8_t)(length >> 8),
                                          (uint8_t)length,
                                          (uint8_t)type,
                                          (uint8_t)flags,
                                          0,
                                          0,
                                          0,
                                          (uint8_t)stream};
    write_bytes(w, header, sizeof header);
}

/* Writes an HPACK (RFC 7541) string literal without Huffman coding; its length must fit one byte. */
static void write_string(struct writer *w, const char *text)
{
    size_t length = strlen(text);
    w->is_full = w->is_full || length > 126;
    write_byte(w, (unsigned)length);
    write_bytes(w, text, length);
}

/* Writes the request's header fields. Names other than "te" are indices into HPACK's static table. No field
 * is added to the dynamic table. */
static void write_fields(struct writer *w, const char *path)
{
    write_byte(w, 0x80 | 3); /* :method POST */
    write_byte(w, 0x80 | 6); /* :scheme http */
    write_byte(w, 4);        /* :path */
    write_string(w, path);
    write_byte(w, 1); /* :authority */
    write_string(w, "localhost");
    write_bytes(w, "\x0f\x10", 2); /* content-type: index 31 = 15 (four bits) + 16 */
    write_string(w, "application/grpc");
    write_byte(w, 0);
    write_string(w, "te");
    write_string(w, "trailers");
}

size_t grpc_write_request(const char *path, const uint8_t *message, size_t size,
                          uint8_t out_bytes[GRPC_REQUEST_BYTES])
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    static const uint8_t no_push[] = {0, 2, 0, 0, 0, 0};
    uint8_t field_bytes[GRPC_REQUEST_BYTES];
    struct writer fields = {.bytes = field_bytes, .size = sizeof field_bytes},
                  w = {.bytes = out_bytes, .size = GRPC_REQUEST_BYTES};
    write_fields(&fields, path);
    write_bytes(&w, preface, sizeof preface - 1);
    write_frame(&w, sizeof no_push, FRAME_SETTINGS, 0, 0);
    write_bytes(&w, no_push, sizeof no_push);
    write_frame(&w, fields.at, FRAME_HEADERS, FLAG_END_HEADERS, STREAM);
    write_bytes(&w, field_bytes, fields.at);
    write_frame(&w, PREFIX_BYTES + size, FRAME_DATA, FLAG_END_STREAM, STREAM);
    const uint8_t prefix[PREFIX_BYTES] = {0, (uint8_t)(size >> 24), (uint8_t)(size >> 16),
                                          (uint8_t)(size >> 8), (uint8_t)size};
    write_bytes(&w, prefix, sizeof prefix);
    write_bytes(&w, message, size);
    return fields.is_full || w.is_full ? 0 : w.at;
}

/* --- receiving ------------------------------------------------------------------------------------------ */

static size_t frame_length(const uint8_t *frame)
{
    return (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
}

static uint32_t big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int append_data(struct grpc_response *response, const uint8_t *payload, size_t length, unsigned flags)
{
    if (flags & FLAG_PADDED) {
        if (length == 0 || payload[0] >= length)
            return -EPROTO;
        length -= 1u + payload[0];
        payload++;
    }
    if (length > sizeof response->message - response->message_size)
        return -EMSGSIZE;
    memcpy(response->message + response->message_size, payload, length);
    response->message_size += length;
    return -EAGAIN;
}

/* Writes the acknowledgement of a SETTINGS or PING frame to `replies`. The acknowledgement of a PING repeats
 * its payload. Returns -EAGAIN or -EPROTO. */
static int acknowledge(const uint8_t *frame, size_t length, struct writer *replies)
{
    bool is_ping = frame[3] == FRAME_PING;
    if (frame[4] & FLAG_ACK)
        return -EAGAIN;
    if (is_ping && length != 8)
        return -EPROTO;
    write_frame(replies, is_ping ? length : 0, frame[3], FLAG_ACK, 0);
    if (is_ping)
        write_bytes(replies, frame + HEADER_BYTES, length);
    return replies->is_full ? -EPROTO : -EAGAIN;
}

/* Processes one complete frame. Returns the same codes as grpc_receive. */
static int process_frame(struct grpc_response *response, struct writer *replies)
{
    const uint8_t *frame = response->frame;
    size_t length = frame_length(frame);
    unsigned type = frame[3], flags = frame[4];
    bool is_ours = (big_endian(frame + 5) & INT32_MAX) == STREAM;
    if (type == FRAME_SETTINGS || type == FRAME_PING)
        return acknowledge(frame, length, replies);
    if (!is_ours)
        return -EAGAIN;
    if (type == FRAME_RST_STREAM)
        return -ENOSYS;
    int result = type == FRAME_DATA ? append_data(response, frame + HEADER_BYTES, length, flags) : -EAGAIN;
    bool is_last = (type == FRAME_DATA || type == FRAME_HEADERS) && (flags & FLAG_END_STREAM);
    return result == -EAGAIN && is_last ? 0 : result;
}

int grpc_receive(struct grpc_response *response, const uint8_t *bytes, size_t count,
                 struct grpc_reply *out_reply)
{
    struct writer replies = {.bytes = out_reply->bytes, .size = sizeof out_reply->bytes};
    int result = -EAGAIN;
    out_reply->size = 0;
    while (count > 0 && result == -EAGAIN) {
        size_t whole = HEADER_BYTES;
        if (response->frame_size >= HEADER_BYTES)
            whole += frame_length(response->frame);
        if (whole > sizeof response->frame)
            return -EPROTO; /* longer than HTTP/2's default maximum, which the client has not changed */
        size_t piece = whole - response->frame_size < count ? whole - response->frame_size : count;
        memcpy(response->frame + response->frame_size, bytes, piece);
        response->frame_size += piece;
        bytes += piece;
        count -= piece;
        if (response->frame_size < HEADER_BYTES ||
            response->frame_size < HEADER_BYTES + frame_length(response->frame))
            continue;
        result = process_frame(response, &replies);
        response->frame_size = 0;
    }
    out_reply->size = replies.at;
    return result;
}

bool grpc_get_message(const struct grpc_response *response, const uint8_t **out_message, size_t *out_size)
{
    if (response->message_size < PREFIX_BYTES || response->message[0] != 0 ||
        big_endian(response->message + 1) != response->message_size - PREFIX_BYTES)
        return false;
    *out_message = response->message + PREFIX_BYTES;
    *out_size = response->message_size - PREFIX_BYTES;
    return true;
}

/* --- a call --------------------------------------------------------------------------------------------- */

static int receive_response(struct joule_host *host, int handle, int64_t deadline_ns,
                            struct grpc_response *response)
{
    uint8_t bytes[4096];
    struct grpc_reply reply;
    int result = -EAGAIN;
    while (result == -EAGAIN) {
        ssize_t count = host->ops->receive(host, handle, bytes, sizeof bytes, deadline_ns);
        if (count <= 0)
            return count < 0 ? (int)count : -ECONNRESET;
        result = grpc_receive(response, bytes, (size_t)count, &reply);
        if (result == -EAGAIN && reply.size) {
            int error = host->ops->send(host, handle, reply.bytes, reply.size, deadline_ns);
            result = error ? error : result;
        }
    }
    return result;
}

int grpc_call(struct joule_host *host, const char *address, const char *path, const uint8_t *message,
              size_t size, int64_t deadline_ns, struct grpc_response *out_response,
              const uint8_t **out_message, size_t *out_size)
{
    uint8_t request[GRPC_REQUEST_BYTES];
    size_t request_size = grpc_write_request(path, message, size, request);
    out_response->frame_size = out_response->message_size = 0;
    if (request_size == 0)
        return -EMSGSIZE;
    int handle = host->ops->open_stream(host, address, deadline_ns);
    if (handle < 0)
        return handle;
    int result = host->ops->send(host, handle, request, request_size, deadline_ns);
    if (result == 0)
        result = receive_response(host, handle, deadline_ns, out_response);
    host->ops->close_handle(host, handle);
    if (result != 0)
        return result;
    if (out_response->message_size == 0)
        return -ENOSYS;
    return grpc_get_message(out_response, out_message, out_size) ? 0 : -EPROTO;
}
