/* tests/corpus/joulec/prefix_sum.c - prefix sums.
 *
 * The programs add serially, compute the sums of blocks first, work in blocks or in two halves, or use
 * doubling.
 */
#include "corpus.h"

#define N       4096
#define BLOCK   4
#define STRETCH 64
#define TIMES   20

static uint32_t in[N], out[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        in[i] = corpus_random();
}

static uint64_t prefix_sum_serial(void)
{
    uint32_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            s += in[i];
            out[i] = s;
        }
    return s;
}

/* Computes the sum of each block first, and then the prefix sums inside the blocks. */
static uint64_t prefix_sum_sums_first(void)
{
    uint32_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += STRETCH) {
            uint32_t inside = s;
            for (int k = 0; k < STRETCH; k++)
                s += in[i + k];
            for (int k = 0; k < STRETCH; k++)
                out[i + k] = inside += in[i + k];
        }
    return s;
}

static uint64_t prefix_sum_blocks(void)
{
    uint32_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += BLOCK) {
            uint32_t a = in[i], b = a + in[i + 1], c = in[i + 2], d = c + in[i + 3];
            out[i] = s + a;
            out[i + 1] = s + b;
            out[i + 2] = s + b + c;
            s += b + d;
            out[i + 3] = s;
        }
    return s;
}

/* Computes the prefix sums of each half separately, and then adds the sum of the first half to the second
 * half. */
static uint64_t prefix_sum_halves(void)
{
    uint32_t last = 0;
    for (int t = 0; t < TIMES; t++) {
        uint32_t s = last, r = 0;
        for (int i = 0; i < N / 2; i++) {
            s += in[i];
            r += in[i + N / 2];
            out[i] = s;
            out[i + N / 2] = r;
        }
        for (int i = N / 2; i < N; i++)
            out[i] += s;
        last = out[N - 1];
    }
    return last;
}

/* Sums two, four and eight values in log2(8) rounds, and then adds the sums of the groups of eight. */
static uint64_t prefix_sum_doubling(void)
{
    uint32_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += 8) {
            uint32_t v[8];
            for (int k = 0; k < 8; k++)
                v[k] = in[i + k];
            for (int step = 1; step < 8; step *= 2)
                for (int k = 7; k >= step; k--)
                    v[k] += v[k - step];
            for (int k = 0; k < 8; k++)
                out[i + k] = s + v[k];
            s += v[7];
        }
    return s;
}

const struct group prefix_sum = {prepare,
                                 out,
                                 sizeof out,
                                 {PROGRAM(prefix_sum_serial), PROGRAM(prefix_sum_sums_first),
                                  PROGRAM(prefix_sum_blocks), PROGRAM(prefix_sum_halves),
                                  PROGRAM(prefix_sum_doubling)}};
