/* joule/sources/helper/helper_wire.h - what joule-helper and its clients say to each other: docs/helper.md in code.
 *
 * Owns the bytes of version 1: requests of one size, a header and entries of one size each, little-endian, without paths
 * or names from clients. Sockets and clocks are the two sides' own.
 * Newcomers: both sides distrust the other: whatever comes back from a function that reads is checked, and safe to use.
 */
#ifndef JOULE_HELPER_WIRE_H
#define JOULE_HELPER_WIRE_H

#include "joule/sources/source.h"

#define HELPER_SOCKET        "/run/joule/helper.sock"
#define HELPER_VERSION       1
#define HELPER_MOST_CHANNELS 64

enum helper_kind {
    HELPER_REFUSAL = 0, /* of another version: the reply names the one that is spoken */
    HELPER_HELLO = 1,   /* the channels */
    HELPER_READ = 2,    /* their values, in the same order */
};

#define HELPER_REQUEST_BYTES 16
struct helper_request {
    uint16_t version, kind;
    uint32_t sequence; /* comes back in the reply */
};
void helper_write_request(const struct helper_request *request, uint8_t out_bytes[HELPER_REQUEST_BYTES]);
/* False: no request of any version. */
bool helper_read_request(const uint8_t bytes[HELPER_REQUEST_BYTES], struct helper_request *out_request);

#define HELPER_HEADER_BYTES 40
struct helper_header {
    uint16_t version, kind;
    uint32_t sequence, count; /* of entries that follow */
    int64_t now_ns;           /* CLOCK_MONOTONIC of the helper */
    int64_t pace_ns;          /* the hardware is read at most so often: values may be so old */
};
void helper_write_header(const struct helper_header *header, uint8_t out_bytes[HELPER_HEADER_BYTES]);
bool helper_read_header(const uint8_t bytes[HELPER_HEADER_BYTES], struct helper_header *out_header);

/* What follows the header of a HELLO: a channel as its source described it. */
#define HELPER_CHANNEL_BYTES 520
void helper_write_channel(const struct channel *channel, uint8_t out_bytes[HELPER_CHANNEL_BYTES]);
/* Into a channel of source_add_channel; false: no channel that a total could use, and it may be half filled. */
bool helper_read_channel(const uint8_t bytes[HELPER_CHANNEL_BYTES], struct channel *out_channel);

/* What follows the header of a READ. */
#define HELPER_VALUE_BYTES 32
struct helper_value {
    int64_t before_ns, after_ns; /* CLOCK_MONOTONIC around the access to the hardware; 0, 0: never read */
    uint64_t raw;                /* of a counter: its count; of power: the bits of a double, watts */
    joule_status status;
};
void helper_write_value(const struct helper_value *value, uint8_t out_bytes[HELPER_VALUE_BYTES]);
bool helper_read_value(const uint8_t bytes[HELPER_VALUE_BYTES], struct helper_value *out_value);

double helper_watts_of(uint64_t raw);
uint64_t helper_raw_of(double watts);

#endif
