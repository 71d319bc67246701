/* tests/corpus/joulec/aes.c - AES-128 encryption of blocks of sixteen bytes.
 *
 * The programs work on bytes as in the standard, use tables of products, use four tables of words, or use one
 * table of words that are rotated.
 */
#include <string.h>
#include "corpus.h"

#define BLOCKS 192
#define ROUNDS 10

static uint8_t plain[BLOCKS][16], cipher[BLOCKS][16], keys[ROUNDS + 1][16];
static uint8_t sbox[256], doubles[256], triples[256];
static uint32_t
    /* contribution of a byte in each row to its column; the lowest byte belongs to the first row */
    tables[4][256];

static inline uint8_t doubled(uint8_t v)
{
    return (uint8_t)(v << 1 ^ (v >> 7) * 0x1b);
}

static inline uint32_t turned(uint32_t v, int bits)
{
    return v << bits | v >> (32 - bits);
}

static inline uint8_t turned_byte(uint8_t v, int bits)
{
    return (uint8_t)(v << bits | v >> (8 - bits));
}

/* p takes all values of a byte except 0, and q is the inverse of p. */
static void make_sbox(void)
{
    uint8_t p = 1, q = 1;
    do {
        p ^= doubled(p);
        q ^= (uint8_t)(q << 1);
        q ^= (uint8_t)(q << 2);
        q ^= (uint8_t)(q << 4);
        if (q & 0x80)
            q ^= 0x09;
        sbox[p] = (uint8_t)(q ^ turned_byte(q, 1) ^ turned_byte(q, 2) ^ turned_byte(q, 3) ^
                            turned_byte(q, 4) ^ 0x63);
    } while (p != 1);
    sbox[0] = 0x63;
}

static void make_tables(void)
{
    make_sbox();
    for (uint32_t i = 0; i < 256; i++) {
        doubles[i] = doubled((uint8_t)i);
        triples[i] = (uint8_t)(doubles[i] ^ i);
    }
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t s = sbox[i];
        tables[0][i] = doubles[s] | s << 8 | s << 16 | (uint32_t)triples[s] << 24;
        for (int row = 1; row < 4; row++)
            tables[row][i] = turned(tables[0][i], 8 * row);
    }
}

static void expand_key(void)
{
    uint8_t *key = keys[0], constant = 1;
    for (int i = 16; i < 16 * (ROUNDS + 1); i += 4) {
        uint8_t last[4];
        memcpy(last, key + i - 4, 4);
        if (i % 16 == 0) {
            uint8_t first = last[0];
            last[0] = (uint8_t)(sbox[last[1]] ^ constant);
            last[1] = sbox[last[2]];
            last[2] = sbox[last[3]];
            last[3] = sbox[first];
            constant = doubled(constant);
        }
        for (int k = 0; k < 4; k++)
            key[i + k] = key[i + k - 16] ^ last[k];
    }
}

static void prepare(void)
{
    make_tables();
    for (int i = 0; i < 16; i++)
        keys[0][i] = (uint8_t)corpus_random();
    expand_key();
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < 16; i++)
            plain[b][i] = (uint8_t)corpus_random();
}

static inline void add_key(uint8_t *state, int round)
{
    for (int i = 0; i < 16; i++)
        state[i] ^= keys[round][i];
}

static inline void substitute(uint8_t *state)
{
    for (int i = 0; i < 16; i++)
        state[i] = sbox[state[i]];
}

/* Adjacent bytes of a row have a distance of four bytes in memory. */
static inline void shift_rows(uint8_t *state)
{
    uint8_t old[16];
    memcpy(old, state, 16);
    for (int column = 0; column < 4; column++)
        for (int row = 1; row < 4; row++)
            state[4 * column + row] = old[4 * ((column + row) % 4) + row];
}

static inline void mix_columns(uint8_t *state)
{
    for (int column = 0; column < 4; column++) {
        uint8_t *s = state + 4 * column, first = s[0], all = s[0] ^ s[1] ^ s[2] ^ s[3];
        s[0] ^= all ^ doubled(s[0] ^ s[1]);
        s[1] ^= all ^ doubled(s[1] ^ s[2]);
        s[2] ^= all ^ doubled(s[2] ^ s[3]);
        s[3] ^= all ^ doubled(s[3] ^ first);
    }
}

