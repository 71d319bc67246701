/* base/crc32.c - see crc32.h. The table is a constant expression: the entry of a byte is the XOR of the
 * entries of its bits. */
#include "base/crc32.h"

#define BIT(byte, bit, word) ((byte) >> (bit)&1 ? (word) : 0u)
#define WORD(byte)                                                                                           \
    (BIT(byte, 0, 0x77073096u) ^ BIT(byte, 1, 0xEE0E612Cu) ^ BIT(byte, 2, 0x076DC419u) ^                     \
     BIT(byte, 3, 0x0EDB8832u) ^ BIT(byte, 4, 0x1DB71064u) ^ BIT(byte, 5, 0x3B6E20C8u) ^                     \
     BIT(byte, 6, 0x76DC4190u) ^ BIT(byte, 7, 0xEDB88320u))
#define FOUR(byte)       WORD(byte), WORD((byte) + 1), WORD((byte) + 2), WORD((byte) + 3)
#define SIXTEEN(byte)    FOUR(byte), FOUR((byte) + 4), FOUR((byte) + 8), FOUR((byte) + 12)
#define SIXTY_FOUR(byte) SIXTEEN(byte), SIXTEEN((byte) + 16), SIXTEEN((byte) + 32), SIXTEEN((byte) + 48)

static const uint32_t table[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};

uint32_t crc32_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
    return ~crc;
}
