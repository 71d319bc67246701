/* joulec/trips/linear.h - formulas as sums of products, so that equal formulas compare equal.
 *
 * Like expr.h, this room takes formulas as true integers; casts to wider types change nothing.
 * Note: a subexpression that is no sum or product (a maximum, a quotient) is one factor, which equals only
 * the same subexpression.
 */
#ifndef JOULEC_LINEAR_H
#define JOULEC_LINEAR_H

#include "joulec/module/module.h"
#include "joulec/trips/expr.h"

#define LINEAR_MAX_TERMS   12
#define LINEAR_MAX_FACTORS 4

/* A name, or a subexpression that is not expanded. */
struct linear_factor {
    enum expr_kind kind; /* EXPR_SYMBOL; EXPR_RECURRENCE: C(iteration number, choose) */
    uint32_t name, choose;
    const struct expr *other; /* for other kinds */
};

struct linear_term {
    expr_int times;
    struct linear_factor factors[LINEAR_MAX_FACTORS];
    uint32_t count;
};

struct linear {
    expr_int constant;
    struct linear_term terms[LINEAR_MAX_TERMS];
    uint32_t count;
};

/* Converts a formula. Returns false if it is unknown or has too many terms. */
bool linear_of(const struct expr *expr, struct linear *out);
/* Like linear_of(), but the result need only be negative exactly where `expr` is. */
bool linear_of_sign(const struct expr *expr, struct linear *out);
/* One side of a comparison. The machine's value differs from the formula's if the type cannot hold it, or if
 * it is negative and compared as unsigned. */
struct linear_side {
    struct expr expr; /* its operands live as long as the formula that was compared */
    bool is_unsigned; /* unsigned, or compared for equality */
};

/* Assumptions under which a comparison of machine integers holds for true integers. */
#define LINEAR_MAX_SIDES 16
struct linear_assumptions {
    struct linear_side sides[LINEAR_MAX_SIDES]; /* their values equal the machine's */
    size_t side_count;
    bool is_equality_test; /* `that` is not below -1, because the comparison tests only for equality */
};

/* Returns true if `that` >= 0 follows from a comparison of two formulas (is_inverse: from the inverse
 * comparison). Adds what must also hold to *assumptions; returns false if that is full. */
bool linear_implies(const struct comparison *comparison, bool is_inverse, const struct expr *left,
                    const struct expr *right, const struct linear *that,
                    struct linear_assumptions *assumptions);
/* Computes to += by * more. Returns false if there are too many or too large terms. */
bool linear_add(struct linear *to, const struct linear *more, expr_int by);
/* Returns the coefficient of a product in a sum; 0: none. */
expr_int linear_times_of(const struct linear *sum, const struct linear_term *product);

#endif
