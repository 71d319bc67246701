/* runtime/items.h - what launches are told apart by when joules are shared out.
 *
 * Owns the list of a program's operations by phase and scope, and what a cost model expects of their power. Newcomers: the
 * last item stands for the time between launches.
 */
#ifndef FORGE_RUNTIME_ITEMS_H
#define FORGE_RUNTIME_ITEMS_H

#include "base/arena.h"
#include "base/index.h"
#include "forge/runtime/attribution.h"
#include "forge/runtime/instance.h"

#define ITEMS_MOST 128 /* scopes are cut where there would be more */

struct item {
    uint32_t op;           /* OP_COUNT: between launches */
    const char *operation; /* its name, in the program; "": likewise */
    forge_phase phase;
    const char *scope;
    const char *key; /* what makes it one: phase, operation, scope */
    size_t key_size;
    uint64_t launches; /* of one run */
};

struct items {
    struct item *list;
    size_t count;
    uint32_t *item_of;  /* each launch */
    struct index index; /* of keys */
    struct arena texts;
    char *key; /* of the launch that is being placed */
    size_t key_capacity;
};

/* False: no memory; items_free then, too. */
bool items_make(struct items *items, const forge_program *program);
void items_free(struct items *items);
/* What an item's launches do in one run, on average. */
struct program_cost items_cost(const struct items *items, const forge_instance *instance, size_t item);
/* What is believed of each item's power before anything is measured, from what its launches have done in which time. */
void items_expect(const struct items *items, const forge_instance *instance,
                  struct attribution_group *out_groups);

#endif
