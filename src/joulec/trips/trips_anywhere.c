/* joulec/trips/trips_bounds.c - see trips_analysis.h: bounds of formulas over all iterations of the loops
 * around them.
 *
 * Interval arithmetic bounds most formulas. It is too wide where one part falls as another one grows, as in n
 * - 1 - i with i < n. Then the last iteration of a loop is substituted for its iteration number, and the
 * condition under which a loop around was entered (its formula is >= 0) is subtracted. Both are linear.
 */
#include <math.h>
#include "joulec/trips/trips_counting.h"

#define MOST_NODES   256                 /* maximum nodes of formulas that are analysed beyond their range */
#define ENDLESS      ((expr_int)1 << 62) /* more iterations than any loop can run */
#define ENDLESS_EXIT 0x1p40 /* over a quarter of an hour: such a bound is the size of the address space */

static bool is_around(const struct counting *counting, uint32_t outer, size_t loop)
{
    uint32_t at = counting->loops[loop].parent;
    while (at != TRIPS_NONE && at != outer)
        at = counting->loops[at].parent;
    return at != TRIPS_NONE;
}

bool trips_is_bound(const struct counting *counting, const struct expr *expr, size_t loop, struct plan *plan)
{
    if (expr->kind == EXPR_UNKNOWN)
        return false;
    if (expr->kind == EXPR_SYMBOL) {
        const struct trips_symbol *symbol =
            expr->name < counting->name_count ? counting->symbol_of[expr->name] : NULL;
        plan->has_symbols = true;
        plan->has_ranges = plan->has_ranges || (symbol && symbol->low < symbol->high);
        plan->has_types = plan->has_types || (symbol && symbol->is_by_type);
        return symbol != NULL;
    }
    if (expr->kind == EXPR_RECURRENCE) {
        uint32_t outer = expr->name < counting->name_count ? counting->loop_of[expr->name] : TRIPS_NONE;
        if (outer == TRIPS_NONE || !is_around(counting, outer, loop))
            return false;
    }
    for (uint32_t i = 0; i < expr->count; i++)
        if (!trips_is_bound(counting, expr->operand[i], loop, plan))
            return false;
    return true;
}

bool trips_is_sure(const struct trips_loop *loop)
{
    return loop->entry == TRIPS_ALWAYS || (loop->entry == TRIPS_SOMETIMES && !loop->is_behind_guard) ||
           (loop->facts && loop->facts->is_guard_unclear);
}

/* Sets every name in this loop's formulas to all values that it may have after the loop was entered. */
static void go_anywhere(struct counting *counting, size_t loop)
{
    const struct trips_symbol *entered = counting->loops[loop].entered;
    for (size_t i = 0; i < counting->symbol_count; i++) {
        const struct trips_symbol *symbol = entered ? &entered[i] : &counting->symbols[i];
        if (counting->symbol_name[i] != INDEX_NONE)
            counting->values[counting->symbol_name[i]] =
                (struct expr_range){symbol->low, symbol->high, true, false, symbol->bits};
    }
    for (uint32_t at = counting->loops[loop].parent; at != TRIPS_NONE; at = counting->loops[at].parent) {
        double high = counting->out[at].per_entry.high;
        if (counting->loops[at].facts)
            counting->values[counting->loops[at].facts->name] =
                (struct expr_range){0, high < 0x1p62 ? (expr_int)fmax(high - 1, 0) : ENDLESS, true, false, 0};
    }
}

static struct expr_range value_of(const struct counting *counting, const struct expr *expr)
{
    return expr_value(expr, (struct expr_values){counting->values, counting->name_count});
}

struct expr_range trips_value_anywhere(struct counting *counting, const struct expr *expr, size_t loop)
{
    go_anywhere(counting, loop);
    return value_of(counting, expr);
}

/* --- lower bounds of formulas
 * -------------------------------------------------------------------------------- */

static struct expr_range factor_range(const struct counting *counting, const struct linear_factor *factor)
{
    if (factor->other)
        return value_of(counting, factor->other);
    struct expr_range value =
        factor->name < counting->name_count ? counting->values[factor->name] : (struct expr_range){0};
    if (factor->kind != EXPR_RECURRENCE || !value.is_known)
        return value;
    struct expr_range low = expr_choose(value.low, factor->choose),
                      high = expr_choose(value.high, factor->choose);
    return (struct expr_range){low.low, high.high, low.is_known && high.is_known, false, 0};
}

/* Adds the lower bounds of the products. Returns false if one has none. */
static bool least_of_sum(const struct counting *counting, const struct linear *sum, expr_int *out)
{
    *out = sum->constant;
    for (uint32_t i = 0; i < sum->count; i++) {
        const struct linear_term *term = &sum->terms[i];
        struct expr_range value = expr_point(term->times);
        for (uint32_t k = 0; k < term->count && value.is_known; k++) {
            struct expr_range factor = factor_range(counting, &term->factors[k]);
            value =
                factor.is_known && !factor.has_wrapped ? expr_product(value, factor) : (struct expr_range){0};
        }
        if (!value.is_known)
            return false;
        *out += value.low;
    }
    return true;
}

