/* runtime/items.h - groups a program's launches into items by operation, phase and scope, for the attribution
 * of energy.
 *
 * Note: the last item is the time between launches.
 */
#ifndef FORGE_RUNTIME_ITEMS_H
#define FORGE_RUNTIME_ITEMS_H

#include "base/arena.h"
#include "base/index.h"
#include "forge/runtime/attribution.h"
#include "forge/runtime/instance.h"

#define MAX_ITEMS 128 /* if there are more items, scopes are shortened, so that more launches share an item */

/* A group of launches whose energy is attributed together. */
struct item {
    uint32_t op;           /* OP_COUNT: the time between launches */
    const char *operation; /* name of the operation, in the program's memory; "": the time between launches */
    forge_phase phase;
    const char *scope;
    const char *key; /* identifies the item: phase, operation, scope */
    size_t key_size;
    uint64_t launches; /* number of the item's launches in one run */
};

/* The items of a program, and the item of each launch. */
struct items {
    struct item *list;
    size_t count;
    uint32_t *item_of;  /* one for each launch */
    struct index index; /* finds an item by its key */
    struct arena texts; /* memory of the keys */
    char *key;          /* scratch: the key of the current launch */
    size_t key_capacity;
};

/* Groups the launches of a program. Returns false if out of memory. Call items_free in any case. */
bool items_make(struct items *items, const forge_program *program);
void items_free(struct items *items);
/* Returns the part of an item's joules that belongs to operations in `scope` or below it, from 0 to 1. The
 * joules of a fused launch are divided among its operations in proportion to their FLOP, at least one for
 * each element of the result. */
double items_part(const struct items *items, const forge_program *program, size_t item, const char *scope);
/* Returns the mean cost of an item's launches in one run. */
struct program_cost items_cost(const struct items *items, const forge_instance *instance, size_t item);
/* Computes the prior of each item's power, from the cost and the time of the item's launches. out_groups:
 * [count of items]. */
void items_prior(const struct items *items, const forge_instance *instance,
                 struct attribution_group *out_groups);

#endif
