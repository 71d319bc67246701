/* joulec/trips/scev_text.h - reads the text that LLVM's scalar evolution prints about loops.
 *
 * Understands the output of `print<scalar-evolution>` of LLVM 14 to 19. Text that is not understood is left
 * out, or its value is unknown; nothing is guessed. Two kinds of counts are not read: those that hold only
 * under a condition ("Predicated"), and maxima that merely reflect the width of a type (above
 * SCEV_MAX_TAKEN).
 * Note: counts are backedge-taken counts; the header runs once more often, if it is reached at all.
 */
#ifndef JOULEC_SCEV_TEXT_H
#define JOULEC_SCEV_TEXT_H

#include "joulec/trips/expr.h"

#define SCEV_MAX_TAKEN (1 << 20)

struct scev_exit {
    const char *block;        /* the exiting block; NULL: it has no name */
    const struct expr *taken; /* backedge-taken count if the loop ends at this exit; may be unknown */
};

struct scev_loop {
    const char *header;       /* without '%' */
    uint32_t name;            /* number of the header in the pool; stands for the iteration number */
    const struct expr *taken; /* backedge-taken count of one entry of the whole loop; may be unknown */
    /* The same behind the loop's own guard: negative if the guard is not passed. */
    const struct expr *taken_guarded;
    /* Is taken_guarded also negative for values that pass the guard? Then several conditions end the loop. */
    bool is_guard_ambiguous;
    int64_t max_taken; /* maximum backedge-taken count of any entry; -1: no bound */
    int64_t multiple;  /* trip multiple; 1: no information */
    bool has_several_exits;
    struct scev_exit *exits; /* NULL if there is only one */
    size_t exit_count;
};

struct scev_value {
    uint32_t name; /* number of an instruction's name */
    const struct expr *value;
    struct expr_range range; /* of its signed value; unknown: no narrower than its type */
};

struct scev_function {
    char *name;              /* without '@' */
    struct expr_pool pool;   /* names and expressions of this function, and the memory of the other fields */
    struct scev_loop *loops; /* inner loops first, as printed */
    struct scev_value *values; /* sorted by name; unknown values are left out */
    size_t loop_count, value_count;
    /* By name, for loop_of_count names: the first loop with this header, plus 1; 0: none. */
    uint32_t *loop_of;
    size_t loop_of_count;
};

struct scev_text {
    struct scev_function *functions; /* in the order of the text */
    size_t function_count;
    struct index index; /* of their names */
};

/* Reads text[0..size), which need not end with a zero. Returns false if out of memory; *out is then empty.
 * Free with scev_text_free(). */
bool scev_text_read(const char *text, size_t size, struct scev_text *out);
void scev_text_free(struct scev_text *text);

/* Return an entry by its name as in LLVM-C, without '@' and '%'; the first of several with this name. NULL:
 * the text does not contain it. */
const struct scev_function *scev_text_function(const struct scev_text *text, const char *name);
/* Returns the loop without the exits i with is_left_out[i], allocated in `pool`. At least one exit must
 * remain. */
struct scev_loop scev_loop_without(struct expr_pool *pool, const struct scev_loop *loop,
                                   const bool *is_left_out);
const struct scev_loop *scev_loop_of(const struct scev_function *function, const char *header);
const struct expr *scev_value_of(const struct scev_function *function, const char *name);
/* Returns a value with its range; NULL: the text does not contain it. */
const struct scev_value *scev_find_value(const struct scev_function *function, uint32_t name);

/* Reads one expression, which must be all of text[0..length); unknown if it is not understood. */
const struct expr *scev_expression(struct expr_pool *pool, const char *text, size_t length);

#endif
