/* support/forgery.h - builds records that no writer produces.
 *
 * Appends blocks one by one. Checksums are correct, whatever a block contains. Note: a block's contents are
 * not checked against its type, because the reader under test must do that. */
#ifndef TESTS_SUPPORT_FORGERY_H
#define TESTS_SUPPORT_FORGERY_H

#include "joule/record/record.h"
#include "joule/record/record_format.h"

struct forgery {
    uint8_t bytes[1 << 19];
    size_t length, block; /* block: offset of the block under construction */
};

/* Returns a record with a header and a first block; the caller calls free(). */
struct forgery *forge_begin(uint64_t begin_ns);
void forge_block(struct forgery *f, enum record_block type);
void forge_number(struct forgery *f, uint64_t value, size_t width);
void forge_double(struct forgery *f, double value);
void forge_text(struct forgery *f, const char *text);
void forge_end_of_block(struct forgery *f);

/* Append whole blocks. In this order: a domain (a counter of joules or a gauge), a point of the curve of a
 * counter, a reading of a gauge, and the end of the record. */
void forge_domain(struct forgery *f, uint32_t id, joule_reading_kind reading, const char *name);
void forge_point(struct forgery *f, uint32_t id, int64_t time_ns, double joules);
void forge_reading(struct forgery *f, uint32_t id, int64_t time_ns, double value);
void forge_end(struct forgery *f, int64_t end_ns);

#endif
