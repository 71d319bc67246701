/* tests/corpus/joulec/connected_components.c - the connected components of a graph with 512 nodes and 400
 * edges. Each node gets the lowest number in its component.
 *
 * The programs use trees whose paths are shortened in a loop or by recursion, join lists and rename the
 * shorter list, search the graph, or pass numbers along edges until no number changes.
 */
#include <joule/budget.h>
#include <stdbool.h>
#include <string.h>
#include "corpus.h"

#define NODES 512
#define EDGES 400
#define NONE  0xffff

struct road {
    uint16_t a, b;
};

static struct road roads[EDGES];
static uint16_t lowest[NODES];

static void prepare(void)
{
    for (int i = 0; i < EDGES; i++) {
        uint32_t chance = corpus_random();
        roads[i] = (struct road){(uint16_t)(chance % NODES), (uint16_t)((chance >> 16) % NODES)};
    }
}

static void begin(uint16_t *numbers)
{
    for (int i = 0; i < NODES; i++)
        numbers[i] = (uint16_t)i;
}

static inline uint32_t root_of(uint16_t *above, uint32_t at)
{
    JOULE_LOOP(0, NODES - 1)
    while (above[at] != at) {
        above[at] = above[above[at]];
        at = above[at];
    }
    return at;
}

static inline void join(uint16_t *above, uint32_t a, uint32_t b)
{
    if (a < b)
        above[b] = (uint16_t)a;
    else
        above[a] = (uint16_t)b;
}

static uint64_t connected_components_halved(void)
{
    uint16_t above[NODES];
    begin(above);
    for (int i = 0; i < EDGES; i++)
        join(above, root_of(above, roads[i].a), root_of(above, roads[i].b));
    for (uint32_t i = 0; i < NODES; i++)
        lowest[i] = (uint16_t)root_of(above, i);
    return 0;
}

JOULE_DEPTH(NODES)
static uint16_t flat_root_of(uint16_t *above, uint16_t at)
{
    if (above[at] != at)
        above[at] = flat_root_of(above, above[at]);
    return above[at];
}

static uint64_t connected_components_recursive(void)
{
    begin(lowest);
    for (int i = 0; i < EDGES; i++)
        join(lowest, flat_root_of(lowest, roads[i].a), flat_root_of(lowest, roads[i].b));
    for (int i = 0; i < NODES; i++)
        flat_root_of(lowest, (uint16_t)i);
    return 0;
}

/* Lists are rings. Exchanging two links joins two rings. */
static uint64_t connected_components_lists(void)
{
    uint16_t names[NODES], next[NODES], counts[NODES], minimum[NODES];
    begin(names);
    begin(next);
    begin(minimum);
    for (int i = 0; i < NODES; i++)
        counts[i] = 1;
    for (int i = 0; i < EDGES; i++) {
        uint16_t few = names[roads[i].a], many = names[roads[i].b], at = few;
        if (few == many)
            continue;
        if (counts[few] > counts[many]) {
            at = few = many;
            many = names[roads[i].a];
        }
        JOULE_LOOP(1, NODES / 2)
        do {
            names[at] = many;
            at = next[at];
        } while (at != few);
        uint16_t after = next[few];
        next[few] = next[many];
        next[many] = after;
        counts[many] = (uint16_t)(counts[many] + counts[few]);
        minimum[many] = minimum[few] < minimum[many] ? minimum[few] : minimum[many];
    }
    for (int i = 0; i < NODES; i++)
        lowest[i] = minimum[names[i]];
    return 0;
}

static uint64_t connected_components_search(void)
{
    uint16_t ends[NODES + 1] = {0}, others[2 * EDGES], waiting[NODES];
    for (int i = 0; i < EDGES; i++) {
        ends[roads[i].a]++;
        ends[roads[i].b]++;
    }
    for (int i = 0; i < NODES; i++)
        ends[i + 1] = (uint16_t)(ends[i + 1] + ends[i]);
    for (int i = 0; i < EDGES; i++) { /* each end moves down to the begin of its list */
        others[--ends[roads[i].a]] = roads[i].b;
        others[--ends[roads[i].b]] = roads[i].a;
    }
    memset(lowest, 0xff, sizeof lowest);
    for (uint16_t i = 0; i < NODES; i++) {
        uint32_t count = 1;
        if (lowest[i] != NONE)
            continue;
        lowest[i] = i;
        waiting[0] = i;
        JOULE_LOOP(1, NODES)
        while (count > 0) {
            uint32_t at = waiting[--count];
            JOULE_LOOP(0, 2 * EDGES)
            for (uint32_t k = ends[at]; k < ends[at + 1]; k++)
                if (lowest[others[k]] == NONE) {
                    lowest[others[k]] = i;
                    waiting[count++] = others[k];
                }
        }
    }
    return 0;
}

/* After each pass over the edges, each node takes the number of the node to which its own number refers. */
static uint64_t connected_components_passed(void)
{
    bool has_changed = true;
    begin(lowest);
    JOULE_LOOP(1, NODES)
    while (has_changed) {
        has_changed = false;
        for (int i = 0; i < EDGES; i++) {
            uint16_t a = lowest[roads[i].a], b = lowest[roads[i].b];
            if (a == b)
                continue;
            has_changed = true;
            lowest[roads[i].a] = lowest[roads[i].b] = a < b ? a : b;
        }
        for (int i = 0; i < NODES; i++)
            lowest[i] = lowest[lowest[i]];
    }
    return 0;
}

const struct group connected_components = {
    prepare,
    lowest,
    sizeof lowest,
    {PROGRAM(connected_components_halved), PROGRAM(connected_components_recursive),
     PROGRAM(connected_components_lists), PROGRAM(connected_components_search),
     PROGRAM(connected_components_passed)}};
