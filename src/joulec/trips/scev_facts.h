/* joulec/trips/scev_facts.h - formulas of LLVM's scalar evolution for the loops and values of each function.
 *
 * llvm/llvm_scev.cpp fills them; the functions named scev_add_* are for it. A formula that joulec cannot
 * represent is unknown. Maxima above SCEV_MAX_TAKEN, which merely reflect the width of a type, are left out.
 * Note: counts are backedge-taken counts; the header runs once more often, if it is reached at all.
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
    uint32_t name;            /* number of the header in the pool; stands for the iteration number */
    const struct expr *taken; /* backedge-taken count of one entry of the whole loop; may be unknown */
    /* The same behind the loop's own guard: negative if the guard is not passed. */
    const struct expr *taken_guarded;
    /* Is taken_guarded also negative for values that pass the guard? Then several conditions end the loop. */
    bool is_guard_ambiguous;
    int64_t max_taken; /* maximum backedge-taken count of any entry; -1: no bound */
    int64_t multiple;  /* trip multiple; 1: no information */
    bool has_several_exits;
    struct scev_exit *exits; /* none if the loop has only one */
    size_t exit_count, exit_capacity;
};

struct scev_value {
    uint32_t name; /* number of an instruction's name */
    const struct expr *value;
    struct expr_range range; /* of its signed value; unknown: no narrower than its type */
};

struct scev_function {
    char *name;                /* without '@' */
    struct expr_pool pool;     /* names and expressions of this function, and the memory of its names */
    struct scev_loop *loops;   /* inner loops first */
    struct scev_value *values; /* sorted by name; unknown values are left out */
    size_t loop_count, loop_capacity, value_count, value_capacity;
    /* By name, for loop_of_count names: the first loop with this header, plus 1; 0: none. */
    uint32_t *loop_of;
    size_t loop_of_count;
};

/* Facts about a module. Initialize with zeros; free with scev_facts_free(). */
struct scev_facts {
    struct scev_function *functions;
    size_t function_count, function_capacity;
    struct index index; /* of their names */
};

/* Return the new last function, and its new last loop without any facts, which are valid until the next one
 * is added. NULL: out of memory. */
struct scev_function *scev_add_function(struct scev_facts *facts, const char *name, size_t length);
struct scev_loop *scev_add_loop(struct scev_function *function, const char *header, size_t length);
/* Add an exit to a loop, and a value unless it is unknown. Return false if out of memory. */
bool scev_add_exit(struct scev_function *function, struct scev_loop *loop, const char *block, size_t length,
                   const struct expr *taken);
bool scev_add_value(struct scev_function *function, const char *name, size_t length, const struct expr *value,
                    struct expr_range range);
/* Computes the remaining members after all functions were added. Returns false if out of memory. */
bool scev_facts_finish(struct scev_facts *facts);
void scev_facts_free(struct scev_facts *facts);

/* Return an entry by its name as in LLVM-C, without '@' and '%'; the first of several with this name. NULL:
 * none has it. */
struct scev_function *scev_find_function(const struct scev_facts *facts, const char *name);
const struct scev_loop *scev_loop_of(const struct scev_function *function, const char *header);
const struct expr *scev_value_of(const struct scev_function *function, const char *name);
/* Returns a value with its range; NULL: unknown. */
const struct scev_value *scev_find_value(const struct scev_function *function, uint32_t name);
/* Returns the loop without the exits i with is_left_out[i], allocated in `pool`. At least one exit must
 * remain. */
struct scev_loop scev_loop_without(struct expr_pool *pool, const struct scev_loop *loop,
                                   const bool *is_left_out);

#endif
