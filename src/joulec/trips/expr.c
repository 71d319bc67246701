/* joulec/trips/expr.c - see expr.h: builds formulas, and finds properties that need no values.
 *
 * Note: each tree stores its depth and size, which are limited. So recursive functions need not limit their
 * depth.
 */
#include "joulec/trips/expr.h"

#include <stdlib.h>
#include <string.h>

static struct index_key name_key(const void *context, uint32_t number)
{
    return index_name(((const struct expr_pool *)context)->names[number]);
}

uint32_t expr_name(struct expr_pool *pool, const char *name, size_t length)
{
    pool->index.key_of = name_key;
    uint32_t number = index_find(&pool->index, pool, (struct index_key){name, length});
    if (number != INDEX_NONE || pool->name_count >= INDEX_NONE)
        return number;
    char *copy = arena_copy(&pool->arena, name, length);
    char **names = copy ? arena_push(&pool->arena, pool->names, pool->name_count, copy) : NULL;
    if (!names)
        return INDEX_NONE;
    pool->names = names;
    if (!index_add(&pool->index, pool, (uint32_t)pool->name_count))
        return INDEX_NONE;
    return (uint32_t)pool->name_count++;
}

uint32_t expr_find_name(const struct expr_pool *pool, const char *name)
{
    return pool->name_count ? index_find(&pool->index, pool, index_name(name)) : INDEX_NONE;
}

void expr_pool_free(struct expr_pool *pool)
{
    index_free(&pool->index);
    arena_free(&pool->arena);
    free(pool->trial);
    *pool = (struct expr_pool){0};
}

const struct expr *expr_unknown(void)
{
    static const struct expr unknown = {.kind = EXPR_UNKNOWN, .nodes = 1, .depth = 1};
    return &unknown;
}

static const struct expr *build(struct expr_pool *pool, struct expr expr, const struct expr *const *operands)
{
    expr.nodes = expr.depth = 1;
    for (uint32_t i = 0; i < expr.count; i++) {
        const struct expr *operand = operands[i];
        if (!operand || operand->depth >= EXPR_MAX_DEPTH || operand->nodes > EXPR_MAX_NODES - expr.nodes)
            return expr_unknown();
        expr.nodes += operand->nodes;
        if (operand->depth >= expr.depth)
            expr.depth = operand->depth + 1;
    }
    struct expr *built = arena_alloc(&pool->arena, sizeof *built);
    if (built && expr.count)
        expr.operand = arena_alloc(&pool->arena, expr.count * sizeof(struct expr *));
    if (!built || (expr.count && !expr.operand))
        return expr_unknown();
    if (expr.count)
        memcpy(expr.operand, operands, expr.count * sizeof(struct expr *));
    *built = expr;
    return built;
}

const struct expr *expr_integer(struct expr_pool *pool, int64_t value)
{
    return build(pool, (struct expr){.kind = EXPR_INTEGER, .integer = value}, NULL);
}

const struct expr *expr_symbol(struct expr_pool *pool, uint32_t name)
{
    if (name == INDEX_NONE)
        return expr_unknown();
    return build(pool, (struct expr){.kind = EXPR_SYMBOL, .name = name}, NULL);
}

const struct expr *expr_nary(struct expr_pool *pool, enum expr_kind kind, const struct expr *const *operands,
                             size_t count)
{
    bool fits = kind == EXPR_UDIV ? count == 2 : kind >= EXPR_ADD && kind <= EXPR_SMAX && count >= 1;
    if (!fits || count >= EXPR_MAX_NODES)
        return expr_unknown();
    return build(pool, (struct expr){.kind = kind, .count = (uint32_t)count}, operands);
}

const struct expr *expr_recurrence(struct expr_pool *pool, const struct expr *const *operands, size_t count,
                                   uint32_t loop)
{
    if (count < 2 || count >= EXPR_MAX_NODES || loop == INDEX_NONE)
        return expr_unknown();
    return build(pool, (struct expr){.kind = EXPR_RECURRENCE, .name = loop, .count = (uint32_t)count},
                 operands);
}

const struct expr *expr_cast(struct expr_pool *pool, enum expr_kind kind, const struct expr *operand,
                             uint32_t bits, uint32_t result_bits)
{
    if (kind < EXPR_ZEXT || bits < 1)
        return expr_unknown();
    struct expr cast = {.kind = kind, .bits = bits, .result_bits = result_bits, .count = 1};
    return build(pool, cast, &operand);
}

bool expr_uses(const struct expr *expr, uint32_t name)
{
    if ((expr->kind == EXPR_SYMBOL || expr->kind == EXPR_RECURRENCE) && expr->name == name)
        return true;
    for (uint32_t i = 0; i < expr->count; i++)
        if (expr_uses(expr->operand[i], name))
            return true;
    return false;
}

uint32_t expr_degree(const struct expr *expr)
{
    if (expr->kind == EXPR_UNKNOWN)
        return EXPR_NO_DEGREE;
    uint32_t max = 0, sum = 0;
    for (uint32_t i = 0; i < expr->count; i++) {
        uint32_t degree = expr_degree(expr->operand[i]);
        if (degree == EXPR_NO_DEGREE)
            return degree;
        sum += degree;
        if (expr->kind == EXPR_RECURRENCE)
            degree += i;
        max = degree > max ? degree : max;
    }
    if (expr->kind == EXPR_MUL)
        return sum;
    return expr->kind >= EXPR_UDIV && expr->kind <= EXPR_SMAX && max > 0 ? EXPR_NO_DEGREE : max;
}

static enum expr_trend reversed(enum expr_trend trend)
{
    return (enum expr_trend)((trend & EXPR_GROWS ? EXPR_FALLS : 0) | (trend & EXPR_FALLS ? EXPR_GROWS : 0));
}

/* Returns the trend of a product. The trend is known only for a constant times one other factor. */
static enum expr_trend trend_of_product(const struct expr *expr, uint32_t symbol)
{
    enum expr_trend trend = EXPR_CONSTANT;
    bool is_negative = false;
    for (uint32_t i = 0; i < expr->count; i++) {
        const struct expr *factor = expr->operand[i];
        enum expr_trend one = expr_trend(factor, symbol);
        if (factor->kind == EXPR_INTEGER)
            is_negative = is_negative != (factor->integer < 0);
        else if (expr->count > 2 || expr->operand[0]->kind != EXPR_INTEGER)
            one = one == EXPR_CONSTANT ? one : EXPR_EITHER;
        trend = (enum expr_trend)(trend | one);
    }
    return is_negative ? reversed(trend) : trend;
}

enum expr_trend expr_trend(const struct expr *expr, uint32_t symbol)
{
    if (expr->kind == EXPR_SYMBOL)
        return expr->name == symbol ? EXPR_GROWS : EXPR_CONSTANT;
    if (expr->kind == EXPR_UNKNOWN)
        return EXPR_EITHER;
    if (expr->kind == EXPR_MUL)
        return trend_of_product(expr, symbol);
    enum expr_trend trend = EXPR_CONSTANT;
    for (uint32_t i = 0; i < expr->count; i++) {
        enum expr_trend one = expr_trend(expr->operand[i], symbol);
        if (expr->kind == EXPR_UDIV && i == 1)
            one = one == EXPR_CONSTANT ? one : EXPR_EITHER;
        trend = (enum expr_trend)(trend | one);
    }
    return trend;
}
