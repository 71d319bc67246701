/* joulec/trips/trips_bounds.c - see trips_analysis.h: bounds of formulas over all iterations of the loops
 * around them.
 *
 * Interval arithmetic bounds most formulas. Its result is too wide if one part of a formula falls while
 * another grows: for example n - 1 - i with i < n. Then two linear steps are tried. The last iteration of a
 * loop is substituted for its iteration number. The formula of an outer loop is subtracted, which is >= 0
 * because the outer loop was entered.
 */
#include <math.h>
#include "joulec/trips/trips_analysis.h"

#define MAX_NODES      256 /* formulas with more nodes are bounded only by interval arithmetic */
#define UNBOUNDED      ((expr_int)1 << 62) /* more iterations than any loop can run */
#define UNBOUNDED_EXIT 0x1p40 /* a quarter of an hour; more is only the size of the address space */

static bool is_around(const struct trips_analysis *analysis, uint32_t outer, size_t loop)
{
    uint32_t at = analysis->loops[loop].parent;
    while (at != TRIPS_NONE && at != outer)
        at = analysis->loops[at].parent;
    return at != TRIPS_NONE;
}

bool trips_is_bound(const struct trips_analysis *analysis, const struct expr *expr, size_t loop,
                    struct plan *plan)
{
    if (expr->kind == EXPR_UNKNOWN)
        return false;
    if (expr->kind == EXPR_SYMBOL) {
        const struct trips_symbol *symbol =
            expr->name < analysis->name_count ? analysis->symbol_of[expr->name] : NULL;
        plan->has_symbols = true;
        plan->has_ranges = plan->has_ranges || (symbol && symbol->low < symbol->high);
        plan->has_types = plan->has_types || (symbol && symbol->is_by_type);
        return symbol != NULL;
    }
    if (expr->kind == EXPR_RECURRENCE) {
        uint32_t outer = expr->name < analysis->name_count ? analysis->loop_of[expr->name] : TRIPS_NONE;
        if (outer == TRIPS_NONE || !is_around(analysis, outer, loop))
            return false;
    }
    for (uint32_t i = 0; i < expr->count; i++)
        if (!trips_is_bound(analysis, expr->operand[i], loop, plan))
            return false;
    return true;
}

bool trips_is_unguarded(const struct trips_loop *loop)
{
    return loop->entry == TRIPS_ALWAYS || (loop->entry == TRIPS_SOMETIMES && !loop->is_behind_guard) ||
           (loop->facts && loop->facts->is_guard_ambiguous);
}

/* Sets every name in this loop's formulas to the range of its values after the loop was entered. */
static void bind_full_ranges(struct trips_analysis *analysis, size_t loop)
{
    const struct trips_symbol *entered = analysis->loops[loop].entered;
    for (size_t i = 0; i < analysis->symbol_count; i++) {
        const struct trips_symbol *symbol = entered ? &entered[i] : &analysis->symbols[i];
        if (analysis->symbol_name[i] != INDEX_NONE)
            analysis->values[analysis->symbol_name[i]] =
                (struct expr_range){symbol->low, symbol->high, true, false, symbol->bits};
    }
    for (uint32_t at = analysis->loops[loop].parent; at != TRIPS_NONE; at = analysis->loops[at].parent) {
        double high = analysis->out[at].per_entry.high;
        if (analysis->loops[at].facts)
            analysis->values[analysis->loops[at].facts->name] = (struct expr_range){
                0, high < 0x1p62 ? (expr_int)fmax(high - 1, 0) : UNBOUNDED, true, false, 0};
    }
}

static struct expr_range value_of(const struct trips_analysis *analysis, const struct expr *expr)
{
    return expr_value(expr, (struct expr_values){analysis->values, analysis->name_count});
}

struct expr_range trips_formula_range(struct trips_analysis *analysis, const struct expr *expr, size_t loop)
{
    bind_full_ranges(analysis, loop);
    return value_of(analysis, expr);
}

