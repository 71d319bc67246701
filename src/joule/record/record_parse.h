/* joule/record/record_parse.h - internal interface of the files that read a record.
 *
 * record_bytes.c reads numbers, record_read.c the measurement, record_findings.c the report. No number in the
 * file is trusted.
 * Note: an error in a block only sets `bad`. Numbers past the end of the block are read as 0. So check `bad`
 * before a value is stored.
 */
#ifndef JOULE_RECORD_PARSE_H
#define JOULE_RECORD_PARSE_H

#include "joule/record/record.h"

/* The payload of a block, or a whole file, and the position of the next number in it. */
struct byte_reader {
    const uint8_t *bytes;
    size_t length, at;
    bool bad;
};

uint32_t bytes_u32(struct byte_reader *in);
uint64_t bytes_u64(struct byte_reader *in);
/* Reads a time in nanoseconds. Sets `bad` if sums or differences of such times could overflow. */
int64_t bytes_time(struct byte_reader *in);
/* Reads a double of any value, also NaN or infinity. */
double bytes_double(struct byte_reader *in);
/* Reads a number from 0 to below 1e30; sets `bad` for others. */
double bytes_amount(struct byte_reader *in);
/* Reads an amount of seconds whose nanoseconds can be added to a time; sets `bad` for others. */
double bytes_seconds(struct byte_reader *in);
/* Like bytes_seconds, but also allows NaN for unknown. */
double bytes_period(struct byte_reader *in);
/* Reads a number from 0 to `last`; sets `bad` for others. */
uint32_t bytes_choice(struct byte_reader *in, uint32_t last);
/* Reads a value with its interval; returns an unknown quantity if low, value and high are not in order. */
joule_quantity bytes_quantity(struct byte_reader *in);
/* Reads a text, truncated to size - 1 bytes; control characters become '?'. */
void bytes_text(struct byte_reader *in, char *out, size_t size);

/* Ensures capacity for one more item after `count` items of `size` bytes. Returns the items, which may have
 * moved. Returns NULL if out of memory; the old items remain valid then. */
void *record_grow(void *items, size_t count, size_t size);

/* Each function reads the payload of one type of block into the record. On an error it sets `bad`. */
void record_read_tags(struct byte_reader *in, struct record *record);
void record_read_limits(struct byte_reader *in, struct record *record);
void record_read_command(struct byte_reader *in, struct record *record);
void record_read_runs(struct byte_reader *in, struct record *record);

#endif
