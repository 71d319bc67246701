/* tests/corpus/joulec/xtea.c - XTEA encryption of blocks of 64 bits.
 *
 * The programs encrypt one, two or four blocks at once, or all blocks round by round. They compute the round
 * keys in each round or in advance.
 */
#include "corpus.h"

#define BLOCKS 256
#define ROUNDS 32
#define DELTA  0x9e3779b9u

struct block {
    uint32_t left, right;
};

static struct block in[BLOCKS], out[BLOCKS];
static uint32_t key[4], first[ROUNDS], second[ROUNDS];

static void prepare(void)
{
    uint32_t sum = 0;
    for (int i = 0; i < BLOCKS; i++)
        in[i] = (struct block){corpus_random(), corpus_random()};
    for (int k = 0; k < 4; k++)
        key[k] = corpus_random();
    for (int r = 0; r < ROUNDS; r++) {
        first[r] = sum + key[sum & 3];
        sum += DELTA;
        second[r] = sum + key[sum >> 11 & 3];
    }
}

static inline uint32_t mixed(uint32_t v, uint32_t round_key)
{
    return ((v << 4 ^ v >> 5) + v) ^ round_key;
}

static uint64_t xtea_on_the_way(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        struct block b = in[i];
        uint32_t sum = 0;
        for (int r = 0; r < ROUNDS; r++) {
            b.left += mixed(b.right, sum + key[sum & 3]);
            sum += DELTA;
            b.right += mixed(b.left, sum + key[sum >> 11 & 3]);
        }
        out[i] = b;
    }
    return 0;
}

static uint64_t xtea_two(void)
{
    for (int i = 0; i < BLOCKS; i += 2) {
        struct block b = in[i], c = in[i + 1];
        for (int r = 0; r < ROUNDS; r++) {
            b.left += mixed(b.right, first[r]);
            c.left += mixed(c.right, first[r]);
            b.right += mixed(b.left, second[r]);
            c.right += mixed(c.left, second[r]);
        }
        out[i] = b;
        out[i + 1] = c;
    }
    return 0;
}

/* Computes all blocks round by round, with their state in memory. */
static uint64_t xtea_rounds(void)
{
    for (int i = 0; i < BLOCKS; i++)
        out[i] = in[i];
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < BLOCKS; i++) {
            out[i].left += mixed(out[i].right, first[r]);
            out[i].right += mixed(out[i].left, second[r]);
        }
    return 0;
}

static uint64_t xtea_four(void)
{
    for (int i = 0; i < BLOCKS; i += 4) {
        uint32_t left[4], right[4];
        for (int k = 0; k < 4; k++) {
            left[k] = in[i + k].left;
            right[k] = in[i + k].right;
        }
        for (int r = 0; r < ROUNDS; r++)
            for (int k = 0; k < 4; k++) {
                left[k] += mixed(right[k], first[r]);
                right[k] += mixed(left[k], second[r]);
            }
        for (int k = 0; k < 4; k++)
            out[i + k] = (struct block){left[k], right[k]};
    }
    return 0;
}

const struct group xtea = {
    prepare,
    out,
    sizeof out,
    {PROGRAM(xtea_on_the_way), PROGRAM(xtea_two), PROGRAM(xtea_rounds), PROGRAM(xtea_four)}};
