/* joulec/trips/formula.c - see formula.h. */
#include "joulec/trips/formula.h"

#include <inttypes.h>
#include <string.h>
#include "joulec/trips/linear.h"

static bool is_parameter(const struct scev_function *facts, const struct function *function, uint32_t name)
{
    for (size_t i = 0; i < function->parameter_count && name < facts->pool.name_count; i++)
        if (function->parameters[i].name &&
            strcmp(function->parameters[i].name, facts->pool.names[name]) == 0)
            return true;
    return false;
}

/* Returns true if all names in a formula are parameters. Sets *first to the first parameter, unless *first is
 * already set. */
static bool is_of_parameters(const struct scev_function *facts, const struct function *function,
                             const struct expr *expr, const char **first)
{
    if (expr->kind == EXPR_UNKNOWN || expr->kind == EXPR_RECURRENCE)
        return false;
    if (expr->kind == EXPR_SYMBOL) {
        if (!is_parameter(facts, function, expr->name))
            return false;
        *first = *first ? *first : facts->pool.names[expr->name];
        return true;
    }
    for (uint32_t i = 0; i < expr->count; i++)
        if (!is_of_parameters(facts, function, expr->operand[i], first))
            return false;
    return true;
}

const char *formula_parameter(const struct scev_function *facts, const struct scev_loop *loop,
                              const struct function *function)
{
    const char *first = NULL;
    if (is_of_parameters(facts, function, loop->taken, &first))
        return first;
    for (size_t i = 0; i < loop->exit_count; i++) { /* one bounded exit bounds the loop */
        first = NULL;
        if (is_of_parameters(facts, function, loop->exits[i].taken, &first) && first)
            return first;
    }
    return NULL;
}

/* --- printing ------------------------------------------------------------------------------------------- */

static bool add_sum(const struct scev_function *facts, const struct expr *expr, expr_int more,
                    struct text *out);

static bool add_factor(const struct scev_function *facts, const struct linear_factor *factor,
                       struct text *out)
{
    if (factor->kind == EXPR_SYMBOL) {
        text_add(out, facts->pool.names[factor->name]);
        return true;
    }
    const struct expr *other = factor->other;
    bool is_quotient = factor->kind == EXPR_UDIV,
         is_min = factor->kind == EXPR_UMIN || factor->kind == EXPR_SMIN,
         is_max = factor->kind == EXPR_UMAX || factor->kind == EXPR_SMAX;
    if (!is_quotient && !is_min && !is_max)
        return false;
    text_add(out, is_quotient ? "(" : is_min ? "min(" : "max(");
    for (uint32_t i = 0; i < other->count; i++) {
        text_add(out, !i ? "" : is_quotient ? ") / (" : ", ");
        if (!add_sum(facts, other->operand[i], 0, out))
            return false;
    }
    text_add(out, ")");
    return true;
}

static void add_number(struct text *out, expr_int number, bool is_first)
{
    expr_int size = number < 0 ? -number : number;
    text_add(out, number < 0 ? (is_first ? "-" : " - ") : is_first ? "" : " + ");
    text_printf(out, "%" PRId64, (int64_t)size);
}

/* Prints the expression plus `more`. Returns false if the expression contains other operations than sums,
 * products, quotients, minima and maxima. */
static bool add_sum(const struct scev_function *facts, const struct expr *expr, expr_int more,
                    struct text *out)
{
    struct linear sum;
    if (!linear_of(expr, &sum))
        return false;
    sum.constant += more;
    for (uint32_t i = 0; i < sum.count; i++) {
        const struct linear_term *term = &sum.terms[i];
        bool is_one = term->times == 1 || term->times == -1;
        if (is_one)
            text_add(out, term->times < 0 ? (i ? " - " : "-") : i ? " + " : "");
        else
            add_number(out, term->times, i == 0);
        for (uint32_t k = 0; k < term->count; k++) {
            text_add(out, k || !is_one ? " * " : "");
            if (!add_factor(facts, &term->factors[k], out))
                return false;
        }
    }
    if (sum.constant != 0 || sum.count == 0)
        add_number(out, sum.constant, sum.count == 0);
    return true;
}

bool formula_of_loop(const struct scev_function *facts, const struct scev_loop *loop,
                     const struct function *function, struct text *out)
{
    const char *first = NULL;
    return loop->taken_guarded->nodes < 64 &&
           is_of_parameters(facts, function, loop->taken_guarded, &first) && first &&
           add_sum(facts, loop->taken_guarded, 1, out) && out->length < out->size;
}
