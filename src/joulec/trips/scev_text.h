/* joulec/trips/scev_text.h - what LLVM's scalar evolution says of loops, read from the text of its printer.
 *
 * Owns the text of `print<scalar-evolution>` of LLVM 14 and 19 (and of those between), and nothing of what follows from
 * it. What is not understood is left out or unknown, never guessed: a count that LLVM gives only under a condition
 * ("Predicated") is not read, and a largest count that only says how wide a type is (above SCEV_MOST_TAKEN) is none.
 * Newcomers: counts are of the edge back to the header; the header runs once more often, if it is reached at all.
 */
#ifndef JOULEC_SCEV_TEXT_H
#define JOULEC_SCEV_TEXT_H

#include "joulec/trips/expr.h"

#define SCEV_MOST_TAKEN (1 << 20)

struct scev_exit {
    const char *block;        /* the exiting block; NULL: it has no name */
    const struct expr *taken; /* backedges taken when this exit is the one; may be unknown */
};

struct scev_loop {
    const char *header;       /* without '%' */
    uint32_t name;            /* of the header, in the pool: stands for the iteration number */
    const struct expr *taken; /* backedges taken in one entry, for the loop as a whole; may be unknown */
    const struct expr
        *taken_guarded;    /* the same behind the loop's own guard: negative where it is not passed ... */
    bool is_guard_unclear; /* ... or where it is, as several conditions end the loop */
    int64_t most_taken;    /* in any entry; -1: no bound */
    int64_t multiple;      /* of the header's runs; 1 says nothing */
    bool has_several_exits;
    struct scev_exit *exits; /* only where there are several */
    size_t exit_count;
};

struct scev_value {
    uint32_t name; /* of an instruction */
    const struct expr *value;
    struct expr_range range; /* in which it is, as a signed number; not known: no more than its type says */
};

struct scev_function {
    char *name;              /* without '@' */
    struct expr_pool pool;   /* of this function's names and expressions, and all else that is listed here */
    struct scev_loop *loops; /* inner ones first, as printed */
    struct scev_value *values; /* by name, ascending; unknown ones are left out */
    size_t loop_count, value_count;
    uint32_t
        *loop_of; /* by name, as far as there were names: the first loop with this header, + 1; 0: none */
    size_t loop_of_count;
};

struct scev_text {
    struct scev_function *functions; /* as printed */
    size_t function_count;
    struct index index; /* of their names */
};

/* Reads all of text[0..size), which need not end with a zero. False: memory was used up, and *out is empty. */
bool scev_text_read(const char *text, size_t size, struct scev_text *out);
void scev_text_free(struct scev_text *text);

/* By names as LLVM-C gives them, without '@' and '%'; NULL: the text does not have it. The first of equal ones. */
const struct scev_function *scev_text_function(const struct scev_text *text, const char *name);
/* Returns the loop without the exits i with is_left_out[i], allocated in `pool`. At least one exit must
 * remain. */
struct scev_loop scev_loop_without(struct expr_pool *pool, const struct scev_loop *loop,
                                   const bool *is_left_out);
const struct scev_loop *scev_loop_of(const struct scev_function *function, const char *header);
const struct expr *scev_value_of(const struct scev_function *function, const char *name);
/* The same with its range; NULL: the text does not have it. */
const struct scev_value *scev_find_value(const struct scev_function *function, uint32_t name);

/* One expression of the printer's, all of text[0..length); unknown where it is not understood. */
const struct expr *scev_expression(struct expr_pool *pool, const char *text, size_t length);

#endif
