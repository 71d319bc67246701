/* joulec/trips/expr.h - integer formulas over a function's arguments and the iteration numbers of its loops.
 *
 * Formulas are immutable trees in an arena. A name belongs to a value (for example an argument) or to a loop
 * header. Names are unique within a function of LLVM, so one table contains both. In a formula, the name of a
 * header means the iteration number of the loop, which is 0 in the first iteration.
 * Note: LLVM computes modulo 2^bits, and the bits are not always known here. So values are true integers. A
 * negative value may represent a large unsigned value of LLVM. Operations on unsigned operands therefore mark
 * their result as wrapped if an operand may be negative.
 */
#ifndef JOULEC_EXPR_H
#define JOULEC_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/index.h"

__extension__ typedef __int128 expr_int;

#define EXPR_MAX_DEPTH 64   /* maximum depth of a tree; deeper trees are unknown */
#define EXPR_MAX_NODES 4096 /* maximum nodes of a tree; larger trees are unknown */
#define EXPR_NO_DEGREE UINT32_MAX

enum expr_kind {
    EXPR_UNKNOWN,
    EXPR_INTEGER,
    EXPR_SYMBOL,
    EXPR_ADD,
    EXPR_MUL,
    EXPR_UDIV, /* two operands */
    EXPR_UMIN,
    EXPR_UMAX,
    EXPR_SMIN,
    EXPR_SMAX,
    EXPR_RECURRENCE, /* {a,+,b,+,c}<loop>: a C(i,0) + b C(i,1) + c C(i,2) in iteration i */
    EXPR_ZEXT,
    EXPR_SEXT,
    EXPR_TRUNC
};

/* A node of a formula. */
struct expr {
    enum expr_kind kind;
    uint32_t name;               /* number of a symbol, or of a recurrence's loop */
    uint32_t bits;               /* casts: width of the narrower type */
    uint32_t result_bits;        /* casts: width of the type of the result */
    uint32_t nodes, depth;       /* size of the tree */
    uint32_t count;              /* number of operands */
    const struct expr **operand; /* in the pool's arena */
    int64_t integer;
};

/* A range of integers that contains a value; both ends are included. */
struct expr_range {
    expr_int low, high;
    bool is_known;
    bool has_wrapped; /* an operand that may be negative was used as unsigned */
    unsigned bits;    /* width of the value's type; 0: unknown */
};

/* The memory and the names of expressions. Initialize with zeros; free with expr_pool_free(). */
struct expr_pool {
    struct arena arena;
    char **names;
    size_t name_count;
    struct index index;
    unsigned *bits; /* width of the type of each name below bits_count; 0: unknown */
    size_t bits_count;
    struct expr_range *trial; /* values by name for trials of expr_behind_guard(); else unknown */
    size_t trial_count;
};

/* Returns the number of a name; adds the name if it is new. INDEX_NONE: out of memory. */
uint32_t expr_name(struct expr_pool *pool, const char *name, size_t length);
/* Returns the number of a name; INDEX_NONE: no expression contains it. */
uint32_t expr_find_name(const struct expr_pool *pool, const char *name);
void expr_pool_free(struct expr_pool *pool);

/* Builders. An expression that cannot be built (too deep, too large, out of memory, or with a NULL operand)
 * is the unknown expression. The array of operands is copied; the operands must outlive the result. */
const struct expr *expr_unknown(void);
const struct expr *expr_integer(struct expr_pool *pool, int64_t value);
const struct expr *expr_symbol(struct expr_pool *pool, uint32_t name);
const struct expr *expr_nary(struct expr_pool *pool, enum expr_kind kind, const struct expr *const *operands,
                             size_t count);
const struct expr *expr_recurrence(struct expr_pool *pool, const struct expr *const *operands, size_t count,
                                   uint32_t loop);
const struct expr *expr_cast(struct expr_pool *pool, enum expr_kind kind, const struct expr *operand,
                             uint32_t bits, uint32_t result_bits);

/* The range of each name, by number; a name beyond `count` is unknown. */
struct expr_values {
    const struct expr_range *of;
    size_t count;
};

static inline struct expr_range expr_point(expr_int value)
{
    return (struct expr_range){value, value, true, false, 0};
}

/* Returns a range that contains the value of a formula: a single value if all names are single values. The
 * range is unknown in these cases: a name is unknown; a value is beyond 2^100; a divisor may be 0; the type
 * is known and too narrow for the final value, or for an operand of an operation other than a sum or product.
 * Intermediate sums and products may exceed the type. */
struct expr_range expr_value(const struct expr *expr, struct expr_values values);
/* Returns the range of the products of any integer in `a` and any in `b`. */
struct expr_range expr_product(struct expr_range a, struct expr_range b);
/* Returns the backedge-taken count of a bottom-tested loop whose guard tests the loop's own condition. taken:
 * the count if the guard is passed. The result equals `taken` in this case, and is negative if the guard is
 * not passed. */
const struct expr *expr_behind_guard(struct expr_pool *pool, const struct expr *taken);
/* Returns the degree as a polynomial of the iteration numbers; EXPR_NO_DEGREE: the formula is no
 * polynomial. */
uint32_t expr_degree(const struct expr *expr);
/* Returns true if the tree contains the name. */
bool expr_uses(const struct expr *expr, uint32_t name);

/* How a value depends on one symbol if all other symbols are fixed. */
enum expr_trend { EXPR_CONSTANT = 0, EXPR_GROWS = 1, EXPR_FALLS = 2, EXPR_EITHER = 3 };
/* Returns the trend of a formula whose values do not wrap; EXPR_EITHER: unknown. The common trend of several
 * formulas is the bitwise OR of their trends. */
enum expr_trend expr_trend(const struct expr *expr, uint32_t symbol);
/* Returns n choose k for n >= 0; unknown beyond 2^100. */
struct expr_range expr_choose(expr_int n, uint32_t k);
/* Returns the greatest common divisor, at least 0. */
expr_int expr_common_divisor(expr_int a, expr_int b);

#endif