/* Substitutes the last iteration of each loop around for its iteration number, if the sum falls with that
 * number. Returns false if there are too many terms. */
static bool go_to_last(const struct counting *counting, size_t loop, struct linear *sum)
{
    for (uint32_t at = counting->loops[loop].parent; at != TRIPS_NONE; at = counting->loops[at].parent) {
        const struct expr *taken = counting->plans[at].taken;
        struct linear last;
        if (!taken || !linear_of(taken, &last))
            continue;
        struct linear number = {.count = 1};
        number.terms[0] = (struct linear_term){
            .times = 1, .factors = {{EXPR_RECURRENCE, counting->loops[at].facts->name, 1, NULL}}, .count = 1};
        expr_int times = linear_times_of(sum, &number.terms[0]);
        if (times < 0 && (!linear_add(sum, &number, -times) || !linear_add(sum, &last, times)))
            return false;
    }
    return true;
}

/* Subtracts a formula that is >= 0 because a loop around was entered, as often as the sum contains a product
 * of it, if this raises the lower bound. */
static void use_entry(const struct counting *counting, size_t loop, const struct linear *entered,
                      struct linear *sum, expr_int *least)
{
    for (uint32_t i = 0; i < entered->count; i++) {
        expr_int one = entered->terms[i].times, all = linear_times_of(sum, &entered->terms[i]), now;
        struct linear rest = *sum;
        if (one <= 0 || all <= 0 || all % one != 0 || !linear_add(&rest, entered, -(all / one)) ||
            !go_to_last(counting, loop, &rest) || !least_of_sum(counting, &rest, &now) || now <= *least)
            continue;
        *sum = rest;
        *least = now;
        return;
    }
}

static bool least_as_sum(const struct counting *counting, const struct expr *expr, size_t loop, expr_int *out)
{
    struct linear sum, entered;
    if (!linear_of(expr, &sum) || !go_to_last(counting, loop, &sum) || !least_of_sum(counting, &sum, out))
        return false;
    for (uint32_t at = counting->loops[loop].parent; at != TRIPS_NONE && *out < 0;
         at = counting->loops[at].parent)
        if (counting->plans[at].taken && linear_of(counting->plans[at].taken, &entered))
            use_entry(counting, loop, &entered, &sum, out);
    return true;
}

static bool is_at_least(const struct counting *counting, const struct expr *expr, size_t loop,
                        expr_int least);

/* Returns true if no operand within the formula wraps, so that the machine computes the same value. */
static bool is_true(const struct counting *counting, const struct expr *expr, size_t loop)
{
    bool is_unsigned = expr->kind == EXPR_ZEXT || expr->kind == EXPR_UDIV || expr->kind == EXPR_UMIN ||
                       expr->kind == EXPR_UMAX;
    bool is = expr->nodes <= MOST_NODES;
    for (uint32_t i = 0; i < expr->count && is; i++)
        is = is_unsigned ? is_at_least(counting, expr->operand[i], loop, 0)
                         : is_true(counting, expr->operand[i], loop);
    return is;
}

/* Returns true if the formula is at least `least` after the loops around were entered. */
static bool is_at_least(const struct counting *counting, const struct expr *expr, size_t loop, expr_int least)
{
    struct expr_range value = value_of(counting, expr);
    expr_int low;
    if (!value.is_known)
        return false;
    if (value.low >= least && !value.has_wrapped)
        return true;
    return is_true(counting, expr, loop) && least_as_sum(counting, expr, loop, &low) && low >= least;
}

/* --- formulas and guards
 * --------------------------------------------------------------------------------------- */

/* Returns true if the formula contains the iteration number of an unbounded loop. */
static bool rests_on_endless(const struct counting *counting, const struct expr *expr)
{
    if (expr->kind == EXPR_RECURRENCE && expr->name < counting->name_count) {
        uint32_t outer = counting->loop_of[expr->name];
        if (outer != TRIPS_NONE && !(counting->out[outer].per_entry.high < 0x1p62))
            return true;
    }
    for (uint32_t i = 0; i < expr->count; i++)
        if (rests_on_endless(counting, expr->operand[i]))
            return true;
    return false;
}

double trips_most_by_exits(struct counting *counting, size_t loop)
{
    const struct scev_loop *facts = counting->loops[loop].facts;
    double most = INFINITY;
    go_anywhere(counting, loop);
    for (size_t i = 0; facts && i < facts->exit_count; i++) {
        const struct expr *taken = facts->exits[i].taken;
        struct plan unused = {0};
        if (trips_is_bound(counting, taken, loop, &unused) && !rests_on_endless(counting, taken) &&
            is_at_least(counting, taken, loop, 0))
            most = fmin(most, (double)value_of(counting, taken).high + 1);
    }
    return most < ENDLESS_EXIT ? most : INFINITY;
}