static uint64_t aes_bytes(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        uint8_t state[16];
        memcpy(state, plain[b], 16);
        add_key(state, 0);
        for (int round = 1; round < ROUNDS; round++) {
            substitute(state);
            shift_rows(state);
            mix_columns(state);
            add_key(state, round);
        }
        substitute(state);
        shift_rows(state);
        add_key(state, ROUNDS);
        memcpy(cipher[b], state, 16);
    }
    return 0;
}

static inline void mix_by_products(uint8_t *to, const uint8_t *from)
{
    for (int column = 0; column < 16; column += 4) {
        uint8_t a = sbox[from[column]], b = sbox[from[(column + 5) % 16]], c = sbox[from[(column + 10) % 16]],
                d = sbox[from[(column + 15) % 16]];
        to[column] = doubles[a] ^ triples[b] ^ c ^ d;
        to[column + 1] = a ^ doubles[b] ^ triples[c] ^ d;
        to[column + 2] = a ^ b ^ doubles[c] ^ triples[d];
        to[column + 3] = triples[a] ^ b ^ c ^ doubles[d];
    }
}

static uint64_t aes_products(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        uint8_t state[16], next[16];
        memcpy(state, plain[b], 16);
        add_key(state, 0);
        for (int round = 1; round < ROUNDS; round++) {
            mix_by_products(next, state);
            add_key(next, round);
            memcpy(state, next, 16);
        }
        substitute(state);
        shift_rows(state);
        add_key(state, ROUNDS);
        memcpy(cipher[b], state, 16);
    }
    return 0;
}

/* Returns a word of four bytes, one from each of four columns. */
static inline uint32_t bytes_of(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return sbox[a & 255] | (uint32_t)sbox[b >> 8 & 255] << 8 | (uint32_t)sbox[c >> 16 & 255] << 16 |
           (uint32_t)sbox[d >> 24] << 24;
}

static inline uint32_t mixed(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return tables[0][a & 255] ^ tables[1][b >> 8 & 255] ^ tables[2][c >> 16 & 255] ^ tables[3][d >> 24];
}

static uint64_t aes_tables(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        uint32_t s[4], key[4];
        memcpy(s, plain[b], 16);
        memcpy(key, keys[0], 16);
        for (int i = 0; i < 4; i++)
            s[i] ^= key[i];
        for (int round = 1; round < ROUNDS; round++) {
            memcpy(key, keys[round], 16);
            uint32_t s0 = mixed(s[0], s[1], s[2], s[3]) ^ key[0], s1 = mixed(s[1], s[2], s[3], s[0]) ^ key[1];
            uint32_t s2 = mixed(s[2], s[3], s[0], s[1]) ^ key[2], s3 = mixed(s[3], s[0], s[1], s[2]) ^ key[3];
            s[0] = s0;
            s[1] = s1;
            s[2] = s2;
            s[3] = s3;
        }
        memcpy(key, keys[ROUNDS], 16);
        uint32_t last[4];
        for (int i = 0; i < 4; i++)
            last[i] = bytes_of(s[i], s[(i + 1) % 4], s[(i + 2) % 4], s[(i + 3) % 4]) ^ key[i];
        memcpy(cipher[b], last, 16);
    }
    return 0;
}

/* Uses only one of the four tables and rotates its words. */
static uint64_t aes_turned(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        uint32_t s[4], next[4], key[4];
        memcpy(s, plain[b], 16);
        memcpy(key, keys[0], 16);
        for (int i = 0; i < 4; i++)
            s[i] ^= key[i];
        for (int round = 1; round < ROUNDS; round++) {
            memcpy(key, keys[round], 16);
            for (int i = 0; i < 4; i++)
                next[i] = tables[0][s[i] & 255] ^ turned(tables[0][s[(i + 1) % 4] >> 8 & 255], 8) ^
                          turned(tables[0][s[(i + 2) % 4] >> 16 & 255], 16) ^
                          turned(tables[0][s[(i + 3) % 4] >> 24], 24) ^ key[i];
            memcpy(s, next, sizeof s);
        }
        memcpy(key, keys[ROUNDS], 16);
        for (int i = 0; i < 4; i++)
            next[i] = bytes_of(s[i], s[(i + 1) % 4], s[(i + 2) % 4], s[(i + 3) % 4]) ^ key[i];
        memcpy(cipher[b], next, 16);
    }
    return 0;
}

const struct group aes = {
    prepare,
    cipher,
    sizeof cipher,
    {PROGRAM(aes_bytes), PROGRAM(aes_products), PROGRAM(aes_tables), PROGRAM(aes_turned)}};
