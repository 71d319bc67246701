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
/* What has to hold besides for a comparison to say something of true integers. */
struct linear_provided {
    bool is_natural; /* no number in them is negative, as it was taken for a huge one */
    bool is_ordered; /* `that` is not below -1, as the comparison only asked for equality */
};

/* Whether `that` is >= 0 wherever left KIND right holds (or, is_contrary, where it does not). What must be provided is added to
 * *provided. */
bool linear_implies(enum compare kind, bool is_contrary, const struct expr *left, const struct expr *right,
                    const struct linear *that, struct linear_provided *provided);
/* to += by * more. False: it has too many terms, or too large ones. */
bool linear_add(struct linear *to, const struct linear *more, expr_int by);

#endif
