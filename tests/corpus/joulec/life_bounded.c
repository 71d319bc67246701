/* tests/corpus/joulec/life_bounded.c - two generations of the game of life on 64 x 64 cells, which dead cells
 * surround.
 *
 * The programs use sums of columns of bytes, neighbours in words, the bits of a square as an index, or one
 * bit of a word for each cell.
 */
#include <string.h>
#include "corpus.h"

#define N     64
#define TIMES 2

typedef uint8_t field[N + 2][N + 2]; /* with a border of dead cells */

static field start, now, next;
static uint32_t wide[N + 2][N + 2], wide_next[N][N];
static uint8_t columns[N + 2];
/* next state of a cell; the index contains the nine cells of its square, column by column */
static uint8_t lives[512];
static uint64_t bits_now[N + 2], bits_next[N + 2];

static void prepare(void)
{
    for (int y = 1; y <= N; y++)
        for (int x = 1; x <= N; x++)
            start[y][x] = corpus_random() % 3 == 0;
    for (int square = 0; square < 512; square++) {
        int all = __builtin_popcount((unsigned)square), middle = square >> 4 & 1;
        lives[square] = all == 3 || (all == 4 && middle);
    }
}

/* Returns the next state of a cell from the sum of all nine cells of its square. */
static inline uint8_t lives_on(uint8_t all, uint8_t middle)
{
    return (all == 3) | ((all == 4) & middle);
}

static uint64_t life_bounded_columns(void)
{
    memcpy(now, start, sizeof now);
    for (int t = 0; t < TIMES; t++) {
        for (int y = 1; y <= N; y++) {
            for (int x = 0; x < N + 2; x++)
                columns[x] = (uint8_t)(now[y - 1][x] + now[y][x] + now[y + 1][x]);
            for (int x = 1; x <= N; x++)
                next[y][x] = lives_on((uint8_t)(columns[x - 1] + columns[x] + columns[x + 1]), now[y][x]);
        }
        memcpy(now, next, sizeof now);
    }
    return 0;
}

static void step_words(void)
{
    for (int y = 1; y <= N; y++)
        for (int x = 1; x <= N; x++) {
            uint32_t all = 0;
            for (int v = -1; v <= 1; v++)
                for (int u = -1; u <= 1; u++)
                    all += wide[y + v][x + u];
            uint32_t others = all - wide[y][x];
            wide_next[y - 1][x - 1] = (others | wide[y][x]) == 3;
        }
    for (int y = 0; y < N; y++)
        memcpy(&wide[y + 1][1], wide_next[y], sizeof wide_next[y]);
}

static uint64_t life_bounded_words(void)
{
    for (int y = 0; y < N + 2; y++)
        for (int x = 0; x < N + 2; x++)
            wide[y][x] = start[y][x];
    for (int t = 0; t < TIMES; t++)
        step_words();
    for (int y = 0; y < N + 2; y++)
        for (int x = 0; x < N + 2; x++)
            now[y][x] = (uint8_t)wide[y][x];
    return 0;
}

/* Moves the square by one column. */
static uint64_t life_bounded_squares(void)
{
    memcpy(now, start, sizeof now);
    for (int t = 0; t < TIMES; t++) {
        for (int y = 1; y <= N; y++) {
            uint32_t square = (uint32_t)(now[y - 1][1] | now[y][1] << 1 | now[y + 1][1] << 2);
            for (int x = 1; x <= N; x++) {
                uint32_t column = (uint32_t)(now[y - 1][x + 1] | now[y][x + 1] << 1 | now[y + 1][x + 1] << 2);
                square = (square << 3 | column) & 511;
                next[y][x] = lives[square];
            }
        }
        memcpy(now, next, sizeof now);
    }
    return 0;
}

/* Returns the next state of a row of 64 cells. For each cell, adds the three bits of each row, and then the
 * three sums. The result is at most 9. */
static uint64_t row_after(uint64_t above, uint64_t here, uint64_t below)
{
    uint64_t ones[3], twos[3], rows[3] = {above, here, below};
    for (int k = 0; k < 3; k++) {
        uint64_t left = rows[k] << 1, right = rows[k] >> 1;
        ones[k] = left ^ rows[k] ^ right;
        twos[k] = (left & rows[k]) | ((left | rows[k]) & right);
    }
    uint64_t one = ones[0] ^ ones[1] ^ ones[2];
    uint64_t carry = (ones[0] & ones[1]) | ((ones[0] | ones[1]) & ones[2]);
    uint64_t odd_twos = twos[0] ^ twos[1] ^ twos[2] ^ carry;
    uint64_t two_twos = (twos[0] & twos[1]) | (twos[0] & twos[2]) | (twos[1] & twos[2]) |
                        (carry & (twos[0] | twos[1] | twos[2]));
    uint64_t four_twos = twos[0] & twos[1] & twos[2] & carry;
    uint64_t is_three = one & odd_twos & ~two_twos;
    uint64_t is_four = ~one & ~odd_twos & two_twos & ~four_twos;
    return is_three | (is_four & here);
}

static uint64_t life_bounded_bits(void)
{
    for (int y = 1; y <= N; y++) {
        uint64_t row = 0;
        for (int x = 1; x <= N; x++)
            row |= (uint64_t)start[y][x] << (x - 1);
        bits_now[y] = row;
    }
    for (int t = 0; t < TIMES; t++) {
        for (int y = 1; y <= N; y++)
            bits_next[y] = row_after(bits_now[y - 1], bits_now[y], bits_now[y + 1]);
        memcpy(bits_now, bits_next, sizeof bits_now);
    }
    memset(now, 0, sizeof now);
    for (int y = 1; y <= N; y++)
        for (int x = 1; x <= N; x++)
            now[y][x] = bits_now[y] >> (x - 1) & 1;
    return 0;
}

const struct group life_bounded = {prepare,
                                   now,
                                   sizeof now,
                                   {PROGRAM(life_bounded_columns), PROGRAM(life_bounded_words),
                                    PROGRAM(life_bounded_squares), PROGRAM(life_bounded_bits)}};
