/* tests/corpus/joulec/bit_transpose.c - the transposes of 8 x 8 matrices of bits.
 *
 * The programs exchange blocks, inline or by calls, or use tables of half rows or of quarters of the matrix.
 */
#include "corpus.h"

#define N     1024
#define TIMES 4

static uint64_t in[N], out[N];
static uint32_t spread_half[16], spread_two[256];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        in[i] = (uint64_t)corpus_random() << 32 | corpus_random();
    for (int k = 0; k < 16; k++)
        for (int b = 0; b < 4; b++)
            spread_half[k] |= (uint32_t)(k >> b & 1) << (8 * b);
    for (int k = 0; k < 256; k++)
        spread_two[k] = spread_half[k & 15] | spread_half[k >> 4] << 1;
}

/* Exchanges each block above the diagonal with its mirrored block, which is `distance` bits away. */
static inline uint32_t swapped(uint32_t v, uint32_t above, int distance)
{
    uint32_t changed = (v ^ v >> distance) & above;
    return v ^ changed ^ changed << distance;
}

static inline uint64_t halves_swapped(uint32_t low, uint32_t high)
{
    uint32_t first = (low & 0x0f0f0f0f) | (high & 0x0f0f0f0f) << 4;
    uint32_t second = (low >> 4 & 0x0f0f0f0f) | (high & 0xf0f0f0f0);
    return first | (uint64_t)second << 32;
}

static uint64_t bit_transpose_swaps(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            uint32_t low = (uint32_t)in[i], high = (uint32_t)(in[i] >> 32);
            low = swapped(swapped(low, 0x00aa00aa, 7), 0x0000cccc, 14);
            high = swapped(swapped(high, 0x00aa00aa, 7), 0x0000cccc, 14);
            out[i] = halves_swapped(low, high);
        }
    return 0;
}

__attribute__((noinline)) static void swap_in_place(uint64_t *v, uint64_t above, int distance)
{
    uint64_t changed = (*v ^ *v >> distance) & above;
    *v ^= changed ^ changed << distance;
}

/* Calls a function for each size of block. */
static uint64_t bit_transpose_calls(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            out[i] = in[i];
            swap_in_place(&out[i], 0x00aa00aa00aa00aa, 7);
            swap_in_place(&out[i], 0x0000cccc0000cccc, 14);
            swap_in_place(&out[i], 0x00000000f0f0f0f0, 28);
        }
    return 0;
}

static uint64_t bit_transpose_half_rows(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            uint32_t low = 0, high = 0;
            for (int row = 0; row < 8; row++) {
                low |= spread_half[in[i] >> (8 * row) & 15] << row;
                high |= spread_half[in[i] >> (8 * row + 4) & 15] << row;
            }
            out[i] = low | (uint64_t)high << 32;
        }
    return 0;
}

/* Uses a table whose index consists of half of one row and half of the next row. */
static uint64_t bit_transpose_quarters(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            uint64_t low = in[i] & 0x0f0f0f0f0f0f0f0f, high = in[i] >> 4 & 0x0f0f0f0f0f0f0f0f, v = 0;
            low |= low >> 4;
            high |= high >> 4;
            for (int row = 0; row < 8; row += 2) {
                uint64_t upper = spread_two[high >> (8 * row) & 0xff];
                v |= (spread_two[low >> (8 * row) & 0xff] | upper << 32) << row;
            }
            out[i] = v;
        }
    return 0;
}

const struct group bit_transpose = {prepare,
                                    out,
                                    sizeof out,
                                    {PROGRAM(bit_transpose_swaps), PROGRAM(bit_transpose_calls),
                                     PROGRAM(bit_transpose_half_rows), PROGRAM(bit_transpose_quarters)}};
