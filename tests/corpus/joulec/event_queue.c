/* tests/corpus/joulec/event_queue.c - the next of 64 events, each of which occurs again later.
 *
 * The programs use a heap, a tournament tree, rows with known minima, or a search of all events.
 */
#include <string.h>
#include "corpus.h"

#define EVENTS 64
#define N      2048

static uint32_t start[EVENTS], later[N], times[N];
static uint32_t tree[2 * EVENTS + 2]; /* the root is tree[1]; entries after the last event never occur */
static uint32_t winners[2 * EVENTS];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        later[i] = 1 + corpus_random() % 10000;
    for (uint32_t i = 0; i < EVENTS; i++)
        start[i] = 100 * i; /* sorted, and therefore a heap */
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Moves the new time down to a leaf and swaps it at each level if the child is earlier. */
static uint64_t event_queue_to_end(void)
{
    memset(tree, 0xff, sizeof tree);
    memcpy(tree + 1, start, sizeof start);
    for (int n = 0; n < N; n++) {
        uint32_t moved = tree[1] + later[n], at = 1;
        times[n] = tree[1];
        for (int level = 0; level < 6; level++) {
            uint32_t child = 2 * at + (tree[2 * at + 1] < tree[2 * at]), there = tree[child];
            tree[at] = smaller(moved, there);
            moved = moved < there ? there : moved;
            at = child;
        }
        tree[at] = moved;
    }
    return 0;
}

/* The tree holds the indices of winners. The event that occurs again is compared with the winners on its path
 * to the root. */
static uint64_t event_queue_tournament(void)
{
    uint32_t when[EVENTS];
    memcpy(when, start, sizeof when);
    for (uint32_t i = 0; i < EVENTS; i++)
        winners[EVENTS + i] = i;
    for (uint32_t i = EVENTS - 1; i > 0; i--)
        winners[i] = when[winners[2 * i]] <= when[winners[2 * i + 1]] ? winners[2 * i] : winners[2 * i + 1];
    for (int n = 0; n < N; n++) {
        uint32_t next = winners[1], at = EVENTS + next;
        times[n] = when[next];
        when[next] += later[n];
        for (int level = 0; level < 6; level++) {
            uint32_t other = winners[at ^ 1];
            next = when[other] < when[next] ? other : next;
            at /= 2;
            winners[at] = next;
        }
    }
    return 0;
}

/* Keeps the minimum of each of eight rows of eight events. */
static uint64_t event_queue_rows(void)
{
    uint32_t when[8][8], firsts[8];
    memcpy(when, start, sizeof when);
    for (int r = 0; r < 8; r++)
        firsts[r] = when[r][0];
    for (int n = 0; n < N; n++) {
        uint32_t row = 0, column = 0;
        for (uint32_t r = 1; r < 8; r++)
            row = firsts[r] < firsts[row] ? r : row;
        for (uint32_t c = 1; c < 8; c++)
            column = when[row][c] < when[row][column] ? c : column;
        times[n] = when[row][column];
        when[row][column] += later[n];
        uint32_t first = when[row][0];
        for (uint32_t c = 1; c < 8; c++)
            first = smaller(first, when[row][c]);
        firsts[row] = first;
    }
    return 0;
}

/* Searches the unsorted events. */
static uint64_t event_queue_all(void)
{
    uint32_t when[EVENTS];
    memcpy(when, start, sizeof when);
    for (int n = 0; n < N; n++) {
        uint32_t first = when[0], at = 0;
        for (uint32_t i = 1; i < EVENTS; i++) {
            at = when[i] < first ? i : at;
            first = smaller(first, when[i]);
        }
        times[n] = first;
        when[at] += later[n];
    }
    return 0;
}

const struct group event_queue = {prepare,
                                  times,
                                  sizeof times,
                                  {PROGRAM(event_queue_to_end), PROGRAM(event_queue_tournament),
                                   PROGRAM(event_queue_rows), PROGRAM(event_queue_all)}};
