/* joulec/work/address.h - how the address of a load or store moves as the loops around it go round.
 *
 * Owns the way from scalar evolution's formula of an address to a base, an offset and a stride for each loop. What that means
 * for caches is levels.h's.
 * Newcomers: indices are taken not to wrap around. What creeps is taken to go on by as much as it may in each round. A base that a loop loads anew has no order in that loop, and may well have
 * one in the loops inside it, as rows of a matrix by pointers.
 */
#ifndef JOULEC_ADDRESS_H
#define JOULEC_ADDRESS_H

#include "joulec/module/loops.h"
#include "joulec/trips/scev_text.h"

#define STRIDE_UNKNOWN INFINITY /* it moves regularly, nobody knows by how much */

struct address {
    uint64_t base;               /* equal ones have the same base ... */
    uint64_t key;                /* ... and move alike, too: they differ by their offsets */
    uint64_t start;              /* equal ones are their offsets apart when the loops around them begin */
    double offset;               /* bytes */
    const struct object *object; /* what it lies in; NULL: unknown */
    double *stride;              /* of the loops around it by depth, outermost first; bytes for each round */
    uint64_t
        creeps; /* bit d - 1: at depth d the stride is the most that it may be; it goes on by less, or not at all */
    /* With so many of these loops, from the outermost, it moves in no order; -1: with none, and calls have it from outside. */
    int wild;
};

/* What names stand for in a function. */
struct addresses {
    const struct module *module;
    const struct function *function;
    const struct loops *loops;
    const struct scev_function *facts; /* NULL: nothing is known */
    int32_t *loop_of;                  /* by name: the loop with this header; -1: none */
    int32_t *block_of; /* by name: where this value is made; -1: outside, or it is looked into */
    const struct object **object_of; /* by name */
    const struct creep **creep_of;   /* by name; NULL: it does not creep */
    int32_t *creep_loop;             /* by name: where it does */
    const struct object **locals;    /* of the function, by name */
};

/* In `arena`. NO_MEMORY, or OK. */
joule_status addresses_prepare(struct arena *arena, const struct module *module,
                               const struct function *function, const struct loops *loops,
                               const struct scev_function *facts, struct addresses *out);
/* Of an access in `block`. `out->stride` has room for its loops. */
void address_read(const struct addresses *addresses, const struct access *access, uint32_t block,
                  struct address *out);

#endif
