/* joulec/trips/linear.c - see linear.h.
 *
 * Note: a comparison is converted to a sum that is >= 0 exactly where the comparison holds. If a formula
 * equals this sum plus a constant >= 0, the formula is >= 0 too.
 */
#include "joulec/trips/linear.h"

#include <math.h>

#define LARGEST ((expr_int)1 << 80)

static bool is_same_expr(const struct expr *a, const struct expr *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind || a->nodes != b->nodes || a->count != b->count || a->name != b->name ||
        a->integer != b->integer || a->bits != b->bits)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (!is_same_expr(a->operand[i], b->operand[i]))
            return false;
    return true;
}

static bool is_same_factor(const struct linear_factor *a, const struct linear_factor *b)
{
    if (a->kind != b->kind || a->name != b->name || a->choose != b->choose || !a->other != !b->other)
        return false;
    return !a->other || is_same_expr(a->other, b->other);
}

/* Returns true if both products have the same factors, in any order. */
static bool is_same_product(const struct linear_term *a, const struct linear_term *b)
{
    bool is_used[LINEAR_MAX_FACTORS] = {false};
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t k = 0;
        while (k < b->count && (is_used[k] || !is_same_factor(&a->factors[i], &b->factors[k])))
            k++;
        if (k == b->count)
            return false;
        is_used[k] = true;
    }
    return a->count == b->count;
}

static bool multiply(expr_int a, expr_int b, expr_int *out)
{
    if (fabs((double)a) * fabs((double)b) > (double)LARGEST)
        return false;
    *out = a * b;
    return true;
}

static bool is_small(expr_int value)
{
    return value >= -LARGEST && value <= LARGEST;
}

static bool add_term(struct linear *to, const struct linear_term *term)
{
    uint32_t i = 0;
    while (i < to->count && !is_same_product(&to->terms[i], term))
        i++;
    if (i == LINEAR_MAX_TERMS)
        return false;
    if (i == to->count)
        to->terms[to->count++] = *term;
    else
        to->terms[i].times += term->times;
    if (to->terms[i].times == 0)
        to->terms[i] = to->terms[--to->count];
    return i >= to->count || is_small(to->terms[i].times);
}

bool linear_add(struct linear *to, const struct linear *more, expr_int by)
{
    expr_int constant;
    if (!multiply(more->constant, by, &constant))
        return false;
    to->constant += constant;
    for (uint32_t i = 0; i < more->count; i++) {
        struct linear_term term = more->terms[i];
        if (!multiply(term.times, by, &term.times) || !add_term(to, &term))
            return false;
    }
    return is_small(to->constant);
}

expr_int linear_times_of(const struct linear *sum, const struct linear_term *product)
{
    for (uint32_t i = 0; i < sum->count; i++)
        if (is_same_product(&sum->terms[i], product))
            return sum->terms[i].times;
    return 0;
}

static bool multiply_terms(const struct linear_term *a, const struct linear_term *b, struct linear_term *out)
{
    if (a->count + b->count > LINEAR_MAX_FACTORS || !multiply(a->times, b->times, &out->times))
        return false;
    out->count = 0;
    for (uint32_t i = 0; i < a->count; i++)
        out->factors[out->count++] = a->factors[i];
    for (uint32_t i = 0; i < b->count; i++)
        out->factors[out->count++] = b->factors[i];
    return true;
}

static bool linear_multiply(const struct linear *a, const struct linear *b, struct linear *out)
{
    struct linear_term term;
    struct linear only = {.terms = {{0}}};
    *out = (struct linear){0};
    if (!linear_add(out, a, b->constant))
        return false;
    for (uint32_t i = 0; i < b->count; i++) {
        for (uint32_t k = 0; k < a->count; k++)
            if (!multiply_terms(&a->terms[k], &b->terms[i], &term) || !add_term(out, &term))
                return false;
        only.terms[0] = b->terms[i];
        only.count = 1;
        if (!linear_add(out, &only, a->constant))
            return false;
    }
    return true;
}

static void set_factor(struct linear *out, struct linear_factor factor)
{
    *out = (struct linear){.count = 1};
    out->terms[0] = (struct linear_term){.times = 1, .factors = {factor}, .count = 1};
}

static bool linear_of_recurrence(const struct expr *expr, struct linear *out)
{
    *out = (struct linear){0};
    for (uint32_t k = 0; k < expr->count; k++) {
        struct linear step, number, product;
        if (!linear_of(expr->operand[k], &step))
            return false;
        set_factor(&number, (struct linear_factor){EXPR_RECURRENCE, expr->name, k, NULL});
        if (k > 0 && !linear_multiply(&step, &number, &product))
            return false;
        if (!linear_add(out, k > 0 ? &product : &step, 1))
            return false;
    }
    return true;
}

