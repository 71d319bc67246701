/* joulec/trips/expr_value.c - see expr.h: interval arithmetic.
 *
 * Integers of 128 bits are limited to 2^100, so that no sum of valid operands can overflow.
 * Note: products are first estimated as doubles, because the compilers' overflow-checked 128-bit product
 * needs a function that some C libraries lack.
 */
#include "joulec/trips/expr.h"

#include <math.h>

static const struct expr_range unknown;

static bool is_small(expr_int value)
{
    const expr_int limit = (expr_int)1 << 100;
    return value >= -limit && value <= limit;
}

static expr_int min(expr_int a, expr_int b)
{
    return a < b ? a : b;
}

static expr_int max(expr_int a, expr_int b)
{
    return a > b ? a : b;
}

static struct expr_range bounded(expr_int low, expr_int high, bool has_wrapped)
{
    return is_small(low) && is_small(high) ? (struct expr_range){low, high, true, has_wrapped, 0} : unknown;
}

static bool multiply(expr_int a, expr_int b, expr_int *out)
{
    if (fabs((double)a) * fabs((double)b) > 0x1p100)
        return false;
    *out = a * b;
    return true;
}

static struct expr_range add(struct expr_range a, struct expr_range b)
{
    return bounded(a.low + b.low, a.high + b.high, a.has_wrapped || b.has_wrapped);
}

struct expr_range expr_product(struct expr_range a, struct expr_range b)
{
    expr_int corner[4];
    if (!multiply(a.low, b.low, &corner[0]) || !multiply(a.low, b.high, &corner[1]) ||
        !multiply(a.high, b.low, &corner[2]) || !multiply(a.high, b.high, &corner[3]))
        return unknown;
    return bounded(min(min(corner[0], corner[1]), min(corner[2], corner[3])),
                   max(max(corner[0], corner[1]), max(corner[2], corner[3])), a.has_wrapped || b.has_wrapped);
}

static expr_int floor_divide(expr_int a, expr_int b)
{
    return a / b - (a % b < 0);
}

/* Returns the range of a quotient. A negative dividend gives a negative quotient, because the sign of a count
 * shows that a loop behind a guard is not entered. */
static struct expr_range quotient(struct expr_range a, struct expr_range b)
{
    if (b.low < 1)
        return unknown;
    return bounded(floor_divide(a.low, a.low < 0 ? b.low : b.high),
                   floor_divide(a.high, a.high < 0 ? b.high : b.low),
                   a.has_wrapped || b.has_wrapped || a.low < 0);
}

/* Returns the unsigned minimum, for which negative values are greater than all others. */
static struct expr_range unsigned_min(struct expr_range a, struct expr_range b)
{
    bool has_wrapped = a.has_wrapped || b.has_wrapped;
    if (a.low >= 0 && b.low >= 0)
        return bounded(min(a.low, b.low), min(a.high, b.high), has_wrapped);
    if (a.low >= 0 || b.low >= 0) {
        struct expr_range sure = a.low >= 0 ? a : b, other = a.low >= 0 ? b : a;
        expr_int low = other.high < 0 ? sure.low : min(sure.low, 0);
        return bounded(low, sure.high, true);
    }
    if (a.high < 0 && b.high < 0)
        return bounded(min(a.low, b.low), min(a.high, b.high), true);
    return bounded(min(a.low, b.low), max(a.high, b.high), true);
}

static struct expr_range unsigned_max(struct expr_range a, struct expr_range b)
{
    bool has_wrapped = a.has_wrapped || b.has_wrapped;
    if (a.low >= 0 && b.low >= 0)
        return bounded(max(a.low, b.low), max(a.high, b.high), has_wrapped);
    if (a.high < 0 && b.high < 0)
        return bounded(max(a.low, b.low), max(a.high, b.high), true);
    if (a.high < 0 && b.low >= 0)
        return bounded(a.low, a.high, true);
    if (b.high < 0 && a.low >= 0)
        return bounded(b.low, b.high, true);
    return bounded(min(a.low, b.low), max(a.high, b.high), true);
}

static struct expr_range signed_extreme(struct expr_range a, struct expr_range b,
                                        expr_int (*select)(expr_int, expr_int))
{
    return bounded(select(a.low, b.low), select(a.high, b.high), a.has_wrapped || b.has_wrapped);
}

/* Returns unknown if the type cannot represent the value, because the machine's value is then different; else
 * the value. A negative value may represent a large unsigned value; operations on unsigned values check
 * this. */
