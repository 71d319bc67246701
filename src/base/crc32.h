/* base/crc32.h - CRC-32 of IEEE 802.3 (reflected 0xEDB88320), as in zlib, gzip and PNG.
 *
 * Note: a CRC detects accidental damage. It does not detect deliberate changes.
 */
#ifndef BASE_CRC32_H
#define BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC-32 of `size` bytes. */
uint32_t crc32_bytes(const void *bytes, size_t size);

#endif
