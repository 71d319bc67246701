/* tests/corpus/joulec/life_torus.c - four generations of the game of life on a torus of 64 x 64 cells.
 *
 * The programs add the eight neighbours of each cell, use moving sums of columns, use a table of squares of
 * nine cells, or add each living cell to the counts of its neighbours.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define N           64
#define MASK        (N - 1)
#define GENERATIONS 4

static uint8_t first[N][N], fields[2][N][N]; /* the result is in fields[0] */
/* next state of a cell; the index contains nine cells, column by column, with the cell itself in bit 4 */
static uint8_t lives_next[512];

static inline uint8_t next_of(uint32_t neighbours, uint32_t lives)
{
    return (neighbours | lives) == 3;
}

/* Makes a quarter of the cells live. */
static void prepare(void)
{
    for (uint32_t i = 0; i < 512; i++)
        lives_next[i] = next_of((uint32_t)__builtin_popcount(i & ~16u), i >> 4 & 1);
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++)
            first[y][x] = corpus_random() % 4 == 0;
}

/* Copies generation 0 to fields[0]. */
static void begin(void)
{
    memcpy(fields[0], first, sizeof first);
}

static uint64_t life_torus_neighbours(void)
{
    begin();
    for (int g = 0; g < GENERATIONS; g++) {
        uint8_t(*from)[N] = fields[g % 2], (*to)[N] = fields[1 - g % 2];
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                int up = (y - 1) & MASK, down = (y + 1) & MASK, left = (x - 1) & MASK, right = (x + 1) & MASK;
                uint32_t count = (uint32_t)from[up][left] + from[up][x] + from[up][right] + from[y][left] +
                                 from[y][right] + from[down][left] + from[down][x] + from[down][right];
                to[y][x] = next_of(count, from[y][x]);
            }
    }
    return 0;
}

static uint64_t life_torus_columns(void)
{
    begin();
    for (int g = 0; g < GENERATIONS; g++) {
        uint8_t(*from)[N] = fields[g % 2], (*to)[N] = fields[1 - g % 2];
        for (int y = 0; y < N; y++) {
            const uint8_t *up = from[(y - 1) & MASK], *here = from[y], *down = from[(y + 1) & MASK];
            uint32_t left = (uint32_t)up[MASK] + here[MASK] + down[MASK];
            uint32_t middle = (uint32_t)up[0] + here[0] + down[0];
            for (int x = 0; x < N; x++) {
                int next = (x + 1) & MASK;
                uint32_t right = (uint32_t)up[next] + here[next] + down[next];
                to[y][x] = next_of(left + middle + right - here[x], here[x]);
                left = middle;
                middle = right;
            }
        }
    }
    return 0;
}

static uint64_t life_torus_table(void)
{
    begin();
    for (int g = 0; g < GENERATIONS; g++) {
        uint8_t(*from)[N] = fields[g % 2], (*to)[N] = fields[1 - g % 2];
        for (int y = 0; y < N; y++) {
            const uint8_t *up = from[(y - 1) & MASK], *here = from[y], *down = from[(y + 1) & MASK];
            uint32_t nine = (uint32_t)(up[MASK] << 2 | here[MASK] << 1 | down[MASK]);
            nine = nine << 3 | (uint32_t)(up[0] << 2 | here[0] << 1 | down[0]);
            for (int x = 0; x < N; x++) {
                int next = (x + 1) & MASK;
                nine = (nine << 3 | (uint32_t)(up[next] << 2 | here[next] << 1 | down[next])) & 511;
                to[y][x] = lives_next[nine];
            }
        }
    }
    return 0;
}

/* Adds each living cell to the counts of its neighbours. Most cells are dead and are skipped. */
static uint64_t life_torus_living(void)
{
    static uint8_t counts[N][N];
    begin();
    for (int g = 0; g < GENERATIONS; g++) {
        uint8_t(*from)[N] = fields[g % 2], (*to)[N] = fields[1 - g % 2];
        memset(counts, 0, sizeof counts);
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                if (!from[y][x])
                    continue;
                int left = (x - 1) & MASK, right = (x + 1) & MASK;
                for (int dy = -1; dy <= 1; dy++) {
                    uint8_t *row = counts[(y + dy) & MASK];
                    row[left]++;
                    row[x]++;
                    row[right]++;
                }
            }
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++)
                to[y][x] = next_of((uint32_t)(counts[y][x] - from[y][x]), from[y][x]);
    }
    return 0;
}

const struct group life_torus = {prepare,
                                 fields[0],
                                 sizeof fields[0],
                                 {PROGRAM(life_torus_neighbours), PROGRAM(life_torus_columns),
                                  PROGRAM(life_torus_table), PROGRAM(life_torus_living)}};
