/* joule/sources/helper/helper_wire.h - the protocol between joule-helper and its clients (docs/helper.md).
 *
 * A client sends requests of a fixed size. The helper replies with a header and a list of entries; all
 * entries of one kind have the same size. All numbers are little-endian. Clients send no paths and no names.
 * Note: neither side trusts the other. The helper_read_ functions check every byte that they receive, so
 * callers can use the results without further checks. */
#ifndef JOULE_HELPER_WIRE_H
#define JOULE_HELPER_WIRE_H

#include "joule/sources/source.h"

#define HELPER_SOCKET       "/run/joule/helper.sock"
#define HELPER_VERSION      1
#define HELPER_MAX_CHANNELS 64

enum helper_kind {
    HELPER_REFUSAL = 0, /* answer to a request with an unsupported version; contains the supported version */
    HELPER_HELLO = 1,   /* the channels */
    HELPER_READ = 2,    /* the values of the channels, in the order of HELPER_HELLO */
};

#define HELPER_REQUEST_BYTES 16
struct helper_request {
    uint16_t version, kind;
    uint32_t sequence; /* number of the request, which the reply repeats */
};
void helper_write_request(const struct helper_request *request, uint8_t out_bytes[HELPER_REQUEST_BYTES]);
/* Parses a request of any version. Returns false if the bytes are not a request. */
bool helper_read_request(const uint8_t bytes[HELPER_REQUEST_BYTES], struct helper_request *out_request);

#define HELPER_HEADER_BYTES 40
struct helper_header {
    uint16_t version, kind;
    uint32_t sequence, count; /* number of entries that follow */
    int64_t now_ns;           /* the helper's CLOCK_MONOTONIC */
    /* minimum time between two reads of the hardware, which is the maximum age of the values */
    int64_t pace_ns;
};
void helper_write_header(const struct helper_header *header, uint8_t out_bytes[HELPER_HEADER_BYTES]);
/* Returns false if the header is invalid. */
bool helper_read_header(const uint8_t bytes[HELPER_HEADER_BYTES], struct helper_header *out_header);

/* An entry of a HELPER_HELLO reply: a channel as described by its source in joule-helper. */
#define HELPER_CHANNEL_BYTES 520
void helper_write_channel(const struct channel *channel, uint8_t out_bytes[HELPER_CHANNEL_BYTES]);
/* Parses an entry into a channel that source_add_channel returned. Returns false if the entry is invalid; the
 * channel may then be partially set. */
bool helper_read_channel(const uint8_t bytes[HELPER_CHANNEL_BYTES], struct channel *out_channel);

/* An entry of a HELPER_READ reply. */
#define HELPER_VALUE_BYTES 32
struct helper_value {
    /* CLOCK_MONOTONIC before and after the hardware access; both are 0 if never read */
    int64_t before_ns, after_ns;
    uint64_t raw; /* counter: its count; power: watts, as the bits of a double */
    joule_status status;
};
void helper_write_value(const struct helper_value *value, uint8_t out_bytes[HELPER_VALUE_BYTES]);
/* Returns false if the entry is invalid. */
bool helper_read_value(const uint8_t bytes[HELPER_VALUE_BYTES], struct helper_value *out_value);

/* Convert between the `raw` of a power and watts. */
double helper_watts_of(uint64_t raw);
uint64_t helper_raw_of(double watts);

#endif