/* --- lower bounds of formulas --------------------------------------------------------------------------- */

static struct expr_range factor_range(const struct trips_analysis *analysis,
                                      const struct linear_factor *factor)
{
    if (factor->other)
        return value_of(analysis, factor->other);
    struct expr_range value =
        factor->name < analysis->name_count ? analysis->values[factor->name] : (struct expr_range){0};
    if (factor->kind != EXPR_RECURRENCE || !value.is_known)
        return value;
    struct expr_range low = expr_choose(value.low, factor->choose),
                      high = expr_choose(value.high, factor->choose);
    return (struct expr_range){low.low, high.high, low.is_known && high.is_known, false, 0};
}

/* Sets *out to the sum of the lower bounds of all terms. Returns false if a term has no lower bound. */
static bool sum_lower_bound(const struct trips_analysis *analysis, const struct linear *sum, expr_int *out)
{
    *out = sum->constant;
    for (uint32_t i = 0; i < sum->count; i++) {
        const struct linear_term *term = &sum->terms[i];
        struct expr_range value = expr_point(term->times);
        for (uint32_t k = 0; k < term->count && value.is_known; k++) {
            struct expr_range factor = factor_range(analysis, &term->factors[k]);
            value =
                factor.is_known && !factor.has_wrapped ? expr_product(value, factor) : (struct expr_range){0};
        }
        if (!value.is_known)
            return false;
        *out += value.low;
    }
    return true;
}

/* Substitutes the last iteration of each outer loop for its iteration number, if the sum falls with that
 * number. Returns false if there are too many terms. */
static bool substitute_last_iterations(const struct trips_analysis *analysis, size_t loop, struct linear *sum)
{
    for (uint32_t at = analysis->loops[loop].parent; at != TRIPS_NONE; at = analysis->loops[at].parent) {
        const struct expr *taken = analysis->plans[at].taken;
        struct linear last;
        if (!taken || !linear_of(taken, &last))
            continue;
        struct linear number = {.count = 1};
        number.terms[0] = (struct linear_term){
            .times = 1, .factors = {{EXPR_RECURRENCE, analysis->loops[at].facts->name, 1, NULL}}, .count = 1};
        expr_int times = linear_times_of(sum, &number.terms[0]);
        if (times < 0 && (!linear_add(sum, &number, -times) || !linear_add(sum, &last, times)))
            return false;
    }
    return true;
}

/* Subtracts from the sum a multiple of `entered`, if this raises the lower bound *min. `entered` is >= 0
 * because an outer loop was entered. The multiple cancels one term of the sum. */
static void subtract_entry_condition(const struct trips_analysis *analysis, size_t loop,
                                     const struct linear *entered, struct linear *sum, expr_int *min)
{
    for (uint32_t i = 0; i < entered->count; i++) {
        expr_int one = entered->terms[i].times, all = linear_times_of(sum, &entered->terms[i]), now;
        struct linear rest = *sum;
        if (one <= 0 || all <= 0 || all % one != 0 || !linear_add(&rest, entered, -(all / one)) ||
            !substitute_last_iterations(analysis, loop, &rest) || !sum_lower_bound(analysis, &rest, &now) ||
            now <= *min)
            continue;
        *sum = rest;
        *min = now;
        return;
    }
}

static bool formula_lower_bound(const struct trips_analysis *analysis, const struct expr *expr, size_t loop,
                                expr_int *out)
{
    struct linear sum, entered;
    if (!linear_of(expr, &sum) || !substitute_last_iterations(analysis, loop, &sum) ||
        !sum_lower_bound(analysis, &sum, out))
        return false;
    for (uint32_t at = analysis->loops[loop].parent; at != TRIPS_NONE && *out < 0;
         at = analysis->loops[at].parent)
        if (analysis->plans[at].taken && linear_of(analysis->plans[at].taken, &entered))
            subtract_entry_condition(analysis, loop, &entered, &sum, out);
    return true;
}