bool linear_of(const struct expr *expr, struct linear *out)
{
    struct linear one, product;
    *out = (struct linear){0};
    switch (expr->kind) {
    case EXPR_UNKNOWN:
        return false;
    case EXPR_INTEGER:
        out->constant = expr->integer;
        return true;
    case EXPR_SYMBOL:
        set_factor(out, (struct linear_factor){EXPR_SYMBOL, expr->name, 0, NULL});
        return true;
    case EXPR_ZEXT:
    case EXPR_SEXT:
        return linear_of(expr->operand[0], out);
    case EXPR_RECURRENCE:
        return linear_of_recurrence(expr, out);
    case EXPR_ADD:
        for (uint32_t i = 0; i < expr->count; i++)
            if (!linear_of(expr->operand[i], &one) || !linear_add(out, &one, 1))
                return false;
        return true;
    case EXPR_MUL:
        out->constant = 1;
        for (uint32_t i = 0; i < expr->count; i++) {
            if (!linear_of(expr->operand[i], &one) || !linear_multiply(out, &one, &product))
                return false;
            *out = product;
        }
        return true;
    default:
        set_factor(out, (struct linear_factor){expr->kind, 0, 0, expr});
        return true;
    }
}

/* Divides the sum by the common divisor k of its coefficients: c + k a is negative exactly where floor(c / k)
 * + a is negative. */
static void reduce(struct linear *sum)
{
    expr_int common = 0;
    for (uint32_t i = 0; i < sum->count; i++)
        common = expr_common_divisor(sum->terms[i].times, common);
    if (common <= 1)
        return;
    for (uint32_t i = 0; i < sum->count; i++)
        sum->terms[i].times /= common;
    expr_int rest = sum->constant % common;
    sum->constant = (sum->constant - rest) / common - (rest < 0);
}

/* Replaces c + a / k by a + c k, which is negative exactly where c + a / k is negative. */
bool linear_of_sign(const struct expr *expr, struct linear *out)
{
    if (!linear_of(expr, out))
        return false;
    for (unsigned steps = 0; steps < EXPR_MAX_DEPTH && out->count == 1; steps++) {
        const struct linear_term *term = &out->terms[0];
        const struct expr *quotient = term->count == 1 && term->times == 1 ? term->factors[0].other : NULL;
        if (!quotient || quotient->kind != EXPR_UDIV || quotient->operand[1]->kind != EXPR_INTEGER ||
            quotient->operand[1]->integer <= 0)
            break;
        expr_int more;
        if (!multiply(out->constant, quotient->operand[1]->integer, &more) ||
            !linear_of(quotient->operand[0], out))
            return false;
        out->constant += more;
    }
    reduce(out);
    return is_small(out->constant);
}

/* --- comparisons ---------------------------------------------------------------------------------------- */

/* Sets *out to the difference between `goal` and the reduced sum `more` - `less` - strict, which is known to
 * be >= 0. Returns false if the difference is not constant. */
static bool slack_of(const struct linear *more, const struct linear *less, int strict,
                     const struct linear *goal, expr_int *out)
{
    struct linear rest = *goal, given = *more;
    if (!linear_add(&given, less, -1))
        return false;
    given.constant -= strict;
    reduce(&given);
    bool is_number = linear_add(&rest, &given, -1) && rest.count == 0;
    *out = rest.constant;
    return is_number;
}

/* Returns true if `goal` >= 0 follows from `more` - `less` - strict >= 0. */
static bool follows(const struct linear *more, const struct linear *less, int strict,
                    const struct linear *goal)
{
    expr_int slack;
    return slack_of(more, less, strict, goal, &slack) && slack >= 0;
}

/* Returns true if `goal` >= 0 is equivalent to `more` - `less` - strict >= 0. */
static bool is_equivalent(const struct linear *more, const struct linear *less, int strict,
                          const struct linear *goal)
{
    expr_int slack;
    return slack_of(more, less, strict, goal, &slack) && slack == 0;
}

static bool is_implied(enum compare kind, const struct linear *left, const struct linear *right,
                       const struct linear *goal)
{
    switch (kind) {
    case COMPARE_EQ:
        return follows(left, right, 0, goal) || follows(right, left, 0, goal);
    /* Assumes that `goal` >= -1, so that the opposite inequality cannot hold. */
    case COMPARE_NE:
        return is_equivalent(left, right, 1, goal) || is_equivalent(right, left, 1, goal);
    case COMPARE_SLT:
    case COMPARE_ULT:
        return follows(right, left, 1, goal);
    case COMPARE_SLE:
    case COMPARE_ULE:
        return follows(right, left, 0, goal);
    case COMPARE_SGT:
    case COMPARE_UGT:
        return follows(left, right, 1, goal);
    default:
        return follows(left, right, 0, goal);
    }
}

bool linear_implies(const struct comparison *comparison, bool is_inverse, const struct expr *left,
                    const struct expr *right, const struct linear *goal,
                    struct linear_assumptions *assumptions)
{
    struct linear l, r;
    enum compare kind = is_inverse ? compare_inverse(comparison->kind) : comparison->kind;
    if (!linear_of(left, &l) || !linear_of(right, &r) || !is_implied(kind, &l, &r, goal))
        return false;
    if (assumptions->side_count + 2 > LINEAR_MAX_SIDES)
        return false;
    assumptions->is_equality_test = assumptions->is_equality_test || kind == COMPARE_NE;
    if (comparison->is_of_addresses)
        return true;
    bool is_unsigned = !(kind >= COMPARE_SLT && kind <= COMPARE_SGE);
    assumptions->sides[assumptions->side_count++] = (struct linear_side){*left, is_unsigned};
    assumptions->sides[assumptions->side_count++] = (struct linear_side){*right, is_unsigned};
    return true;
}
