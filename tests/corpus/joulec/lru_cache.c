/* tests/corpus/joulec/lru_cache.c - hits of 2048 reads in a cache of 16 sets of eight lines with LRU
 * replacement.
 *
 * The programs use the time of each line's last read, an array in order of use, doubly linked lists, or a bit
 * matrix.
 */
#include <joule/budget.h>
#include <stdbool.h>
#include <string.h>
#include "corpus.h"

#define SETS  16
#define LINES 8
#define READS 2048
#define NONE  UINT32_MAX

static uint32_t addresses[READS]; /* addresses of lines */
static bool is_known[READS];

/* Makes addresses near the previous address, with occasional jumps. */
static void prepare(void)
{
    uint32_t place = 0;
    for (int i = 0; i < READS; i++) {
        uint32_t chance = corpus_random();
        if (chance % 8 == 0)
            place = (chance >> 8) % 512;
        addresses[i] = place + (chance >> 20) % 64 * ((chance >> 4) % 4);
    }
}

static uint64_t lru_cache_times(void)
{
    static uint32_t lines[SETS][LINES], times[SETS][LINES];
    uint64_t known = 0;
    memset(lines, 0xff, sizeof lines);
    memset(times, 0, sizeof times);
    for (uint32_t i = 0; i < READS; i++) {
        uint32_t set = addresses[i] % SETS, at = 0;
        for (at = 0; at < LINES; at++)
            if (lines[set][at] == addresses[i])
                break;
        is_known[i] = at < LINES;
        if (is_known[i])
            known++;
        else {
            at = 0;
            for (uint32_t k = 1; k < LINES; k++)
                if (times[set][k] < times[set][at])
                    at = k;
            lines[set][at] = addresses[i];
        }
        times[set][at] = i + 1;
    }
    return known;
}

static uint64_t lru_cache_front(void)
{
    static uint32_t lines[SETS][LINES];
    uint64_t known = 0;
    memset(lines, 0xff, sizeof lines);
    for (int i = 0; i < READS; i++) {
        uint32_t *set = lines[addresses[i] % SETS];
        int at = 0;
        JOULE_LOOP(0, LINES - 1)
        while (at < LINES - 1 && set[at] != addresses[i])
            at++;
        is_known[i] = set[at] == addresses[i];
        known += is_known[i];
        JOULE_LOOP(0, LINES - 1)
        for (; at > 0; at--)
            set[at] = set[at - 1];
        set[0] = addresses[i];
    }
    return known;
}

struct list {
    uint32_t lines[LINES];
    uint8_t next[LINES], previous[LINES], first, last;
};

static inline void move_to_front(struct list *list, uint8_t at)
{
    if (at == list->first)
        return;
    uint8_t previous = list->previous[at];
    if (at == list->last)
        list->last = previous;
    else {
        list->next[previous] = list->next[at];
        list->previous[list->next[at]] = previous;
    }
    list->next[at] = list->first;
    list->previous[list->first] = at;
    list->first = at;
}

static uint64_t lru_cache_links(void)
{
    static struct list lists[SETS];
    uint64_t known = 0;
    for (int set = 0; set < SETS; set++) {
        lists[set].first = 0;
        lists[set].last = LINES - 1;
        for (int k = 0; k < LINES; k++) {
            lists[set].lines[k] = NONE;
            lists[set].next[k] = (uint8_t)(k + 1);
            lists[set].previous[k] = (uint8_t)(k - 1);
        }
    }
    for (int i = 0; i < READS; i++) {
        struct list *list = &lists[addresses[i] % SETS];
        uint8_t at = list->first;
        JOULE_LOOP(0, LINES - 1)
        while (at != list->last && list->lines[at] != addresses[i])
            at = list->next[at];
        is_known[i] = list->lines[at] == addresses[i];
        known += is_known[i];
        list->lines[at] = addresses[i];
        move_to_front(list, at);
    }
    return known;
}

/* Bit 8 a + b is set if line a was read after line b. */
static uint64_t lru_cache_matrix(void)
{
    static uint32_t lines[SETS][LINES];
    uint64_t after[SETS] = {0}, known = 0;
    memset(lines, 0xff, sizeof lines);
    for (int i = 0; i < READS; i++) {
        uint32_t set = addresses[i] % SETS, at = LINES;
        for (uint32_t k = 0; k < LINES; k++)
            at = lines[set][k] == addresses[i] ? k : at;
        is_known[i] = at < LINES;
        known += is_known[i];
        if (!is_known[i]) {
            at = 0;
            JOULE_LOOP(0, LINES - 1)
            while (after[set] >> (8 * at) & 0xff)
                at++;
            lines[set][at] = addresses[i];
        }
        after[set] |= UINT64_C(0xff) << (8 * at);
        after[set] &= ~(UINT64_C(0x0101010101010101) << at);
    }
    return known;
}

const struct group lru_cache = {prepare,
                                is_known,
                                sizeof is_known,
                                {PROGRAM(lru_cache_times), PROGRAM(lru_cache_front), PROGRAM(lru_cache_links),
                                 PROGRAM(lru_cache_matrix)}};