static bool is_at_least(const struct trips_analysis *analysis, const struct expr *expr, size_t loop,
                        expr_int min);

/* Returns true if no operand within the formula wraps, so that the machine computes the same value. */
static bool never_wraps(const struct trips_analysis *analysis, const struct expr *expr, size_t loop)
{
    bool is_unsigned = expr->kind == EXPR_ZEXT || expr->kind == EXPR_UDIV || expr->kind == EXPR_UMIN ||
                       expr->kind == EXPR_UMAX;
    bool is = expr->nodes <= MAX_NODES;
    for (uint32_t i = 0; i < expr->count && is; i++)
        is = is_unsigned ? is_at_least(analysis, expr->operand[i], loop, 0)
                         : never_wraps(analysis, expr->operand[i], loop);
    return is;
}

/* Returns true if the formula is at least `min` after the outer loops were entered. */
static bool is_at_least(const struct trips_analysis *analysis, const struct expr *expr, size_t loop,
                        expr_int min)
{
    struct expr_range value = value_of(analysis, expr);
    expr_int low;
    if (!value.is_known)
        return false;
    if (value.low >= min && !value.has_wrapped)
        return true;
    return never_wraps(analysis, expr, loop) && formula_lower_bound(analysis, expr, loop, &low) && low >= min;
}

/* --- formulas and guards -------------------------------------------------------------------------------- */

/* Returns true if the formula contains the iteration number of an unbounded loop. */
static bool uses_unbounded_iteration(const struct trips_analysis *analysis, const struct expr *expr)
{
    if (expr->kind == EXPR_RECURRENCE && expr->name < analysis->name_count) {
        uint32_t outer = analysis->loop_of[expr->name];
        if (outer != TRIPS_NONE && !(analysis->out[outer].per_entry.high < 0x1p62))
            return true;
    }
    for (uint32_t i = 0; i < expr->count; i++)
        if (uses_unbounded_iteration(analysis, expr->operand[i]))
            return true;
    return false;
}

double trips_max_by_exits(struct trips_analysis *analysis, size_t loop)
{
    const struct scev_loop *facts = analysis->loops[loop].facts;
    double max = INFINITY;
    bind_full_ranges(analysis, loop);
    for (size_t i = 0; facts && i < facts->exit_count; i++) {
        const struct expr *taken = facts->exits[i].taken;
        struct plan unused = {0};
        if (trips_is_bound(analysis, taken, loop, &unused) && !uses_unbounded_iteration(analysis, taken) &&
            is_at_least(analysis, taken, loop, 0))
            max = fmin(max, (double)value_of(analysis, taken).high + 1);
    }
    return max < UNBOUNDED_EXIT ? max : INFINITY;
}

/* --- types ---------------------------------------------------------------------------------------------- */

static void set_unbound(struct trips_analysis *analysis, uint32_t name, struct expr_range range)
{
    if (name < analysis->name_count && !analysis->symbol_of[name] && analysis->loop_of[name] == TRIPS_NONE)
        analysis->values[name] = range;
}

static struct expr_range range_of_type(unsigned bits, bool is_unsigned)
{
    if (bits < 1 || bits > 64)
        return (struct expr_range){.is_known = false};
    expr_int half = (expr_int)1 << (bits - 1);
    return is_unsigned ? (struct expr_range){0, 2 * half - 1, true, false, bits}
                       : (struct expr_range){-half, half - 1, true, false, bits};
}

/* Sets each unknown symbol to the range of its type (is_typed), or back to unknown. */
static void assume_type_ranges(struct trips_analysis *analysis, const struct expr *expr, bool is_typed)
{
    const struct expr_pool *pool = analysis->pool;
    const struct expr *inner = expr->count == 1 ? expr->operand[0] : NULL;
    if (expr->kind == EXPR_SYMBOL) {
        unsigned bits = is_typed && expr->name < pool->bits_count ? pool->bits[expr->name] : 0;
        set_unbound(analysis, expr->name, range_of_type(bits, false));
    } else if ((expr->kind == EXPR_ZEXT || expr->kind == EXPR_SEXT) && inner && inner->kind == EXPR_SYMBOL) {
        set_unbound(analysis, inner->name, range_of_type(is_typed ? expr->bits : 0, expr->kind == EXPR_ZEXT));
    } else {
        for (uint32_t i = 0; i < expr->count; i++)
            assume_type_ranges(analysis, expr->operand[i], is_typed);
    }
}

