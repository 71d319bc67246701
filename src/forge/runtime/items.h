/* runtime/items.h - what launches are told apart by when joules are shared out.
 *
 * Owns the list of a program's operations by phase and scope, and what a cost model expects of their power. Newcomers: the
 * last item stands for the time between launches.
 */
#ifndef FORGE_RUNTIME_ITEMS_H
#define FORGE_RUNTIME_ITEMS_H

#include "base/arena.h"
#include "forge/ir/program.h"
#include "forge/runtime/attribution.h"

#define ITEMS_MOST 128 /* scopes are cut where there would be more */

struct item {
    uint32_t op;           /* OP_COUNT: between launches */
    const char *operation; /* its name, in the program; "": likewise */
    forge_phase phase;
    const char *scope;
    uint64_t launches;
    struct program_cost cost; /* of one run */
};

struct items {
    struct item *list;
    size_t count;
    uint32_t *item_of; /* each launch */
    struct arena texts;
};

/* False: no memory; items_free then, too. */
bool items_make(struct items *items, const forge_program *program);
void items_free(struct items *items);
/* What is believed of each item's power before anything is measured; taken_ns[i]: how long launch i took in `runs` runs. */
void items_expect(const struct items *items, const int64_t *taken_ns, size_t launches, uint64_t runs,
                  struct attribution_group *out_groups);

#endif
