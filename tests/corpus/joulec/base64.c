/* tests/corpus/joulec/base64.c - Base64 encoding, which writes four letters for three bytes.
 *
 * The programs use a table of single letters, a table of pairs of letters, arithmetic, or a buffer of bits
 * that takes one byte at a time.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define BYTES   12288
#define LETTERS (BYTES / 3 * 4)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static uint8_t bytes[BYTES];
static char text[LETTERS], pairs[4096][2];

static void prepare(void)
{
    for (int i = 0; i < 4096; i++) {
        pairs[i][0] = alphabet[i / 64];
        pairs[i][1] = alphabet[i % 64];
    }
    for (int i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)corpus_random();
}

static inline uint32_t three_at(int i)
{
    return (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
}

static uint64_t base64_letters(void)
{
    char *to = text;
    for (int i = 0; i < BYTES; i += 3) {
        uint32_t three = three_at(i);
        *to++ = alphabet[three >> 18];
        *to++ = alphabet[three >> 12 & 63];
        *to++ = alphabet[three >> 6 & 63];
        *to++ = alphabet[three & 63];
    }
    return 0;
}

static uint64_t base64_pairs(void)
{
    for (int i = 0, k = 0; i < BYTES; i += 3, k += 4) {
        uint32_t three = three_at(i);
        memcpy(text + k, pairs[three >> 12], 2);
        memcpy(text + k + 2, pairs[three & 4095], 2);
    }
    return 0;
}

/* Each of the four ranges of letters adds a constant to the offset of the range before it. */
static inline char letter_of(uint32_t v)
{
    return (char)(v + 'A' + (v >= 26 ? 'a' - 'Z' - 1 : 0) - (v >= 52 ? 'z' + 1 - '0' : 0) -
                  (v >= 62 ? '9' + 1 - '+' : 0) + (v >= 63 ? '/' - '+' - 1 : 0));
}

static uint64_t base64_arithmetic(void)
{
    for (int i = 0, k = 0; i < BYTES; i += 3, k += 4) {
        uint32_t three = three_at(i);
        text[k] = letter_of(three >> 18);
        text[k + 1] = letter_of(three >> 12 & 63);
        text[k + 2] = letter_of(three >> 6 & 63);
        text[k + 3] = letter_of(three & 63);
    }
    return 0;
}

/* Takes one byte at a time, as from a stream, and keeps the bits that do not fill a letter yet. */
static uint64_t base64_bits(void)
{
    uint32_t bits = 0, count = 0, at = 0;
    for (int i = 0; i < BYTES; i++) {
        bits = bits << 8 | bytes[i];
        count += 8;
        JOULE_LOOP(1, 2)
        while (count >= 6) {
            count -= 6;
            text[at++] = alphabet[bits >> count & 63];
        }
    }
    return 0;
}

const struct group base64 = {
    prepare,
    text,
    sizeof text,
    {PROGRAM(base64_letters), PROGRAM(base64_pairs), PROGRAM(base64_arithmetic), PROGRAM(base64_bits)}};
