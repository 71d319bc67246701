/* joule/record/record_bytes.c - reads numbers and texts from a block; see record_parse.h.
 *
 * Note: only this file accesses the bytes of a record. No function returns an error; errors set `bad`.
 */
#include <math.h>
#include <string.h>
#include "joule/record/record_parse.h"

/* Reads a little-endian number of `width` bytes. If the block is too short, sets `bad` and returns 0. */
static uint64_t get_number(struct byte_reader *in, size_t width)
{
    if (width > in->length - in->at) {
        in->bad = true;
        in->at = in->length;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)in->bytes[in->at + i] << 8 * i;
    in->at += width;
    return value;
}

uint32_t bytes_u32(struct byte_reader *in)
{
    return (uint32_t)get_number(in, 4);
}

uint64_t bytes_u64(struct byte_reader *in)
{
    return get_number(in, 8);
}

int64_t bytes_time(struct byte_reader *in)
{
    uint64_t time_ns = bytes_u64(in);
    if (time_ns > INT64_MAX / 2) {
        in->bad = true;
        return 0;
    }
    return (int64_t)time_ns;
}

double bytes_double(struct byte_reader *in)
{
    uint64_t bits = bytes_u64(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double bytes_seconds(struct byte_reader *in)
{
    double seconds = bytes_amount(in);
    if (seconds * 1e9 > (double)(INT64_MAX / 4)) {
        in->bad = true;
        return 0;
    }
    return seconds;
}

double bytes_period(struct byte_reader *in)
{
    struct byte_reader again = *in;
    if (!isnan(bytes_double(&again)))
        return bytes_seconds(in);
    *in = again;
    return NAN;
}

double bytes_amount(struct byte_reader *in)
{
    double value = bytes_double(in);
    if (!(value >= 0 && value < 1e30)) {
        in->bad = true;
        return 0;
    }
    return value;
}

void bytes_text(struct byte_reader *in, char *out, size_t size)
{
    size_t length = get_number(in, 2);
    out[0] = '\0';
    if (length > in->length - in->at) {
        in->bad = true;
        return;
    }
    size_t kept = length < size ? length : size - 1;
    for (size_t i = 0; i < kept; i++) /* replaces control characters and NUL */
        out[i] = in->bytes[in->at + i] >= 0x20 ? (char)in->bytes[in->at + i] : '?';
    out[kept] = '\0';
    in->at += length;
}

uint32_t bytes_choice(struct byte_reader *in, uint32_t last)
{
    uint32_t value = bytes_u32(in);
    in->bad = in->bad || value > last;
    return in->bad ? 0 : value;
}

joule_quantity bytes_quantity(struct byte_reader *in)
{
    joule_quantity q = quantity_unknown();
    q.value = bytes_double(in);
    q.low = bytes_double(in);
    q.high = bytes_double(in);
    q.cls = bytes_choice(in, JOULE_CLASS_ASSUMED);
    return q.low <= q.value && q.value <= q.high && isfinite(q.low) && isfinite(q.high) ? q
                                                                                        : quantity_unknown();
}
