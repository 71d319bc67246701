/* wire.c - requests and answers of the matrix server, over TCP. */
#define PROGRAM "offload"
#include "wire.h"
#include "../support/support.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "matrices are sent as they are in memory");
enum { HEADER_BYTES = 16, POLL_MS = 100 };
static const char MAGIC[] = {'J', 'M', 'X', '1'};

void wire_set_deadline(struct wire *wire, double seconds)
{
    wire->deadline_s = now_s() + seconds;
}

static bool wait_for(struct wire *wire, short events)
{
    struct pollfd socket = {.fd = wire->socket, .events = events};
    while (!atomic_load(wire->is_interrupted) && now_s() < wire->deadline_s) {
        int ready = poll(&socket, 1, POLL_MS);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
    errno = atomic_load(wire->is_interrupted) ? EINTR : ETIMEDOUT;
    return false;
}

bool wire_wait(struct wire *wire)
{
    return wait_for(wire, POLLIN);
}

bool wire_send(struct wire *wire, const void *data, size_t size_bytes)
{
    for (size_t sent = 0; sent < size_bytes;) {
        if (!wait_for(wire, POLLOUT))
            return false;
        ssize_t count =
            send(wire->socket, (const char *)data + sent, size_bytes - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        sent += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool wire_receive(struct wire *wire, void *data, size_t size_bytes)
{
    for (size_t received = 0; received < size_bytes;) {
        if (!wait_for(wire, POLLIN))
            return false;
        ssize_t count = recv(wire->socket, (char *)data + received, size_bytes - received, MSG_DONTWAIT);
        if (count == 0)
            errno = 0;
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        received += count > 0 ? (size_t)count : 0;
    }
    return true;
}

bool wire_send_header(struct wire *wire, struct wire_header header)
{
    unsigned char bytes[HEADER_BYTES] = {0};
    memcpy(bytes, MAGIC, sizeof MAGIC);
    memcpy(bytes + 4, &header.code, sizeof header.code);
    memcpy(bytes + 8, &header.size, sizeof header.size);
    return wire_send(wire, bytes, sizeof bytes);
}

bool wire_receive_header(struct wire *wire, struct wire_header *out_header)
{
    unsigned char bytes[HEADER_BYTES];
    if (!wire_receive(wire, bytes, sizeof bytes))
        return false;
    errno = EPROTO;
    memcpy(&out_header->code, bytes + 4, sizeof out_header->code);
    memcpy(&out_header->size, bytes + 8, sizeof out_header->size);
    return memcmp(bytes, MAGIC, sizeof MAGIC) == 0;
}

const char *wire_error(void)
{
    return errno == 0 ? "the other side closed the connection" : strerror(errno);
}
