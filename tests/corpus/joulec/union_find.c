/* tests/corpus/joulec/union_find.c - the connected components of 256 elements, and the minimum of each
 * component, in eight rounds. The connections are given pair by pair.
 *
 * The programs use trees (union-find) with or without path compression, a label for each element, or lists of
 * members.
 */
#include <joule/budget.h>
#include "corpus.h"

#define N 256
/* limit of the depth of trees, because the smaller tree is attached to the root of the larger tree */
#define MAX_DEPTH 8
#define PAIRS     224
#define ROUNDS    8

static uint8_t ones[ROUNDS][PAIRS], others[ROUNDS][PAIRS];
static uint16_t minimum[ROUNDS][N];
static uint16_t parents[N], sizes[N], labels[N], nexts[N], lasts[N], roots[N];

static void prepare(void)
{
    for (int r = 0; r < ROUNDS; r++)
        for (int p = 0; p < PAIRS; p++) {
            ones[r][p] = (uint8_t)corpus_random();
            others[r][p] = (uint8_t)corpus_random();
        }
}

static void all_alone(void)
{
    for (uint32_t i = 0; i < N; i++) {
        parents[i] = (uint16_t)i;
        sizes[i] = 1;
    }
}

static inline void join(uint32_t a, uint32_t b)
{
    if (a == b)
        return;
    if (sizes[a] < sizes[b]) {
        uint32_t kept = a;
        a = b;
        b = kept;
    }
    parents[b] = (uint16_t)a;
    sizes[a] = (uint16_t)(sizes[a] + sizes[b]);
}

/* The first element with a label is the minimum of its component. */
static void find_minimum(const uint16_t *labels_of, uint16_t *minimum_of)
{
    uint16_t first[N];
    for (int i = N - 1; i >= 0; i--)
        first[labels_of[i]] = (uint16_t)i;
    for (int i = 0; i < N; i++)
        minimum_of[i] = first[labels_of[i]];
}

static inline uint32_t root_of(uint32_t i)
{
    JOULE_LOOP(0, MAX_DEPTH)
    while (parents[i] != i)
        i = parents[i];
    return i;
}

static uint64_t union_find_trees(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        all_alone();
        for (int p = 0; p < PAIRS; p++)
            join(root_of(ones[r][p]), root_of(others[r][p]));
        for (uint32_t i = 0; i < N; i++)
            roots[i] = (uint16_t)root_of(i);
        find_minimum(roots, minimum[r]);
    }
    return 0;
}

/* Attaches all elements on the path from `i` to the root directly to the root (path compression). */
static inline uint32_t compress_to_root_of(uint32_t i)
{
    uint32_t root = root_of(i);
    JOULE_LOOP(0, MAX_DEPTH)
    while (parents[i] != root) {
        uint32_t next = parents[i];
        parents[i] = (uint16_t)root;
        i = next;
    }
    return root;
}

static uint64_t union_find_compressed(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        all_alone();
        for (int p = 0; p < PAIRS; p++)
            join(compress_to_root_of(ones[r][p]), compress_to_root_of(others[r][p]));
        for (uint32_t i = 0; i < N; i++)
            roots[i] = (uint16_t)compress_to_root_of(i);
        find_minimum(roots, minimum[r]);
    }
    return 0;
}

/* Joins two components by replacing one label by the other everywhere. */
static uint64_t union_find_labels(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        for (uint32_t i = 0; i < N; i++)
            labels[i] = (uint16_t)i;
        for (int p = 0; p < PAIRS; p++) {
            uint16_t old = labels[ones[r][p]], new = labels[others[r][p]];
            for (int i = 0; i < N; i++)
                labels[i] = labels[i] == old ? new : labels[i];
        }
        find_minimum(labels, minimum[r]);
    }
    return 0;
}

/* Visits the shorter of two lists and appends it to the other. */
static uint64_t union_find_lists(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        for (uint32_t i = 0; i < N; i++) {
            labels[i] = lasts[i] = nexts[i] = (uint16_t)i; /* the last element points to itself */
            sizes[i] = 1;
        }
        for (int p = 0; p < PAIRS; p++) {
            uint16_t a = labels[ones[r][p]], b = labels[others[r][p]];
            if (a == b)
                continue;
            uint16_t large = sizes[a] < sizes[b] ? b : a, small = sizes[a] < sizes[b] ? a : b, at = small;
            labels[at] = large;
            JOULE_LOOP(0, N / 2 - 1)
            while (nexts[at] != at) {
                at = nexts[at];
                labels[at] = large;
            }
            nexts[lasts[large]] = small;
            lasts[large] = at;
            sizes[large] = (uint16_t)(sizes[large] + sizes[small]);
        }
        find_minimum(labels, minimum[r]);
    }
    return 0;
}

const struct group union_find = {prepare,
                                 minimum,
                                 sizeof minimum,
                                 {PROGRAM(union_find_trees), PROGRAM(union_find_compressed),
                                  PROGRAM(union_find_labels), PROGRAM(union_find_lists)}};
