/* tests/corpus/joulec/moving_sum.c - the moving sum of the last 48 samples, which are kept in a queue.
 *
 * The programs use a ring buffer with remainders, with calls, or with a loop for each round, or a circular
 * list.
 */
#include <string.h>
#include "corpus.h"

#define WAITING 48
#define N       (WAITING * 128)

struct ring {
    uint32_t begin, end;
    int32_t items[WAITING];
};

struct node {
    struct node *next;
    int32_t item;
};

static int32_t samples[N], sums[N], items[WAITING];
static struct ring waiting;
static struct node nodes[WAITING];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        samples[i] = (int32_t)(corpus_random() % 2000) - 1000;
    for (int k = 0; k < WAITING; k++)
        nodes[k].next = &nodes[(k + 5) % WAITING];
}

static uint64_t moving_sum_remainder(void)
{
    int32_t sum = 0;
    memset(items, 0, sizeof items);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t at = i % WAITING;
        sum += samples[i] - items[at];
        items[at] = samples[i];
        sums[i] = sum;
    }
    return 0;
}

__attribute__((noinline)) static void put(struct ring *ring, int32_t item)
{
    ring->items[ring->end] = item;
    ring->end = ring->end + 1 < WAITING ? ring->end + 1 : 0;
}

__attribute__((noinline)) static int32_t take(struct ring *ring)
{
    int32_t item = ring->items[ring->begin];
    ring->begin = ring->begin + 1 < WAITING ? ring->begin + 1 : 0;
    return item;
}

static uint64_t moving_sum_calls(void)
{
    int32_t sum = 0;
    memset(&waiting, 0, sizeof waiting);
    for (int i = 0; i < N; i++) {
        sum += samples[i] - take(&waiting);
        put(&waiting, samples[i]);
        sums[i] = sum;
    }
    return 0;
}

static uint64_t moving_sum_rounds(void)
{
    int32_t sum = 0;
    memset(items, 0, sizeof items);
    for (int i = 0; i < N; i += WAITING)
        for (int at = 0; at < WAITING; at++) {
            sum += samples[i + at] - items[at];
            items[at] = samples[i + at];
            sums[i + at] = sum;
        }
    return 0;
}

/* Each item points to the next one. */
static uint64_t moving_sum_nodes(void)
{
    int32_t sum = 0;
    struct node *oldest = nodes;
    for (int k = 0; k < WAITING; k++)
        nodes[k].item = 0;
    for (int i = 0; i < N; i++) {
        sum += samples[i] - oldest->item;
        oldest->item = samples[i];
        oldest = oldest->next;
        sums[i] = sum;
    }
    return 0;
}

const struct group moving_sum = {prepare,
                                 sums,
                                 sizeof sums,
                                 {PROGRAM(moving_sum_remainder), PROGRAM(moving_sum_calls),
                                  PROGRAM(moving_sum_rounds), PROGRAM(moving_sum_nodes)}};
