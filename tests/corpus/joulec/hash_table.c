/* tests/corpus/joulec/hash_table.c - the values of keys in hash tables. Half of the keys are absent. Each key
 * is found with at most four probes.
 *
 * The programs use linear probing that ends early or always takes four probes, two possible slots, or chains.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define KEYS    512
#define QUERIES 8192
#define BITS    10
#define SLOTS   (1 << BITS)
#define LOOKS   4

struct slot {
    uint32_t key, value; /* key 0: empty slot */
};

static struct slot beside[SLOTS + LOOKS], either[2][SLOTS], chained[KEYS + 1];
static uint16_t head[SLOTS / 2], next[KEYS + 1];
static uint32_t query[QUERIES], found[QUERIES];

static inline uint32_t place_of(uint32_t key)
{
    return key * 0x9e3779b1u >> (32 - BITS);
}

static inline uint32_t other_place_of(uint32_t key)
{
    return key * 0x85ebca77u >> (32 - BITS);
}

static struct slot *free_beside(uint32_t key)
{
    for (uint32_t k = 0; k < LOOKS; k++)
        if (!beside[place_of(key) + k].key)
            return &beside[place_of(key) + k];
    return NULL;
}

static struct slot *free_of_two(uint32_t key)
{
    struct slot *slot = &either[0][place_of(key)], *other = &either[1][other_place_of(key)];
    return !slot->key ? slot : !other->key ? other : NULL;
}

static int chain_length(uint32_t key)
{
    int length = 0;
    for (uint32_t at = head[place_of(key) / 2]; at; at = next[at])
        length++;
    return length;
}

/* Inserts a key into all tables or into none. Returns the number of inserted keys, 0 or 1. */
static uint32_t insert(uint32_t key, uint32_t count)
{
    struct slot *in_row = free_beside(key), *of_two = free_of_two(key);
    if (!in_row || !of_two || chain_length(key) >= LOOKS)
        return 0;
    chained[count] = *in_row = *of_two = (struct slot){key, corpus_random()};
    next[count] = head[place_of(key) / 2];
    head[place_of(key) / 2] = (uint16_t)count;
    return 1;
}

/* Keys that are present are odd. */
static void prepare(void)
{
    memset(beside, 0, sizeof beside);
    memset(either, 0, sizeof either);
    memset(head, 0, sizeof head);
    for (uint32_t count = 1; count <= KEYS;)
        count += insert(corpus_random() | 1, count);
    for (int i = 0; i < QUERIES; i++)
        query[i] = corpus_random() % 2 ? chained[1 + corpus_random() % KEYS].key : (corpus_random() | 1) ^ 1;
}

static uint64_t hash_table_beside(void)
{
    for (int i = 0; i < QUERIES; i++) {
        uint32_t key = query[i], value = 0;
        const struct slot *slot = &beside[place_of(key)];
        for (int k = 0; k < LOOKS; k++)
            if (slot[k].key == key || !slot[k].key) {
                value = slot[k].value;
                break;
            }
        found[i] = value;
    }
    return 0;
}

/* Takes all four probes, even if an earlier probe found the key. */
static uint64_t hash_table_all_probes(void)
{
    for (int i = 0; i < QUERIES; i++) {
        uint32_t key = query[i], value = 0;
        const struct slot *slot = &beside[place_of(key)];
        for (int k = 0; k < LOOKS; k++)
            value |= slot[k].key == key ? slot[k].value : 0;
        found[i] = value;
    }
    return 0;
}

static uint64_t hash_table_two_places(void)
{
    for (int i = 0; i < QUERIES; i++) {
        uint32_t key = query[i];
        const struct slot *slot = &either[0][place_of(key)], *other = &either[1][other_place_of(key)];
        found[i] = (slot->key == key ? slot->value : 0) | (other->key == key ? other->value : 0);
    }
    return 0;
}

static uint64_t hash_table_chains(void)
{
    for (int i = 0; i < QUERIES; i++) {
        uint32_t key = query[i], at = head[place_of(key) / 2];
        JOULE_LOOP(0, LOOKS)
        while (at && chained[at].key != key)
            at = next[at];
        found[i] = chained[at].value;
    }
    return 0;
}

const struct group hash_table = {prepare,
                                 found,
                                 sizeof found,
                                 {PROGRAM(hash_table_beside), PROGRAM(hash_table_all_probes),
                                  PROGRAM(hash_table_two_places), PROGRAM(hash_table_chains)}};
