/* joule/record/record_parse.h - what the files that read a record share.
 *
 * Owns the reader of bytes, which trusts no number in the file, and the way to blocks that have a file of their own.
 * record_bytes.c reads numbers, record_read.c what was measured, record_findings.c what was reported.
 * Newcomers: whatever is wrong with a block only sets `bad`, and past its end every number is 0: who reads asks `bad`
 * before anything is kept.
 */
#ifndef JOULE_RECORD_PARSE_H
#define JOULE_RECORD_PARSE_H

#include "joule/record/record.h"

struct byte_reader {
    const uint8_t *bytes;
    size_t length, at;
    bool bad;
};

uint32_t bytes_u32(struct byte_reader *in);
uint64_t bytes_u64(struct byte_reader *in);
/* A clock's nanoseconds, not so many that a sum or difference of two could overflow, or the block is bad. */
int64_t bytes_time(struct byte_reader *in);
/* Any bits. */
double bytes_double(struct byte_reader *in);
/* Not negative and below 1e30, or the block is bad. */
double bytes_amount(struct byte_reader *in);
/* As that, and in nanoseconds no more than can be added to a time. */
double bytes_seconds(struct byte_reader *in);
/* The same, or NaN: unknown. */
double bytes_period(struct byte_reader *in);
/* A number in 0..last, or the block is bad. */
uint32_t bytes_choice(struct byte_reader *in, uint32_t last);
/* Three numbers in order, or all unknown. */
joule_quantity bytes_quantity(struct byte_reader *in);
/* A text without control characters, cut to `size`. */
void bytes_text(struct byte_reader *in, char *out, size_t size);

/* Makes room for one more of `count` items; NULL: there is none, and the old memory stays. */
void *record_grow(void *items, size_t count, size_t size);

/* The payload of one block each. */
void record_read_tags(struct byte_reader *in, struct record *record);
void record_read_limits(struct byte_reader *in, struct record *record);
void record_read_command(struct byte_reader *in, struct record *record);
void record_read_runs(struct byte_reader *in, struct record *record);

#endif