/* --- types ---------------------------------------------------------------------------------------------- */

static void set_unknown(struct counting *counting, uint32_t name, struct expr_range range)
{
    if (name < counting->name_count && !counting->symbol_of[name] && counting->loop_of[name] == TRIPS_NONE)
        counting->values[name] = range;
}

static struct expr_range range_of_type(unsigned bits, bool is_unsigned)
{
    if (bits < 1 || bits > 64)
        return (struct expr_range){.is_known = false};
    expr_int half = (expr_int)1 << (bits - 1);
    return is_unsigned ? (struct expr_range){0, 2 * half - 1, true, false, bits}
                       : (struct expr_range){-half, half - 1, true, false, bits};
}

/* Gives each unknown symbol the range of its type, or makes it unknown again. */
static void let_be_typed(struct counting *counting, const struct expr *expr, bool is_typed)
{
    const struct expr_pool *pool = counting->pool;
    const struct expr *inner = expr->count == 1 ? expr->operand[0] : NULL;
    if (expr->kind == EXPR_SYMBOL) {
        unsigned bits = is_typed && expr->name < pool->bits_count ? pool->bits[expr->name] : 0;
        set_unknown(counting, expr->name, range_of_type(bits, false));
    } else if ((expr->kind == EXPR_ZEXT || expr->kind == EXPR_SEXT) && inner->kind == EXPR_SYMBOL) {
        set_unknown(counting, inner->name, range_of_type(is_typed ? expr->bits : 0, expr->kind == EXPR_ZEXT));
    } else {
        for (uint32_t i = 0; i < expr->count; i++)
            let_be_typed(counting, expr->operand[i], is_typed);
    }
}

static bool is_formula_by_type(struct counting *counting, const struct expr *taken, size_t loop, double most)
{
    struct plan uses = {0};
    if (taken->kind == EXPR_UNKNOWN || taken->kind == EXPR_INTEGER)
        return false;
    if (trips_is_bound(counting, taken, loop, &uses) && uses.has_types)
        return true;
    let_be_typed(counting, taken, true);
    struct expr_range value = value_of(counting, taken);
    let_be_typed(counting, taken, false);
    return value.is_known && most >= (double)value.high;
}

bool trips_is_by_type(struct counting *counting, size_t loop, double most)
{
    const struct scev_loop *facts = counting->loops[loop].facts;
    if (!facts || !counting->pool)
        return false;
    go_anywhere(counting, loop);
    bool is = is_formula_by_type(counting, facts->taken, loop, most);
    for (size_t i = 0; i < facts->exit_count && !is; i++)
        is = is_formula_by_type(counting, facts->exits[i].taken, loop, most);
    return is;
}

/* Returns true if the sides of the guard's comparisons equal the machine's values. */
static bool compares_true(const struct counting *counting, size_t at)
{
    const struct trips_loop *loop = &counting->loops[at];
    for (size_t i = 0; i < loop->compared_count; i++) {
        const struct linear_side *side = &loop->compared[i];
        struct plan unused = {0};
        if (!trips_is_bound(counting, &side->expr, at, &unused))
            return false;
        struct expr_range value = value_of(counting, &side->expr);
        expr_int most = value.bits >= 1 && value.bits < 100 ? (expr_int)1 << (value.bits - 1) : ENDLESS * 2;
        bool fits = value.is_known && value.low >= -most && value.high < most;
        if (side->is_unsigned ? !is_at_least(counting, &side->expr, at, 0)
                              : !fits || !is_true(counting, &side->expr, at))
            return false;
    }
    return true;
}

/* Returns a subexpression that is negative exactly where the formula is. */
static const struct expr *sign_of(const struct expr *expr)
{
    while (
        expr->kind == EXPR_ZEXT || expr->kind == EXPR_SEXT ||
        (expr->kind == EXPR_UDIV && expr->operand[1]->kind == EXPR_INTEGER && expr->operand[1]->integer > 0))
        expr = expr->operand[0];
    return expr;
}

bool trips_is_of_points(const struct counting *counting, size_t loop)
{
    bool is = true;
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE && is; at = counting->loops[at].parent)
        is = counting->plans[at].taken && !counting->plans[at].has_ranges;
    return is;
}

/* A formula of single values is evaluated in each iteration, and is linear between those. For ranges only the
 * ends are evaluated. */
bool trips_holds_anywhere(struct counting *counting, size_t loop)
{
    const struct plan *plan = &counting->plans[loop];
    const struct trips_loop *input = &counting->loops[loop];
    const struct expr *sign = sign_of(plan->taken);
    go_anywhere(counting, loop);
    if (!compares_true(counting, loop))
        return false;
    if (trips_is_of_points(counting, loop))
        return true;
    if (!value_of(counting, plan->taken).is_known || !is_true(counting, sign, loop))
        return false;
    return !(trips_is_sure(input) || input->is_ordered) ||
           is_at_least(counting, sign, loop, trips_is_sure(input) ? 0 : -1);
}
