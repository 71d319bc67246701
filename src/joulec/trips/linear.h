/* joulec/trips/linear.h - formulas as sums of products, so that equal formulas compare equal.
 *
 * As in expr.h, values are true integers, so casts to wider types change nothing.
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
    /* EXPR_SYMBOL: `name`; EXPR_RECURRENCE: C(i, choose), where i is the iteration number of the loop `name`;
     * other kinds: `other` */
    enum expr_kind kind;
    uint32_t name, choose;
    const struct expr *other;
};

/* The product of a coefficient and factors. */
struct linear_term {
    expr_int times;
    struct linear_factor factors[LINEAR_MAX_FACTORS];
    uint32_t count;
};

/* The sum of a constant and terms. */
struct linear {
    expr_int constant;
    struct linear_term terms[LINEAR_MAX_TERMS];
    uint32_t count;
};

/* Converts a formula. Returns false if the formula is unknown or has too many terms. */
bool linear_of(const struct expr *expr, struct linear *out);
/* Sets *out to a sum that is negative exactly where `expr` is negative. Returns false as linear_of() does. */
bool linear_of_sign(const struct expr *expr, struct linear *out);
/* One side of a comparison. The machine's value differs from the formula's value if the type cannot represent
 * this value, or if a negative value is compared as unsigned. */
struct linear_side {
    struct expr expr; /* its operands belong to the formula that was compared */
    bool is_unsigned; /* unsigned, or compared for equality */
};

/* Assumptions under which a comparison of machine integers holds for true integers. */
#define LINEAR_MAX_SIDES 16
struct linear_assumptions {
    struct linear_side sides[LINEAR_MAX_SIDES]; /* the values of these sides equal the machine's */
    size_t side_count;
    bool is_equality_test; /* `goal` is at least -1; needed if a comparison tests only for equality */
};

/* Returns true if `goal` >= 0 follows from a comparison of `left` and `right` (is_inverse: from the inverse
 * comparison). Adds to *assumptions what must also hold. Returns false if *assumptions is full. */
bool linear_implies(const struct comparison *comparison, bool is_inverse, const struct expr *left,
                    const struct expr *right, const struct linear *goal,
                    struct linear_assumptions *assumptions);
/* Computes to += by * more. Returns false if there are too many terms or too large coefficients. */
bool linear_add(struct linear *to, const struct linear *more, expr_int by);
/* Returns the coefficient of a product in a sum; 0: the sum does not contain the product. */
expr_int linear_times_of(const struct linear *sum, const struct linear_term *product);

#endif