static bool is_type_bound(struct trips_analysis *analysis, const struct expr *taken, size_t loop, double max)
{
    struct plan uses = {0};
    if (taken->kind == EXPR_UNKNOWN || taken->kind == EXPR_INTEGER)
        return false;
    if (trips_is_bound(analysis, taken, loop, &uses) && uses.has_types)
        return true;
    assume_type_ranges(analysis, taken, true);
    struct expr_range value = value_of(analysis, taken);
    assume_type_ranges(analysis, taken, false);
    return value.is_known && max >= (double)value.high;
}

bool trips_is_type_bound(struct trips_analysis *analysis, size_t loop, double max)
{
    const struct scev_loop *facts = analysis->loops[loop].facts;
    if (!facts || !analysis->pool)
        return false;
    bind_full_ranges(analysis, loop);
    bool is = is_type_bound(analysis, facts->taken, loop, max);
    for (size_t i = 0; i < facts->exit_count && !is; i++)
        is = is_type_bound(analysis, facts->exits[i].taken, loop, max);
    return is;
}

/* Returns true if the sides of the guard's comparisons equal the machine's values. */
static bool guard_never_wraps(const struct trips_analysis *analysis, size_t at)
{
    const struct trips_loop *loop = &analysis->loops[at];
    for (size_t i = 0; i < loop->compared_count; i++) {
        const struct linear_side *side = &loop->compared[i];
        struct plan unused = {0};
        if (!trips_is_bound(analysis, &side->expr, at, &unused))
            return false;
        struct expr_range value = value_of(analysis, &side->expr);
        expr_int max = value.bits >= 1 && value.bits < 100 ? (expr_int)1 << (value.bits - 1) : UNBOUNDED * 2;
        bool fits = value.is_known && value.low >= -max && value.high < max;
        if (side->is_unsigned ? !is_at_least(analysis, &side->expr, at, 0)
                              : !fits || !never_wraps(analysis, &side->expr, at))
            return false;
    }
    return true;
}

/* Returns a subexpression that is negative exactly where the formula is negative. */
static const struct expr *sign_of(const struct expr *expr)
{
    while (
        expr->kind == EXPR_ZEXT || expr->kind == EXPR_SEXT ||
        (expr->kind == EXPR_UDIV && expr->operand[1]->kind == EXPR_INTEGER && expr->operand[1]->integer > 0))
        expr = expr->operand[0];
    return expr;
}

bool trips_nest_is_exact(const struct trips_analysis *analysis, size_t loop)
{
    bool is = true;
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE && is; at = analysis->loops[at].parent)
        is = analysis->plans[at].taken && !analysis->plans[at].has_ranges;
    return is;
}

/* trips_sum() evaluates a formula without ranges in each iteration, unless the formula is linear. With ranges
 * it evaluates only the ends, so the values between them are checked here. */
bool trips_formula_is_valid(struct trips_analysis *analysis, size_t loop)
{
    const struct plan *plan = &analysis->plans[loop];
    const struct trips_loop *input = &analysis->loops[loop];
    const struct expr *sign = sign_of(plan->taken);
    bind_full_ranges(analysis, loop);
    if (!guard_never_wraps(analysis, loop))
        return false;
    if (trips_nest_is_exact(analysis, loop))
        return true;
    if (!value_of(analysis, plan->taken).is_known || !never_wraps(analysis, sign, loop))
        return false;
    return !(trips_is_unguarded(input) || input->is_equality_test) ||
           is_at_least(analysis, sign, loop, trips_is_unguarded(input) ? 0 : -1);
}
