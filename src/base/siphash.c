/* base/siphash.c - see siphash.h.
 *
 * Names follow the article "SipHash: a fast short-input PRF" (2012). The output of 128 bits differs in three
 * constants: 0xee for v1 at the beginning, 0xee instead of 0xff for v2 at the end, and 0xdd for v1 before
 * the second word.
 */
#include "base/siphash.h"

#include <string.h>

enum { C_ROUNDS = 2, D_ROUNDS = 4, WORD_BYTES = 8 };

static uint64_t read_word(const unsigned char *bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < WORD_BYTES; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

static uint64_t rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

/* Half of a round: adds two pairs of words and mixes each pair. */
static void mix(uint64_t *a, uint64_t *b, int b_bits, uint64_t *c, uint64_t *d, int d_bits)
{
    *a += *b;
    *c += *d;
    *b = rotate(*b, b_bits) ^ *a;
    *d = rotate(*d, d_bits) ^ *c;
    *a = rotate(*a, 32);
}

static void mix_rounds(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        mix(&v[0], &v[1], 13, &v[2], &v[3], 16);
        mix(&v[2], &v[1], 17, &v[0], &v[3], 21);
    }
}

static void add_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix_rounds(v, C_ROUNDS);
    v[0] ^= word;
}

void siphash_begin(struct siphash *hash, const uint8_t key[16])
{
    uint64_t k0 = read_word(key), k1 = read_word(key + WORD_BYTES);
    *hash =
        (struct siphash){.v = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
                               k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)}};
}

void siphash_add(struct siphash *hash, const void *bytes, size_t size)
{
    const unsigned char *next = bytes;
    while (size > 0) {
        if (hash->size % WORD_BYTES == 0 && size >= WORD_BYTES) {
            add_word(hash->v, read_word(next));
            next += WORD_BYTES;
            size -= WORD_BYTES;
            hash->size += WORD_BYTES;
            continue;
        }
        hash->tail |= (uint64_t)*next++ << 8 * (hash->size % WORD_BYTES);
        size--;
        if (++hash->size % WORD_BYTES == 0) {
            add_word(hash->v, hash->tail);
            hash->tail = 0;
        }
    }
}

void siphash_end(struct siphash *hash, uint64_t out_words[2])
{
    uint64_t *v = hash->v;
    add_word(v, hash->tail | hash->size << 56);
    v[2] ^= 0xee;
    mix_rounds(v, D_ROUNDS);
    out_words[0] = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    mix_rounds(v, D_ROUNDS);
    out_words[1] = v[0] ^ v[1] ^ v[2] ^ v[3];
}
