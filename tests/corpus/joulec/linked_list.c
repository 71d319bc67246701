/* tests/corpus/joulec/linked_list.c - the sum of a circular list that fits into the first-level cache.
 *
 * The programs visit node by node, use pointers to the second next node, use an array of addresses, or use
 * both pointers in each step.
 */
#include "corpus.h"

#define N     1024
#define TIMES 32

struct node {
    struct node *next, *second; /* the next node, and the node after the next one */
    uint64_t value;
};

static struct node nodes[N], *address[N];

/* Links all nodes in random order. */
static void prepare(void)
{
    static uint32_t order[N];
    for (uint32_t i = 0; i < N; i++) {
        order[i] = i;
        nodes[i].value = corpus_random();
    }
    for (uint32_t i = N - 1; i > 0; i--) {
        uint32_t j = corpus_random() % (i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (uint32_t i = 0; i < N; i++) {
        nodes[order[i]].next = &nodes[order[(i + 1) % N]];
        nodes[order[i]].second = &nodes[order[(i + 2) % N]];
        address[i] = &nodes[order[i]];
    }
}

static uint64_t linked_list_list(void)
{
    uint64_t s = 0;
    const struct node *at = nodes;
    for (int i = 0; i < N * TIMES; i++) {
        s += at->value;
        at = at->next;
    }
    return s;
}

static uint64_t linked_list_second(void)
{
    uint64_t s = 0;
    const struct node *at = nodes, *after = nodes->next;
    for (int i = 0; i < N * TIMES / 2; i++) {
        s += at->value + after->value;
        at = at->second;
        after = after->second;
    }
    return s;
}

static uint64_t linked_list_addresses(void)
{
    uint64_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += address[i]->next->next->value;
    return s;
}

/* Takes both pointers in each step. */
static uint64_t linked_list_both(void)
{
    uint64_t s = 0;
    const struct node *at = nodes;
    for (int i = 0; i < N * TIMES / 2; i++) {
        s += at->value + at->next->value;
        at = at->second;
    }
    return s;
}

const struct group linked_list = {prepare,
                                  NULL,
                                  0,
                                  {PROGRAM(linked_list_list), PROGRAM(linked_list_second),
                                   PROGRAM(linked_list_addresses), PROGRAM(linked_list_both)}};
