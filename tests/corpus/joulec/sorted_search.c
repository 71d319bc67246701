/* tests/corpus/joulec/sorted_search.c - the position of each of many keys among sorted keys. Each query
 * depends on the last result.
 *
 * The programs use bisection with or without a branch, a tree in an array, or three comparisons at a time.
 */
#include "corpus.h"

#define KEYS    1024
#define QUERIES 8192
#define HALVES  10

static uint32_t keys[KEYS], query[QUERIES], place[QUERIES], tree[KEYS], tree_place[KEYS];

static void fill(uint32_t *at, uint32_t node)
{
    if (node >= KEYS)
        return;
    fill(at, 2 * node);
    tree[node] = keys[*at];
    tree_place[node] = (*at)++;
    fill(at, 2 * node + 1);
}

static void prepare(void)
{
    uint32_t key = 0, at = 1;
    for (int i = 0; i < KEYS; i++)
        keys[i] = key += 1 + corpus_random() % 4000;
    keys[0] = 0;
    for (int i = 0; i < QUERIES; i++)
        query[i] = corpus_random() % (key + 1);
    fill(&at, 1);
}

/* Finds the last key that is not above the query. */
static uint64_t sorted_search_sums(void)
{
    uint32_t last = 0;
    for (uint32_t q = 0; q < QUERIES; q++) {
        uint32_t key = query[(q + last) % QUERIES];
        uint32_t low = 0;
        for (int step = KEYS / 2; step > 0; step /= 2)
            low += (uint32_t)step * (keys[low + (uint32_t)step] <= key);
        place[q] = last = low;
    }
    return 0;
}

static uint64_t sorted_search_branch(void)
{
    uint32_t last = 0;
    for (uint32_t q = 0; q < QUERIES; q++) {
        uint32_t key = query[(q + last) % QUERIES];
        uint32_t low = 0, high = KEYS;
        for (int k = 0; k < HALVES; k++) {
            uint32_t middle = (low + high) / 2;
            if (keys[middle] <= key) {
                __asm__ volatile(""); /* prevents a conditional move */
                low = middle;
            } else {
                high = middle;
            }
        }
        place[q] = last = low;
    }
    return 0;
}

/* The result follows from the last step to the right on the path through the tree. */
static uint64_t sorted_search_tree(void)
{
    uint32_t last = 0;
    for (uint32_t q = 0; q < QUERIES; q++) {
        uint32_t key = query[(q + last) % QUERIES];
        uint32_t node = 1;
        for (int k = 0; k < HALVES; k++)
            node = 2 * node + (tree[node] <= key);
        place[q] = last = tree_place[node >> (__builtin_ctz(node) + 1)];
    }
    return 0;
}

/* Compares with three keys at a time. */
static uint64_t sorted_search_quarters(void)
{
    uint32_t last = 0;
    for (uint32_t q = 0; q < QUERIES; q++) {
        uint32_t key = query[(q + last) % QUERIES];
        uint32_t low = 0;
        for (uint32_t step = KEYS / 4; step > 0; step /= 4)
            low += step * ((keys[low + step] <= key) + (keys[low + 2 * step] <= key) +
                           (keys[low + 3 * step] <= key));
        place[q] = last = low;
    }
    return 0;
}

const struct group sorted_search = {prepare,
                                    place,
                                    sizeof place,
                                    {PROGRAM(sorted_search_sums), PROGRAM(sorted_search_branch),
                                     PROGRAM(sorted_search_tree), PROGRAM(sorted_search_quarters)}};
