/* tests/corpus/joulec/knapsack.c - the maximum value of items that fit into a bag, for each capacity of the
 * bag.
 *
 * The programs use one row from its end, use two rows, add two items at once, or fill a table capacity by
 * capacity.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define THINGS   32
#define SIZES    513
#define HEAVIEST 64

static uint32_t weights[THINGS], worths[THINGS];
static uint32_t best[SIZES], rows[2][SIZES], table[SIZES][THINGS + 1];

static void prepare(void)
{
    for (int i = 0; i < THINGS; i++) {
        weights[i] = 1 + corpus_random() % HEAVIEST;
        worths[i] = 1 + corpus_random() % 1000;
    }
}

static inline uint32_t larger(uint32_t a, uint32_t b)
{
    return a < b ? b : a;
}

/* Visits capacities in descending order, so that entries of lower capacities do not include this item yet. */
static uint64_t knapsack_row(void)
{
    memset(best, 0, sizeof best);
    for (int i = 0; i < THINGS; i++) {
        uint32_t weight = weights[i], worth = worths[i];
        JOULE_LOOP(SIZES - HEAVIEST, SIZES - 1)
        for (uint32_t s = SIZES - 1; s >= weight; s--)
            best[s] = larger(best[s], best[s - weight] + worth);
    }
    return 0;
}

/* Alternates between two rows. */
static uint64_t knapsack_rows(void)
{
    uint32_t *from = rows[0], *to = rows[1];
    memset(rows, 0, sizeof rows);
    for (int i = 0; i < THINGS; i++) {
        uint32_t weight = weights[i], worth = worths[i], *kept = from;
        for (uint32_t s = 0; s < SIZES; s++)
            to[s] = s < weight ? from[s] : larger(from[s], from[s - weight] + worth);
        from = to;
        to = kept;
    }
    memcpy(best, from, sizeof best);
    return 0;
}

/* Takes none, either, or both of two items. */
static uint64_t knapsack_two(void)
{
    memset(best, 0, sizeof best);
    for (uint32_t i = 0; i < THINGS; i += 2) {
        uint32_t light = weights[i] < weights[i + 1] ? i : i + 1, heavy = light ^ 1;
        uint32_t a = weights[light], b = weights[heavy], of_a = worths[light], of_b = worths[heavy];
        uint32_t s = SIZES - 1;
        JOULE_LOOP(SIZES - 2 * HEAVIEST, SIZES - 2)
        for (; s >= a + b; s--)
            best[s] = larger(larger(best[s], best[s - a] + of_a),
                             larger(best[s - b] + of_b, best[s - a - b] + of_a + of_b));
        JOULE_LOOP(1, HEAVIEST)
        for (; s >= b; s--)
            best[s] = larger(larger(best[s], best[s - a] + of_a), best[s - b] + of_b);
        JOULE_LOOP(0, HEAVIEST - 1)
        for (; s >= a; s--)
            best[s] = larger(best[s], best[s - a] + of_a);
    }
    return 0;
}

/* Adds all items for one capacity, then for the next. */
static uint64_t knapsack_table(void)
{
    memset(table, 0, sizeof table);
    for (uint32_t s = 0; s < SIZES; s++) {
        for (int i = 0; i < THINGS; i++) {
            uint32_t without = table[s][i];
            table[s][i + 1] =
                weights[i] <= s ? larger(without, table[s - weights[i]][i] + worths[i]) : without;
        }
        best[s] = table[s][THINGS];
    }
    return 0;
}

const struct group knapsack = {
    prepare,
    best,
    sizeof best,
    {PROGRAM(knapsack_row), PROGRAM(knapsack_rows), PROGRAM(knapsack_two), PROGRAM(knapsack_table)}};
