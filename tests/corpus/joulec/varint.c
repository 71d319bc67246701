/* tests/corpus/joulec/varint.c - delta encoding of sorted numbers in one to four bytes of seven bits each.
 *
 * The programs work byte by byte, find the length by comparisons or by a table, or compute all differences
 * first.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define N         4096
#define MAX_BYTES 4

static uint32_t numbers[N], differences[N], marks[33]; /* marks: bits that state that another byte follows */
static uint8_t out[N * MAX_BYTES + 8], lengths[33];    /* lengths in bytes; index: number of bits */

/* Makes numbers so that more than half of their differences fit into one byte. */
static void prepare(void)
{
    uint32_t number = 0;
    for (int i = 0; i < N; i++) {
        uint32_t bits = corpus_random() % 2 > 0 ? 7 : 1 + corpus_random() % 23;
        number += corpus_random() >> (32 - bits);
        numbers[i] = number;
    }
    for (uint32_t bits = 0; bits <= 28; bits++) {
        uint32_t length = bits <= 7 ? 1 : (bits + 6) / 7;
        lengths[bits] = (uint8_t)length;
        marks[bits] = 0x00808080u & ((1u << (8 * (length - 1))) - 1);
    }
}

static uint64_t varint_loop(void)
{
    uint32_t before = 0, at = 0;
    memset(out, 0, sizeof out);
    for (int i = 0; i < N; i++) {
        uint32_t v = numbers[i] - before;
        before = numbers[i];
        JOULE_LOOP(0, 3)
        while (v >= 128) {
            out[at++] = (uint8_t)(v | 128);
            v >>= 7;
        }
        out[at++] = (uint8_t)v;
    }
    return at;
}

/* Spreads groups of seven bits over the bytes of a word. */
static inline uint32_t spread(uint32_t v)
{
    return (v & 0x7f) | (v << 1 & 0x7f00) | (v << 2 & 0x7f0000) | (v << 3 & 0x7f000000);
}

static inline void put_word(uint8_t *to, uint32_t word)
{
    for (int k = 0; k < 4; k++)
        to[k] = (uint8_t)(word >> (8 * k));
}

/* Writes a whole word. The next number overwrites the bytes that exceed the length. */
static uint64_t varint_counts(void)
{
    uint32_t before = 0, at = 0;
    memset(out, 0, sizeof out);
    for (int i = 0; i < N; i++) {
        uint32_t v = numbers[i] - before;
        uint32_t more = (v >= 1u << 7) + (v >= 1u << 14) + (v >= 1u << 21);
        before = numbers[i];
        put_word(out + at, spread(v) | (0x00808080u & ((1u << (8 * more)) - 1)));
        at += more + 1;
    }
    return at;
}

/* Finds the length from the number of bits, and stores the bytes as one word. */
static uint64_t varint_words(void)
{
    uint32_t before = 0, at = 0;
    memset(out, 0, sizeof out);
    for (int i = 0; i < N; i++) {
        uint32_t v = numbers[i] - before, bits = 32 - (uint32_t)__builtin_clz(v | 1);
        uint32_t word = spread(v) | marks[bits];
        before = numbers[i];
        memcpy(out + at, &word, sizeof word);
        at += lengths[bits];
    }
    return at;
}

/* Computes all differences first, and then the bytes. */
static uint64_t varint_two_steps(void)
{
    uint32_t at = 0;
    memset(out, 0, sizeof out);
    differences[0] = numbers[0];
    for (int i = 1; i < N; i++)
        differences[i] = numbers[i] - numbers[i - 1];
    for (int i = 0; i < N; i++) {
        uint32_t v = differences[i];
        for (int k = 0; k < 3; k++) {
            uint32_t is_more = v >= 128;
            out[at] = (uint8_t)((v & 127) | is_more << 7);
            at += is_more;
            v = is_more ? v >> 7 : v;
        }
        out[at++] = (uint8_t)v;
    }
    return at;
}

const struct group varint = {
    prepare,
    out,
    sizeof out,
    {PROGRAM(varint_loop), PROGRAM(varint_counts), PROGRAM(varint_words), PROGRAM(varint_two_steps)}};
