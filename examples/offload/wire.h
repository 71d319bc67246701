/* wire.h - requests and answers of the matrix server, over TCP.
 *
 * A message is a header of 16 bytes (the letters JMX1, a code, a size, 0; numbers are 32-bit, little-endian),
 * and after it matrices of 32-bit floats: two in a request, one in an answer without error. The server
 * answers with code 0, or with another code if it refuses. */
#ifndef EXAMPLES_WIRE_H
#define EXAMPLES_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_OK = 0, WIRE_REFUSED = 1, WIRE_NO_MEMORY = 2 };

struct wire_header {
    uint32_t code; /* enum operation in a request, WIRE_... in an answer */
    uint32_t size; /* rows */
};

/* A connection. Transfers end with an error if `*is_interrupted` is set, or after the deadline. */
struct wire {
    int socket;
    const atomic_bool *is_interrupted;
    double deadline_s; /* time of CLOCK_MONOTONIC */
};

/* Sets the deadline to `seconds` from now. */
void wire_set_deadline(struct wire *wire, double seconds);

/* Send or receive all bytes. Return whether this succeeded; otherwise errno is set (0: the other side closed
 * the connection). */
bool wire_send(struct wire *wire, const void *data, size_t size_bytes);
bool wire_receive(struct wire *wire, void *data, size_t size_bytes);

/* Waits until data can be received, or the other side closed the connection. */
bool wire_wait(struct wire *wire);

/* Send or receive a header. wire_receive_header fails with EPROTO if the message is not of this protocol. */
bool wire_send_header(struct wire *wire, struct wire_header header);
bool wire_receive_header(struct wire *wire, struct wire_header *out_header);

/* Returns the text for errno after a failed transfer. */
const char *wire_error(void);

#endif
