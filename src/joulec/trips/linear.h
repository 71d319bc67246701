/* joulec/trips/linear.h - formulas as sums of products, so that two that are written differently can be told to be the same.
 *
 * Owns that form, and what a comparison of two formulas says of a third. Like expr.h it reads them as true integers:
 * wider types change nothing.
 * Newcomers: what is no sum or product (a maximum, a quotient) stands in it as a name does, and equals only its like.
 */
#ifndef JOULEC_LINEAR_H
#define JOULEC_LINEAR_H

#include "joulec/module/module.h"
#include "joulec/trips/expr.h"

#define LINEAR_MOST_TERMS   12
#define LINEAR_MOST_FACTORS 4

/* A name, or an expression that is looked at no closer. */
struct linear_factor {
    enum expr_kind kind; /* EXPR_SYMBOL; EXPR_RECURRENCE: C(iteration number, choose) */
    uint32_t name, choose;
    const struct expr *other; /* of other kinds */
};

struct linear_term {
    expr_int times;
    struct linear_factor factors[LINEAR_MOST_FACTORS];
    uint32_t count;
};

struct linear {
    expr_int constant;
    struct linear_term terms[LINEAR_MOST_TERMS];
    uint32_t count;
};

/* False: it is unknown, or has too many terms. */
bool linear_of(const struct expr *expr, struct linear *out);
/* Negative just where `expr` is. */
bool linear_of_sign(const struct expr *expr, struct linear *out);
/* One side of a comparison. What its type cannot hold, or what is negative where it was compared as unsigned, the machine takes for
 * another number. */
struct linear_side {
    struct expr expr; /* its operands live as long as the formula that was compared */
    bool is_unsigned; /* or compared for equality */
};

/* What has to hold besides for a comparison to say something of true integers. */
#define LINEAR_MOST_SIDES 16
struct linear_provided {
    struct linear_side sides[LINEAR_MOST_SIDES]; /* these are what the machine takes them for */
    size_t side_count;
    bool is_ordered; /* `that` is not below -1, as the comparison only asked for equality */
};

/* Whether `that` is >= 0 wherever a comparison of these two formulas holds (or, is_contrary, where it does not). What must be provided
 * is added to *provided; false where it has no room. */
bool linear_implies(const struct comparison *comparison, bool is_contrary, const struct expr *left,
                    const struct expr *right, const struct linear *that, struct linear_provided *provided);
/* to += by * more. False: it has too many terms, or too large ones. */
bool linear_add(struct linear *to, const struct linear *more, expr_int by);
/* How often a product is in a sum. */
expr_int linear_times_of(const struct linear *sum, const struct linear_term *product);

#endif
