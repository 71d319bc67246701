/* joulec/trips/expr.h - whole-number formulas of a function's arguments and of its loops' iteration numbers.
 *
 * Owns immutable trees in an arena, the numbers that names get in them, and their value over ranges. A name is a value's
 * (an argument's) or a loop header's; LLVM gives no name twice in a function, so both share one table. The number of a
 * header stands for the loop's iteration number, 0 in the first.
 * Newcomers: LLVM computes modulo 2^bits and does not always say bits. Here values are true integers; a negative one is
 * what LLVM may see as a huge one, and is marked wrapped where an operation takes it as unsigned.
 */
#ifndef JOULEC_EXPR_H
#define JOULEC_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/index.h"

__extension__ typedef __int128 expr_int;

#define EXPR_MOST_DEPTH 64   /* of a tree: deeper ones are unknown */
#define EXPR_MOST_NODES 4096 /* of a tree: larger ones are unknown */
#define EXPR_NO_DEGREE  UINT32_MAX

enum expr_kind {
    EXPR_UNKNOWN,
    EXPR_INTEGER,
    EXPR_SYMBOL,
    EXPR_ADD,
    EXPR_MUL,
    EXPR_UDIV, /* of two operands */
    EXPR_UMIN,
    EXPR_UMAX,
    EXPR_SMIN,
    EXPR_SMAX,
    EXPR_RECURRENCE, /* {a,+,b,+,c}<loop>: a C(i,0) + b C(i,1) + c C(i,2) in iteration i */
    EXPR_ZEXT,
    EXPR_SEXT,
    EXPR_TRUNC
};

struct expr {
    enum expr_kind kind;
    uint32_t name;               /* a symbol's number, or that of a recurrence's loop */
    uint32_t bits;               /* casts: of the narrower type */
    uint32_t result_bits;        /* casts: of the type that they lead to */
    uint32_t nodes, depth;       /* of the tree */
    uint32_t count;              /* of operands */
    const struct expr **operand; /* in the pool's arena */
    int64_t integer;
};

/* The integers that a value may be, both ends among them. */
struct expr_range {
    expr_int low, high;
    bool is_known;
    bool has_wrapped; /* a negative value was taken as unsigned on the way */
    unsigned bits;    /* of its type; 0: not known */
};

/* Where expressions and their names live. Begins as zeros. */
struct expr_pool {
    struct arena arena;
    char **names;
    size_t name_count;
    struct index index;
    unsigned *bits; /* bits of the type of each name below bits_count; 0: unknown */
    size_t bits_count;
    struct expr_range *trial; /* by name; not known but while a formula is tried */
    size_t trial_count;
};

/* The name's number, as it was or new; INDEX_NONE when memory is used up. */
uint32_t expr_name(struct expr_pool *pool, const char *name, size_t length);
/* INDEX_NONE: no expression names it. */
uint32_t expr_find_name(const struct expr_pool *pool, const char *name);
void expr_pool_free(struct expr_pool *pool);

/* Builders. What cannot be built (too deep, too large, no memory, an operand NULL) is the unknown expression. Operands are
 * copied; their trees stay where they are and must outlive the result. */
const struct expr *expr_unknown(void);
const struct expr *expr_integer(struct expr_pool *pool, int64_t value);
const struct expr *expr_symbol(struct expr_pool *pool, uint32_t name);
const struct expr *expr_nary(struct expr_pool *pool, enum expr_kind kind, const struct expr *const *operands,
                             size_t count);
const struct expr *expr_recurrence(struct expr_pool *pool, const struct expr *const *operands, size_t count,
                                   uint32_t loop);
const struct expr *expr_cast(struct expr_pool *pool, enum expr_kind kind, const struct expr *operand,
                             uint32_t bits, uint32_t result_bits);

/* What each name stands for, by number; a name beyond `count` is unknown. */
struct expr_values {
    const struct expr_range *of;
    size_t count;
};

static inline struct expr_range expr_point(expr_int value)
{
    return (struct expr_range){value, value, true, false, 0};
}

/* A range that contains the value; a point where all names are points. Not known: a name is not, or a value is beyond
 * 2^100, or is divided by what may be 0, or the type is known and cannot hold the value: neither in the end, nor where
 * something else is done with it than sums and products, which may run over on the way. */
struct expr_range expr_value(const struct expr *expr, struct expr_values values);
/* Of any number in one range and any in the other. */
struct expr_range expr_product(struct expr_range a, struct expr_range b);
/* What a count of a bottom-tested loop's backedges is where the loop stands behind the guard of its own condition: the
 * same, but negative where the guard is not passed. */
const struct expr *expr_behind_guard(struct expr_pool *pool, const struct expr *taken);
/* The degree as a polynomial of the iteration numbers; EXPR_NO_DEGREE where it is none. */
uint32_t expr_degree(const struct expr *expr);
/* Whether the name is in the tree. */
bool expr_uses(const struct expr *expr, uint32_t name);

/* How a value goes with a symbol's, the rest fixed. */
enum expr_trend { EXPR_CONSTANT = 0, EXPR_GROWS = 1, EXPR_FALLS = 2, EXPR_EITHER = 3 };
/* Sound for values that do not wrap; EXPR_EITHER where it is not known. Trends of parts are joined by |. */
enum expr_trend expr_trend(const struct expr *expr, uint32_t symbol);
/* n choose k for n >= 0; not known beyond 2^100. */
struct expr_range expr_choose(expr_int n, uint32_t k);

#endif
