/* tests/support/forgery.c - see forgery.h. */
#include "support/forgery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/crc32.h"

void forge_number(struct forgery *f, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++)
        f->bytes[f->length++] = (uint8_t)(value >> 8 * i);
}

void forge_text(struct forgery *f, const char *text)
{
    forge_number(f, strlen(text), 2);
    for (; *text; text++)
        forge_number(f, (unsigned char)*text, 1);
}

void forge_block(struct forgery *f, enum record_block type)
{
    f->block = f->length;
    forge_number(f, type, 4);
    f->length += RECORD_BLOCK_SIZE - 4;
}

void forge_end_of_block(struct forgery *f)
{
    size_t end = f->length, length = end - f->block - RECORD_BLOCK_SIZE;
    f->length = f->block + 4;
    forge_number(f, length, 4);
    forge_number(f, crc32_bytes(f->bytes + f->block + RECORD_BLOCK_SIZE, length), 4);
    forge_number(f, crc32_bytes(f->bytes + f->block, 12), 4);
    f->length = end;
}

struct forgery *forge_begin(uint64_t begin_ns)
{
    struct forgery *f = calloc(1, sizeof *f);
    assert_non_null(f);
    memcpy(f->bytes, RECORD_MAGIC, 8);
    f->length = 8;
    forge_number(f, RECORD_VERSION, 4);
    forge_number(f, RECORD_HEADER_SIZE, 4);
    forge_block(f, RECORD_META);
    forge_number(f, begin_ns, 8);
    forge_number(f, begin_ns, 8);
    forge_number(f, 0, 8); /* period */
    forge_text(f, "forged");
    forge_end_of_block(f);
    return f;
}

void forge_double(struct forgery *f, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    forge_number(f, bits, 8);
}

void forge_domain(struct forgery *f, uint32_t id, joule_reading_kind reading, const char *name)
{
    bool is_gauge = reading >= JOULE_READING_TEMPERATURE;
    forge_block(f, RECORD_CHANNEL);
    forge_number(f, id, 4);
    forge_number(f, is_gauge ? CHANNEL_GAUGE : CHANNEL_COUNTER, 4);
    forge_number(f, JOULE_SCOPE_PACKAGE, 4);
    forge_number(f, reading, 4);
    forge_number(f, JOULE_OK, 4);
    forge_number(f, is_gauge ? JOULE_CLASS_NONE : JOULE_CLASS_MEASURED, 4);
    forge_number(f, 2, 4); /* tier */
    for (int i = 0; i < 3; i++)
        forge_number(f, 0, 4); /* device, cause, rank */
    for (int i = 0; i < 4; i++)
        forge_double(f, 0); /* period, gain, tick, unit */
    forge_text(f, name);
    for (int i = 0; i < 10; i++)
        forge_text(f, "");
    forge_end_of_block(f);
}

void forge_point(struct forgery *f, uint32_t id, int64_t time_ns, double joules)
{
    forge_block(f, RECORD_POINTS);
    forge_number(f, id, 4);
    forge_number(f, 1, 4);
    forge_number(f, (uint64_t)time_ns, 8);
    forge_double(f, joules);
    for (int i = 0; i < 3; i++)
        forge_double(f, 0); /* covered, variance, error of the time */
    forge_end_of_block(f);
}

void forge_reading(struct forgery *f, uint32_t id, int64_t time_ns, double value)
{
    forge_block(f, RECORD_GAUGE);
    forge_number(f, id, 4);
    forge_number(f, (uint64_t)time_ns, 8);
    forge_double(f, value);
    forge_end_of_block(f);
}

void forge_end(struct forgery *f, int64_t end_ns)
{
    forge_block(f, RECORD_END);
    forge_number(f, (uint64_t)end_ns, 8);
    forge_end_of_block(f);
}
