/* joulec/trips/scev_facts.h - formulas of LLVM's scalar evolution for the loops and values of each function.
 *
 * llvm/llvm_scev.cpp adds the facts with the functions scev_add_*. A formula that joulec cannot represent is
 * unknown. Maxima above SCEV_MAX_TAKEN are omitted, because they only reflect the width of a type.
 * Note: counts are backedge-taken counts. If a loop is entered, its header runs once more than the count.
 */
#ifndef JOULEC_SCEV_FACTS_H
#define JOULEC_SCEV_FACTS_H

#include "joulec/trips/expr.h"

#define SCEV_MAX_TAKEN (1 << 20)

struct scev_exit {
    const char *block;        /* name of the exiting block */
    const struct expr *taken; /* backedge-taken count if the loop ends at this exit; may be unknown */
};

struct scev_loop {
    const char *header;       /* name of the block, without '%' */
    uint32_t name;            /* number of the header's name, which formulas use for the iteration number */
    const struct expr *taken; /* backedge-taken count of one entry of the whole loop; may be unknown */
    /* Equals `taken` if the loop's own guard is passed; negative if the guard is not passed. */
    const struct expr *taken_guarded;
    /* Several conditions end the loop, so taken_guarded may be negative although the guard is passed. */
    bool is_guard_ambiguous;
    int64_t max_taken; /* maximum backedge-taken count of any entry; -1: no bound */
    int64_t multiple;  /* trip multiple; 1: no information */
    bool has_several_exits;
    struct scev_exit *exits; /* empty if the loop has only one exit */
    size_t exit_count, exit_capacity;
};

struct scev_value {
    uint32_t name; /* number of an instruction's name */
    const struct expr *value;
    struct expr_range range; /* range of the signed value; unknown: no narrower than its type */
};

struct scev_function {
    char *name;                /* without '@' */
    struct expr_pool pool;     /* names and expressions of this function; its arena contains their memory */
    struct scev_loop *loops;   /* inner loops first */
    struct scev_value *values; /* sorted by name; without unknown values */
    size_t loop_count, loop_capacity, value_count, value_capacity;
    /* For each of loop_of_count names: 1 + index of the first loop with this header; 0: there is none. */
    uint32_t *loop_of;
    size_t loop_of_count;
};

/* Facts about a module. Initialize with zeros; free with scev_facts_free(). */
struct scev_facts {
    struct scev_function *functions;
    size_t function_count, function_capacity;
    struct index index; /* functions by name */
};

/* Append a function, or a loop without any facts to a function. Return the new item, which is valid until the
 * next item of this kind is added. NULL: out of memory. */
struct scev_function *scev_add_function(struct scev_facts *facts, const char *name, size_t length);
struct scev_loop *scev_add_loop(struct scev_function *function, const char *header, size_t length);
/* Append an exit to a loop, or a value to a function. Unknown values are ignored. Return false if out of
 * memory. */
bool scev_add_exit(struct scev_function *function, struct scev_loop *loop, const char *block, size_t length,
                   const struct expr *taken);
bool scev_add_value(struct scev_function *function, const char *name, size_t length, const struct expr *value,
                    struct expr_range range);
/* Computes the remaining members after all functions were added. Returns false if out of memory. */
bool scev_facts_finish(struct scev_facts *facts);
void scev_facts_free(struct scev_facts *facts);

/* Return the function, the loop by its header, or the value with this name; NULL: not found. Names are those
 * of LLVM's C interface, without '@' and '%'. If several items have the name, the first one is returned. */
struct scev_function *scev_find_function(const struct scev_facts *facts, const char *name);
const struct scev_loop *scev_loop_of(const struct scev_function *function, const char *header);
const struct expr *scev_value_of(const struct scev_function *function, const char *name);
/* Returns a value with its range; NULL: unknown. */
const struct scev_value *scev_find_value(const struct scev_function *function, uint32_t name);
/* Returns a copy of the loop without each exit i for which is_left_out[i] is true. Exits and formulas of the
 * copy are allocated in `pool`. At least one exit must remain. */
struct scev_loop scev_loop_without(struct expr_pool *pool, const struct scev_loop *loop,
                                   const bool *is_left_out);

#endif
