/* tests/corpus/joulec/collatz.c - a fixed number of Collatz steps from many start values.
 *
 * The programs use branches, conditional moves, masks, tables, or shifts.
 */
#include "corpus.h"

#define N     256
#define STEPS 64

static uint64_t start[N], end[N];
static uint8_t factor[2] = {1, 3}, shift[2] = {1, 0}, plus[2] = {0, 1};

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        start[i] = corpus_random();
}

static uint64_t collatz_branch(void)
{
    for (int i = 0; i < N; i++) {
        uint64_t v = start[i];
        for (int k = 0; k < STEPS; k++) {
            if (v & 1) {
                __asm__ volatile(""); /* prevents a conditional move */
                v = 3 * v + 1;
            } else {
                v >>= 1;
            }
        }
        end[i] = v;
    }
    return 0;
}

static uint64_t collatz_choice(void)
{
    for (int i = 0; i < N; i++) {
        uint64_t v = start[i];
        for (int k = 0; k < STEPS; k++)
            v = v & 1 ? 3 * v + 1 : v >> 1;
        end[i] = v;
    }
    return 0;
}

static uint64_t collatz_masks(void)
{
    for (int i = 0; i < N; i++) {
        uint64_t v = start[i];
        for (int k = 0; k < STEPS; k++) {
            uint64_t odd = -(v & 1);
            v = (odd & (3 * v + 1)) | (~odd & v >> 1);
        }
        end[i] = v;
    }
    return 0;
}

static uint64_t collatz_tables(void)
{
    for (int i = 0; i < N; i++) {
        uint64_t v = start[i];
        for (int k = 0; k < STEPS; k++) {
            unsigned odd = v & 1;
            v = (v * factor[odd] + plus[odd]) >> shift[odd];
        }
        end[i] = v;
    }
    return 0;
}

static uint64_t collatz_shift(void)
{
    for (int i = 0; i < N; i++) {
        uint64_t v = start[i];
        for (int k = 0; k < STEPS; k++) {
            uint64_t odd = v & 1;
            v = (v * (1 + 2 * odd) + odd) >> (odd ^ 1);
        }
        end[i] = v;
    }
    return 0;
}

const struct group collatz = {prepare,
                              end,
                              sizeof end,
                              {PROGRAM(collatz_branch), PROGRAM(collatz_choice), PROGRAM(collatz_masks),
                               PROGRAM(collatz_tables), PROGRAM(collatz_shift)}};
