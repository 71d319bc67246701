/* joule/picture/series_code.h - a compact code for series of whole numbers in web pages.
 *
 * The code is a sequence of variable-length numbers (7 bits in each byte, the lowest first; the high bit is
 * set except in the last byte). Each value is the difference to the value before, zigzag-coded (0, -1, 1, -2
 * ...). A difference of 0 is followed by the number of further differences of 0. page/skyline.js decodes it.
 * */
#ifndef JOULE_PICTURE_SERIES_CODE_H
#define JOULE_PICTURE_SERIES_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_bytes {
    uint8_t *items; /* freed with free() */
    size_t count, capacity;
};

/* Appends the code of `count` values, whose sizes are below 2^62. Returns false if out of memory. */
bool series_code_add(struct code_bytes *out, const int64_t *values, size_t count);
/* Reads `count` values from the code at *offset, and moves *offset. Returns false if the code is truncated or
 * invalid. */
bool series_code_read(const uint8_t *bytes, size_t size, size_t *offset, int64_t *out_values, size_t count);
/* Appends bytes in base64, with padding. Returns false if out of memory. */
bool series_code_add_base64(struct code_bytes *out, const uint8_t *bytes, size_t count);

#endif
