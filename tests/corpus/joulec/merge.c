/* tests/corpus/joulec/merge.c - merges pairs of sorted arrays.
 *
 * The programs use a branch or conditional moves, merge from both ends, or use a sorting network.
 */
#include "corpus.h"

#define PAIRS 256
#define N     64 /* values in each array */

/* each array ends with the maximum */
static int32_t left[PAIRS][N + 1], right[PAIRS][N + 1], out[PAIRS][2 * N];

static void prepare(void)
{
    for (int p = 0; p < PAIRS; p++) {
        int32_t x = 0, y = 0;
        for (int i = 0; i < N; i++) {
            left[p][i] = x += (int32_t)(corpus_random() % 1000);
            right[p][i] = y += (int32_t)(corpus_random() % 1000);
        }
        left[p][N] = right[p][N] = INT32_MAX;
    }
}

static uint64_t merge_branch(void)
{
    for (int p = 0; p < PAIRS; p++) {
        const int32_t *x = left[p], *y = right[p];
        for (int i = 0; i < 2 * N; i++) {
            if (*y < *x) {
                __asm__ volatile(""); /* prevents a conditional move */
                out[p][i] = *y++;
            } else {
                out[p][i] = *x++;
            }
        }
    }
    return 0;
}

static uint64_t merge_choice(void)
{
    for (int p = 0; p < PAIRS; p++) {
        uint32_t x = 0, y = 0;
        for (int i = 0; i < 2 * N; i++) {
            int32_t v = left[p][x], w = right[p][y];
            uint32_t is_right = w < v;
            out[p][i] = is_right ? w : v;
            y += is_right;
            x += !is_right;
        }
    }
    return 0;
}

/* Merges the lower half from the front and the upper half from the end. The two halves do not depend on each
 * other. */
static uint64_t merge_ends(void)
{
    for (int p = 0; p < PAIRS; p++) {
        const int32_t *x = left[p], *y = right[p], *last_x = x + N - 1, *last_y = y + N - 1;
        for (int i = 0; i < N; i++) {
            int is_right = *y < *x, was_left = *last_y < *last_x;
            out[p][i] = is_right ? *y : *x;
            y += is_right;
            x += !is_right;
            out[p][2 * N - 1 - i] = was_left ? *last_x : *last_y;
            last_x -= was_left;
            last_y -= !was_left;
        }
    }
    return 0;
}

static inline void put_in_order(int32_t *low, int32_t *high)
{
    int32_t v = *low, w = *high;
    *low = v < w ? v : w;
    *high = v < w ? w : v;
}

static inline void order_apart(int32_t *all, int apart)
{
    for (int block = 0; block < 2 * N; block += 2 * apart)
        for (int i = block; i < block + apart; i++)
            put_in_order(&all[i], &all[i + apart]);
}

/* Appends the second array in reverse order. Then orders pairs of values with a distance of N, N / 2, ..., 1
 * (bitonic merge). */
static uint64_t merge_network(void)
{
    for (int p = 0; p < PAIRS; p++) {
        for (int i = 0; i < N; i++) {
            out[p][i] = left[p][i];
            out[p][N + i] = right[p][N - 1 - i];
        }
        order_apart(out[p], 64);
        order_apart(out[p], 32);
        order_apart(out[p], 16);
        order_apart(out[p], 8);
        order_apart(out[p], 4);
        order_apart(out[p], 2);
        order_apart(out[p], 1);
    }
    return 0;
}

const struct group merge = {
    prepare,
    out,
    sizeof out,
    {PROGRAM(merge_branch), PROGRAM(merge_choice), PROGRAM(merge_ends), PROGRAM(merge_network)}};
