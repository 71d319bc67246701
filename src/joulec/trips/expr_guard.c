/* joulec/trips/expr_guard.c - see expr.h: the backedge-taken count of a bottom-tested loop behind its guard.
 *
 * For a rotated `for (i = s; i < n; i += t)`, LLVM knows that the body has run once before the exit is
 * tested. Its count is (-1 - s + max(s + t, n)) / t. The operand s + t represents this first iteration: if s
 * + t replaces the whole maximum, the count is 0 for all s. If s + t is removed from the maximum, the count
 * is negative exactly if the guard is not passed.
 * Note: whether a formula is 0 for all values of its names is tested with a few arbitrary values.
 */
#include "joulec/trips/expr.h"

#include <stdlib.h>

#define MAX_NODES  256 /* maximum nodes of a formula that is searched */
#define MAX_TRIALS 64  /* maximum operands of maxima that are tried in one formula */

struct search {
    struct expr_pool *pool;
    const struct expr *root;
    unsigned trials;
};

static const struct expr *replace(struct expr_pool *pool, const struct expr *in, const struct expr *old,
                                  const struct expr *new)
{
    const struct expr *operands[MAX_NODES];
    if (in == old)
        return new;
    bool is_same = true;
    for (uint32_t i = 0; i < in->count; i++) {
        operands[i] = replace(pool, in->operand[i], old, new);
        is_same = is_same && operands[i] == in->operand[i];
    }
    if (is_same)
        return in;
    if (in->kind == EXPR_RECURRENCE)
        return expr_recurrence(pool, operands, in->count, in->name);
    if (in->kind >= EXPR_ZEXT)
        return expr_cast(pool, in->kind, operands[0], in->bits, in->result_bits);
    return expr_nary(pool, in->kind, operands, in->count);
}

/* Sets each name in a formula to an arbitrary value; factor 0: sets each name to unknown. */
static void set_names(struct expr_pool *pool, const struct expr *expr, int64_t factor)
{
    if (expr->kind == EXPR_SYMBOL || expr->kind == EXPR_RECURRENCE)
        pool->trial[expr->name] =
            factor ? expr_point(factor * (int64_t)(expr->name % 1024 + 2) + 1) : (struct expr_range){0};
    for (uint32_t i = 0; i < expr->count; i++)
        set_names(pool, expr->operand[i], factor);
}

static bool is_zero(const struct search *search, const struct expr *expr)
{
    static const int64_t factors[] = {3, 41, 1009};
    struct expr_pool *pool = search->pool;
    bool is = true;
    for (size_t trial = 0; trial < sizeof factors / sizeof *factors && is; trial++) {
        set_names(pool, expr, factors[trial]);
        struct expr_range value = expr_value(expr, (struct expr_values){pool->trial, pool->trial_count});
        is = value.is_known && value.low == 0 && value.high == 0;
    }
    set_names(pool, expr, 0);
    return is;
}

/* Makes pool->trial large enough for all names. Returns false if out of memory. */
static bool alloc_trial(struct expr_pool *pool)
{
    size_t count = 2 * pool->name_count;
    if (pool->trial_count >= pool->name_count)
        return true;
    struct expr_range *trial = calloc(count, sizeof *trial);
    if (!trial)
        return false;
    free(pool->trial);
    pool->trial = trial;
    pool->trial_count = count;
    return true;
}

/* Returns the root, in which operand number `out` is removed from `maximum`. */
static const struct expr *without(const struct search *search, const struct expr *maximum, uint32_t out)
{
    const struct expr *rest[MAX_NODES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < maximum->count; i++)
        if (i != out)
            rest[count++] = maximum->operand[i];
    const struct expr *less = count == 1 ? rest[0] : expr_nary(search->pool, maximum->kind, rest, count);
    return replace(search->pool, search->root, maximum, less);
}

/* Searches `expr` for a maximum with an operand that represents the first iteration. Returns the root without
 * this operand; NULL: there is no such operand. */
static const struct expr *search_in(struct search *search, const struct expr *expr)
{
    if ((expr->kind == EXPR_UMAX || expr->kind == EXPR_SMAX) && expr->count >= 2) {
        for (uint32_t i = 0; i < expr->count && search->trials < MAX_TRIALS; i++, search->trials++)
            if (is_zero(search, replace(search->pool, search->root, expr, expr->operand[i])))
                return without(search, expr, i);
        return NULL;
    }
    const struct expr *found = NULL;
    bool is_sum = expr->kind == EXPR_ADD || expr->kind == EXPR_UDIV || expr->kind == EXPR_MUL ||
                  expr->kind >= EXPR_ZEXT;
    for (uint32_t i = 0; is_sum && i < expr->count && !found; i++)
        found = search_in(search, expr->operand[i]);
    return found;
}

static bool has_maximum(const struct expr *expr)
{
    bool has = expr->kind == EXPR_UMAX || expr->kind == EXPR_SMAX;
    for (uint32_t i = 0; i < expr->count && !has; i++)
        has = has_maximum(expr->operand[i]);
    return has;
}

const struct expr *expr_behind_guard(struct expr_pool *pool, const struct expr *taken)
{
    if (taken->nodes > MAX_NODES || !has_maximum(taken))
        return taken;
    struct search search = {pool, taken, 0};
    const struct expr *found = alloc_trial(pool) ? search_in(&search, taken) : NULL;
    return found ? found : taken;
}
