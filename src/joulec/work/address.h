/* joulec/work/address.h - describes how the address of a load or store changes with the iterations of the
 * loops around it.
 *
 * Converts scalar evolution's formula of an address to a base, an offset and a stride per loop.
 * cache_levels.h derives the cache lines.
 * Note: indices are assumed not to wrap. A monotonic phi is assumed to advance by its maximum in each
 * iteration. A base that is loaded in each iteration of a loop makes the address irregular in that loop; in
 * the loops inside, it may be regular, as for rows of a matrix of pointers.
 */
#ifndef JOULEC_ADDRESS_H
#define JOULEC_ADDRESS_H

#include "joulec/module/loops.h"
#include "joulec/trips/scev_facts.h"

#define STRIDE_UNKNOWN INFINITY /* it changes by the same unknown amount in each iteration */

struct address {
    uint64_t base;  /* equal values: the same base ... */
    uint64_t key;   /* ... and the same strides: the addresses differ by their offsets */
    uint64_t start; /* equal values: the addresses differ by their offsets when the loops around them begin */
    double offset;  /* in bytes */
    const struct object *object; /* the variable that contains it; NULL: unknown */
    double *stride;              /* bytes per iteration of each loop around it, by depth, outermost first */
    /* Bit d - 1: at depth d the stride is a maximum, because a monotonic phi may advance by less, or not at
     * all. */
    uint64_t monotonic_phis;
    /* The address is irregular in this many of these loops, counted from the outermost one. -1: in none, and
     * it comes from outside of the function. */
    int irregular_depth;
};

/* The loops, blocks and objects to which the names of a function's values refer. */
struct addresses {
    const struct module *module;
    const struct function *function;
    const struct loops *loops;
    const struct scev_function *facts; /* NULL: none */
    int32_t *loop_of;                  /* by name: the loop with this header; -1: none */
    int32_t *block_of; /* by name: the block that computes this value; -1: none, or the value is expanded */
    const struct object **object_of;               /* by name */
    const struct monotonic_phi **monotonic_phi_of; /* by name; NULL: it is no monotonic phi */
    int32_t *monotonic_phi_loop;                   /* by name: the loop of the monotonic phi */
    const struct object **locals;                  /* objects of the function, sorted by name */
};

/* Sets *out, which is allocated in `arena`. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status addresses_prepare(struct arena *arena, const struct module *module,
                               const struct function *function, const struct loops *loops,
                               const struct scev_function *facts, struct addresses *out);
/* Describes the address of an access in `block`. `out->stride` must have room for the loops around it. */
void address_read(const struct addresses *addresses, const struct access *access, uint32_t block,
                  struct address *out);

#endif
