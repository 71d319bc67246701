/* base/crc32.h - a checksum that finds damage in files.
 *
 * Owns CRC-32 as in IEEE 802.3 (reflected 0xEDB88320), which zlib, gzip and PNG have, too. Newcomers: it is not against
 * whoever damages a file on purpose.
 */
#ifndef BASE_CRC32_H
#define BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32_bytes(const void *bytes, size_t size);

#endif
