/* tests/corpus/joulec/median_filter.c - the median of the 3 x 3 square around each pixel of an image of
 * bytes.
 *
 * The programs use a sorting network, bisection of the value, counting, or insertion sort.
 */
#include <joule/budget.h>
#include "corpus.h"

#define WIDTH  66
#define HEIGHT 26

static uint8_t picture[HEIGHT][WIDTH], medians[HEIGHT - 2][WIDTH - 2];

static void prepare(void)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            picture[y][x] = (uint8_t)corpus_random();
}

static inline uint8_t smaller(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static inline uint8_t larger(uint8_t a, uint8_t b)
{
    return a < b ? b : a;
}

static inline void order(uint8_t *a, uint8_t *b)
{
    uint8_t minimum = smaller(*a, *b);
    *b = larger(*a, *b);
    *a = minimum;
}

static uint64_t median_filter_network(void)
{
    static const uint8_t pairs[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2},
                                         {4, 5}, {7, 8}, {0, 3}, {5, 8}, {4, 7}, {3, 6}, {1, 4},
                                         {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
    for (int y = 0; y < HEIGHT - 2; y++)
        for (int x = 0; x < WIDTH - 2; x++) {
            uint8_t p[9];
            for (int i = 0; i < 9; i++)
                p[i] = picture[y + i / 3][x + i % 3];
            for (int i = 0; i < 19; i++)
                order(&p[pairs[i][0]], &p[pairs[i][1]]);
            medians[y][x] = p[4];
        }
    return 0;
}

/* Finds the median bit by bit. Sets a bit if at least five values are not below the median with this bit
 * set. */
static uint64_t median_filter_halving(void)
{
    for (int y = 0; y < HEIGHT - 2; y++)
        for (int x = 0; x < WIDTH - 2; x++) {
            uint8_t known = 0;
            for (int bit = 128; bit > 0; bit /= 2) {
                uint8_t next = (uint8_t)(known | bit), count = 0;
                for (int i = 0; i < 9; i++)
                    count = (uint8_t)(count + (picture[y + i / 3][x + i % 3] >= next));
                known = count >= 5 ? next : known;
            }
            medians[y][x] = known;
        }
    return 0;
}

/* Finds the value with four values before it in sorted order. Equal values are ordered by position. */
static uint64_t median_filter_counting(void)
{
    for (int y = 0; y < HEIGHT - 2; y++)
        for (int x = 0; x < WIDTH - 2; x++) {
            uint8_t p[9], rank[9] = {0}, median = 0;
            for (int i = 0; i < 9; i++)
                p[i] = picture[y + i / 3][x + i % 3];
            for (int i = 0; i < 9; i++)
                for (int j = i + 1; j < 9; j++) {
                    uint8_t is_before = p[i] <= p[j];
                    rank[j] = (uint8_t)(rank[j] + is_before);
                    rank[i] = (uint8_t)(rank[i] + 1 - is_before);
                }
            for (int i = 0; i < 9; i++)
                median = rank[i] == 4 ? p[i] : median;
            medians[y][x] = median;
        }
    return 0;
}

static uint64_t median_filter_insertion(void)
{
    for (int y = 0; y < HEIGHT - 2; y++)
        for (int x = 0; x < WIDTH - 2; x++) {
            uint8_t p[9];
            for (int i = 0; i < 9; i++) {
                uint8_t v = picture[y + i / 3][x + i % 3];
                int k = i;
                JOULE_LOOP(0, 8)
                for (; k > 0 && p[k - 1] > v; k--)
                    p[k] = p[k - 1];
                p[k] = v;
            }
            medians[y][x] = p[4];
        }
    return 0;
}

const struct group median_filter = {prepare,
                                    medians,
                                    sizeof medians,
                                    {PROGRAM(median_filter_network), PROGRAM(median_filter_halving),
                                     PROGRAM(median_filter_counting), PROGRAM(median_filter_insertion)}};
