/* joulec/work/address.h - describes how the address of a load or store changes with the iterations of the
 * loops around it.
 *
 * Converts scalar evolution's formula of an address to a base, an offset and a stride per loop.
 * cache_levels.h derives the cache lines.
 * Note: indices are assumed not to wrap. A monotonic phi is assumed to advance by its maximum step in each
 * iteration. If each iteration of a loop loads the base, the address is irregular in that loop. It may still
 * be regular in inner loops, as for a matrix that is an array of pointers to rows.
 */
#ifndef JOULEC_ADDRESS_H
#define JOULEC_ADDRESS_H

#include "joulec/module/loops.h"
#include "joulec/trips/scev_facts.h"

#define STRIDE_UNKNOWN INFINITY /* the stride is constant, but unknown */

struct address {
    uint64_t base;  /* hash; equal values mean the same base */
    uint64_t key;   /* hash; if base and key are equal, two addresses always differ by their offsets */
    uint64_t start; /* hash; if equal, two addresses differ by their offsets when their loops are entered */
    double offset;  /* in bytes */
    const struct object *object; /* the variable that contains the address; NULL: unknown */
    double *stride;              /* bytes per iteration of each loop around the access, outermost first */
    /* Bit d - 1: at depth d, the stride is a maximum, because it contains a monotonic phi. */
    uint64_t monotonic_phis;
    /* The address is irregular in this number of outermost loops. -1: in none, and no instruction of the
     * function computes the base. */
    int irregular_depth;
};

/* The loops, blocks and objects to which the names of a function's values refer. */
struct addresses {
    const struct module *module;
    const struct function *function;
    const struct loops *loops;
    const struct scev_function *facts; /* NULL: none */
    int32_t *loop_of;                  /* by name: the loop with this header; -1: none */
    int32_t *block_of; /* by name: the block that computes this value; -1: none, or it has a formula */
    const struct object **object_of;               /* by name */
    const struct monotonic_phi **monotonic_phi_of; /* by name; NULL: the name is no monotonic phi */
    int32_t *monotonic_phi_loop;                   /* by name: the loop of the monotonic phi */
    const struct object **locals;                  /* objects of the function, sorted by name */
};

/* Fills *out. The other arguments must outlive *out. Allocates its arrays in `arena`. Returns JOULE_OK or
 * JOULE_NO_MEMORY. */
joule_status addresses_prepare(struct arena *arena, const struct module *module,
                               const struct function *function, const struct loops *loops,
                               const struct scev_function *facts, struct addresses *out);
/* Describes the address of an access in `block`. The caller sets out->stride to an array with at least one
 * element for each loop around the block. */
void address_read(const struct addresses *addresses, const struct access *access, uint32_t block,
                  struct address *out);

#endif