static struct expr_range as_typed(struct expr_range value, bool is_signed)
{
    if (!value.is_known || value.bits < 1 || value.bits >= 100)
        return value;
    expr_int limit = (expr_int)1 << (value.bits - is_signed);
    return value.low >= -limit && value.high < limit ? value : unknown;
}

static struct expr_range join_numbers(enum expr_kind kind, struct expr_range a, struct expr_range b)
{
    switch (kind) {
    case EXPR_ADD:
        return add(a, b);
    case EXPR_MUL:
        return expr_product(a, b);
    case EXPR_UDIV:
        return quotient(a, b);
    case EXPR_UMIN:
        return unsigned_min(a, b);
    case EXPR_UMAX:
        return unsigned_max(a, b);
    case EXPR_SMIN:
        return signed_extreme(a, b, min);
    case EXPR_SMAX:
        return signed_extreme(a, b, max);
    default:
        return unknown;
    }
}

static struct expr_range join(enum expr_kind kind, struct expr_range a, struct expr_range b)
{
    unsigned bits = a.bits ? a.bits : b.bits;
    bool is_signed = kind == EXPR_SMIN || kind == EXPR_SMAX;
    a.bits = b.bits = bits;
    if (kind != EXPR_ADD && kind != EXPR_MUL) {
        a = as_typed(a, is_signed);
        b = as_typed(b, is_signed);
    }
    struct expr_range joined = a.is_known && b.is_known ? join_numbers(kind, a, b) : unknown;
    joined.bits = bits;
    return joined;
}

/* A cast does not change a value that fits the narrower type, signed or unsigned. All other results are
 * unknown. */
static struct expr_range cast(const struct expr *expr, struct expr_range value)
{
    if (expr->bits < 100) {
        expr_int half = (expr_int)1 << (expr->bits - 1);
        if (value.low < -half || value.high >= 2 * half)
            return unknown;
        if (expr->kind == EXPR_SEXT && value.high >= half) /* may be negative in the narrower type */
            return unknown;
    }
    value.has_wrapped = value.has_wrapped || (expr->kind == EXPR_ZEXT && value.low < 0);
    value.bits = expr->result_bits;
    return value;
}

struct expr_range expr_choose(expr_int n, uint32_t k)
{
    expr_int result = 1;
    for (uint32_t i = 0; i < k; i++) {
        if (n <= (expr_int)i)
            return expr_point(0);
        if (!multiply(result, n - i, &result))
            return unknown;
        result /= i + 1;
    }
    return expr_point(result);
}

expr_int expr_common_divisor(expr_int a, expr_int b)
{
    while (b) {
        expr_int rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static struct expr_range value_of(const struct expr *expr, struct expr_values values);

static struct expr_range recurrence(const struct expr *expr, struct expr_values values)
{
    struct expr_range i = expr->name < values.count ? values.of[expr->name] : unknown, sum = expr_point(0);
    if (!i.is_known || i.low < 0)
        return unknown;
    for (uint32_t k = 0; k < expr->count && sum.is_known; k++) {
        struct expr_range step = value_of(expr->operand[k], values);
        struct expr_range low = expr_choose(i.low, k), high = expr_choose(i.high, k);
        if (!step.is_known || !low.is_known || !high.is_known)
            return unknown;
        struct expr_range term = expr_product(step, (struct expr_range){low.low, high.high, true, false, 0});
        term.bits = step.bits;
        sum = join(EXPR_ADD, sum, term);
    }
    return sum;
}

static struct expr_range value_of(const struct expr *expr, struct expr_values values)
{
    if (expr->kind == EXPR_INTEGER)
        return expr_point(expr->integer);
    if (expr->kind == EXPR_SYMBOL)
        return expr->name < values.count ? values.of[expr->name] : unknown;
    if (expr->kind == EXPR_RECURRENCE)
        return recurrence(expr, values);
    if (expr->count == 0)
        return unknown;
    struct expr_range value = value_of(expr->operand[0], values);
    for (uint32_t i = 1; i < expr->count && value.is_known; i++)
        value = join(expr->kind, value, value_of(expr->operand[i], values));
    return value.is_known && expr->kind >= EXPR_ZEXT ? cast(expr, value) : value;
}

struct expr_range expr_value(const struct expr *expr, struct expr_values values)
{
    return as_typed(value_of(expr, values), false);
}
