/* tests/corpus/joulec/run_length.c - run-length encoding of runs of one to seven bytes.
 *
 * The programs use a branch, a store for each byte, an array of ends, or a bit mask of ends.
 */
#include "corpus.h"

#define RUNS 7168
#define N    (RUNS * 4)

struct run {
    uint8_t value, length;
};

static uint8_t text[N + 1]; /* with one more byte, which ends the last run */
static struct run out[RUNS + 1];
static uint16_t ends[RUNS + 1];
static uint64_t end_bits[N / 64];

/* Makes runs in random order. Half of the runs have the mean length. */
static void prepare(void)
{
    static uint8_t lengths[RUNS];
    static const uint8_t eight[8] = {4, 4, 4, 4, 1, 2, 6, 7};
    uint32_t at = 0;
    for (uint32_t i = 0; i < RUNS; i++) {
        uint32_t j = corpus_random() % (i + 1);
        lengths[i] = lengths[j];
        lengths[j] = eight[i % 8];
    }
    for (uint32_t i = 0; i < RUNS; i++)
        for (uint32_t k = lengths[i]; k > 0; k--)
            text[at++] = (uint8_t)(i * 5 + 1);
    text[N] = (uint8_t)(text[N - 1] + 1);
}

static uint64_t run_length_branch(void)
{
    uint32_t count = 0;
    uint8_t length = 1;
    for (int i = 0; i < N; i++) {
        if (text[i + 1] == text[i]) {
            __asm__ volatile(""); /* prevents a conditional move */
            length++;
        } else {
            out[count++] = (struct run){text[i], length};
            length = 1;
        }
    }
    return count;
}

static uint64_t run_length_always(void)
{
    uint32_t count = 0;
    uint8_t length = 1;
    for (int i = 0; i < N; i++) {
        uint32_t is_end = text[i + 1] != text[i];
        out[count] = (struct run){text[i], length};
        count += is_end;
        length = is_end ? 1 : (uint8_t)(length + 1);
    }
    return count;
}

/* Finds the ends first, and then the distances between them. */
static uint64_t run_length_ends(void)
{
    uint32_t count = 0, begin = 0;
    for (uint32_t i = 0; i < N; i++) {
        ends[count] = (uint16_t)(i + 1);
        count += text[i + 1] != text[i];
    }
    for (uint32_t k = 0; k < RUNS; k++) {
        out[k] = (struct run){text[begin], (uint8_t)(ends[k] - begin)};
        begin = ends[k];
    }
    return count;
}

/* First makes a bit mask of all ends. Every word of the mask has at least one bit. Then finds the index of
 * each bit. */
static uint64_t run_length_bits(void)
{
    for (int w = 0; w < N / 64; w++) {
        uint64_t bits = 0;
        for (int b = 0; b < 64; b++)
            bits |= (uint64_t)(text[64 * w + b] != text[64 * w + b + 1]) << b;
        end_bits[w] = bits;
    }
    uint64_t bits = end_bits[0];
    uint32_t begin = 0, word = 0;
    for (uint32_t k = 0; k < RUNS; k++) {
        if (!bits)
            bits = end_bits[++word];
        uint32_t end = 64 * word + (uint32_t)__builtin_ctzll(bits) + 1;
        out[k] = (struct run){text[begin], (uint8_t)(end - begin)};
        bits &= bits - 1;
        begin = end;
    }
    return RUNS;
}

const struct group run_length = {prepare,
                                 out,
                                 RUNS * sizeof *out,
                                 {PROGRAM(run_length_branch), PROGRAM(run_length_always),
                                  PROGRAM(run_length_ends), PROGRAM(run_length_bits)}};
