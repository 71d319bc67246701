/* fuzz/record_checksums.h - corrects the checksums of a record, so that a fuzzer reaches its contents. */
#ifndef FUZZ_RECORD_CHECKSUMS_H
#define FUZZ_RECORD_CHECKSUMS_H

#include <string.h>
#include "base/crc32.h"
#include "joule/record/record_format.h"

static inline void store_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, 4);
}

/* Corrects the lengths and checksums of all blocks. */
static inline void correct_checksums(uint8_t *bytes, size_t size)
{
    for (size_t at = RECORD_HEADER_SIZE; at + RECORD_BLOCK_SIZE <= size;) {
        uint32_t length;
        memcpy(&length, bytes + at + 4, 4);
        if (length > size - at - RECORD_BLOCK_SIZE)
            length = (uint32_t)(size - at - RECORD_BLOCK_SIZE);
        store_u32(bytes + at + 4, length);
        store_u32(bytes + at + 8, crc32_bytes(bytes + at + RECORD_BLOCK_SIZE, length));
        store_u32(bytes + at + 12, crc32_bytes(bytes + at, 12));
        at += RECORD_BLOCK_SIZE + length;
    }
}

#endif
