/* tests/corpus/joulec/crc.c - CRC-32 of a text.
 *
 * The programs use tables for 4, 6 or 8 bits, or for two bytes at once.
 */
#include "corpus.h"

#define N 16386 /* a multiple of 2 and 3 */

static uint8_t text[N];
static uint32_t table[2][256], half[16], six[64];

static uint32_t bit_by_bit(uint32_t crc, int bits)
{
    for (int k = 0; k < bits; k++)
        crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    return crc;
}

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        text[i] = (uint8_t)corpus_random();
    for (uint32_t k = 0; k < 256; k++)
        table[0][k] = bit_by_bit(k, 8);
    for (uint32_t k = 0; k < 16; k++)
        half[k] = bit_by_bit(k, 4);
    for (uint32_t k = 0; k < 64; k++)
        six[k] = bit_by_bit(k, 6);
    for (int k = 0; k < 256; k++)
        table[1][k] = table[0][k] >> 8 ^ table[0][table[0][k] & 0xff];
}

static uint64_t crc_bytes(void)
{
    uint32_t crc = ~0u;
    for (int i = 0; i < N; i++)
        crc = crc >> 8 ^ table[0][(crc ^ text[i]) & 0xff];
    return crc;
}

static uint64_t crc_halves(void)
{
    uint32_t crc = ~0u;
    for (int i = 0; i < N; i++) {
        crc = crc >> 4 ^ half[(crc ^ text[i]) & 15];
        crc = crc >> 4 ^ half[(crc ^ text[i] >> 4) & 15];
    }
    return crc;
}

static uint64_t crc_two(void)
{
    uint32_t crc = ~0u;
    for (int i = 0; i < N; i += 2) {
        uint32_t low = crc ^ text[i], high = crc >> 8 ^ text[i + 1];
        crc = crc >> 16 ^ table[1][low & 0xff] ^ table[0][high & 0xff];
    }
    return crc;
}

static uint64_t crc_sixes(void)
{
    uint32_t crc = ~0u;
    for (int i = 0; i < N; i += 3) {
        crc ^= text[i] | (uint32_t)text[i + 1] << 8 | (uint32_t)text[i + 2] << 16;
        crc = crc >> 6 ^ six[crc & 63];
        crc = crc >> 6 ^ six[crc & 63];
        crc = crc >> 6 ^ six[crc & 63];
        crc = crc >> 6 ^ six[crc & 63];
    }
    return crc;
}

const struct group crc = {
    prepare, NULL, 0, {PROGRAM(crc_bytes), PROGRAM(crc_halves), PROGRAM(crc_two), PROGRAM(crc_sixes)}};
