/* tests/corpus/joulec/polynomial_hash.c - the hash of a text, h = 31 h + byte.
 *
 * The programs take one byte or four bytes at once, work on two halves, or use powers.
 */
#include "corpus.h"

#define N 32768

static uint8_t text[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        text[i] = (uint8_t)corpus_random();
}

static uint64_t polynomial_hash_bytes(void)
{
    uint32_t h = 7;
    for (int i = 0; i < N; i++)
        h = h * 31 + text[i];
    return h;
}

static uint64_t polynomial_hash_four(void)
{
    uint32_t h = 7;
    for (int i = 0; i < N; i += 4)
        h = h * (31u * 31 * 31 * 31) + text[i] * (31u * 31 * 31) + text[i + 1] * (31u * 31) +
            text[i + 2] * 31u + text[i + 3];
    return h;
}

static uint64_t polynomial_hash_two(void)
{
    uint32_t h = 7;
    for (int i = 0; i < N; i += 2)
        h = h * (31u * 31) + text[i] * 31u + text[i + 1];
    return h;
}

/* Multiplies each byte by its own power, from the end. */
static uint64_t polynomial_hash_powers(void)
{
    uint32_t h = 0, power = 1;
    for (int i = N - 1; i >= 0; i--) {
        h += text[i] * power;
        power *= 31;
    }
    return (uint32_t)(h + 7 * power);
}

const struct group polynomial_hash = {prepare,
                                      NULL,
                                      0,
                                      {PROGRAM(polynomial_hash_bytes), PROGRAM(polynomial_hash_four),
                                       PROGRAM(polynomial_hash_two), PROGRAM(polynomial_hash_powers)}};
