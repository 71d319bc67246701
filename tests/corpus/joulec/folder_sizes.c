/* tests/corpus/joulec/folder_sizes.c - the total size of each of 1024 folders with all subfolders, and the
 * number of levels below it.
 *
 * The programs use one or two recursive functions, use a list in which parents come before children, add each
 * folder to all its ancestors, or work from the leaves upwards.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define FOLDERS   1024
#define MAX_DEPTH 24 /* levels of folders */
#define NONE      -1

struct folder {
    int32_t parent, first_child, next_sibling;
    uint32_t own, level;
};

struct total {
    uint32_t size, levels;
};

static struct folder folders[FOLDERS];
static struct total totals[FOLDERS];

/* Folder 0 is the root. The other numbers are assigned at random. */
static void prepare(void)
{
    static int32_t places[FOLDERS]; /* numbers of the folders in order of creation */
    for (uint32_t i = 0; i < FOLDERS; i++) {
        uint32_t k = i < 2 ? i : 1 + corpus_random() % i;
        places[i] = places[k];
        places[k] = (int32_t)i;
    }
    for (uint32_t i = 0; i < FOLDERS; i++) {
        struct folder *f = &folders[places[i]];
        int32_t parent = i == 0 ? NONE : places[corpus_random() % i];
        if (parent != NONE && folders[parent].level == MAX_DEPTH - 1)
            parent = places[0];
        *f = (struct folder){parent, NONE, NONE, corpus_random() % 100000, 0};
        if (parent != NONE) {
            f->level = folders[parent].level + 1;
            f->next_sibling = folders[parent].first_child;
            folders[parent].first_child = places[i];
        }
    }
}

static inline struct total sum_of(struct total parent, struct total child)
{
    uint32_t levels = child.levels + 1;
    return (struct total){parent.size + child.size, levels > parent.levels ? levels : parent.levels};
}

JOULE_DEPTH(MAX_DEPTH)
static struct total add_up(int32_t at)
{
    struct total total = {folders[at].own, 0};
    JOULE_LOOP(0, FOLDERS - 1)
    for (int32_t child = folders[at].first_child; child != NONE; child = folders[child].next_sibling)
        total = sum_of(total, add_up(child));
    totals[at] = total;
    return total;
}

static uint64_t folder_sizes_recursive(void)
{
    return add_up(0).size;
}

JOULE_DEPTH(MAX_DEPTH)
static uint32_t size_of(int32_t at)
{
    uint32_t size = folders[at].own;
    JOULE_LOOP(0, FOLDERS - 1)
    for (int32_t child = folders[at].first_child; child != NONE; child = folders[child].next_sibling)
        size += size_of(child);
    return totals[at].size = size;
}

JOULE_DEPTH(MAX_DEPTH)
static uint32_t levels_of(int32_t at)
{
    uint32_t levels = 0;
    JOULE_LOOP(0, FOLDERS - 1)
    for (int32_t child = folders[at].first_child; child != NONE; child = folders[child].next_sibling) {
        uint32_t below = levels_of(child) + 1;
        levels = below > levels ? below : levels;
    }
    return totals[at].levels = levels;
}

static uint64_t folder_sizes_twice(void)
{
    levels_of(0);
    return size_of(0);
}

/* Visits a list in which each folder comes after its parent, from its end. */
static uint64_t folder_sizes_list(void)
{
    static int32_t list[FOLDERS];
    int count = 1;
    list[0] = 0;
    for (int i = 0; i < FOLDERS; i++) {
        totals[list[i]] = (struct total){folders[list[i]].own, 0};
        JOULE_LOOP(0, FOLDERS - 1)
        for (int32_t child = folders[list[i]].first_child; child != NONE; child = folders[child].next_sibling)
            list[count++] = child;
    }
    for (int i = FOLDERS - 1; i > 0; i--) {
        struct total *above = &totals[folders[list[i]].parent];
        *above = sum_of(*above, totals[list[i]]);
    }
    return totals[0].size;
}

static uint64_t folder_sizes_above(void)
{
    memset(totals, 0, sizeof totals);
    for (int i = 0; i < FOLDERS; i++) {
        uint32_t levels = 0;
        JOULE_LOOP(1, MAX_DEPTH)
        for (int32_t at = i; at != NONE; at = folders[at].parent) {
            totals[at].size += folders[i].own;
            if (totals[at].levels < levels)
                totals[at].levels = levels;
            levels++;
        }
    }
    return totals[0].size;
}

/* When the last subfolder of a folder is finished, the folder itself is processed. */
static uint64_t folder_sizes_empty(void)
{
    static uint16_t waiting[FOLDERS];
    memset(waiting, 0, sizeof waiting);
    for (int i = 0; i < FOLDERS; i++) {
        totals[i] = (struct total){folders[i].own, 0};
        if (folders[i].parent != NONE)
            waiting[folders[i].parent]++;
    }
    for (int i = 0; i < FOLDERS; i++) {
        if (folders[i].first_child != NONE)
            continue;
        int32_t at = i, above = folders[i].parent;
        JOULE_LOOP(0, MAX_DEPTH - 1)
        while (above != NONE) {
            totals[above] = sum_of(totals[above], totals[at]);
            if (--waiting[above] > 0)
                break;
            at = above;
            above = folders[at].parent;
        }
    }
    return totals[0].size;
}

const struct group folder_sizes = {prepare,
                                   totals,
                                   sizeof totals,
                                   {PROGRAM(folder_sizes_recursive), PROGRAM(folder_sizes_twice),
                                    PROGRAM(folder_sizes_list), PROGRAM(folder_sizes_above),
                                    PROGRAM(folder_sizes_empty)}};
