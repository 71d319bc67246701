/* joulec/trips/scev_facts.c - see scev_facts.h. */
#include "joulec/trips/scev_facts.h"

#include <stdlib.h>
#include "base/array.h"

#define MAX_EXITS 16

/* --- building ------------------------------------------------------------------------------------------- */

struct scev_function *scev_add_function(struct scev_facts *facts, const char *name, size_t length)
{
    if (!ARRAY_ROOM(facts->functions, facts->function_capacity, facts->function_count))
        return NULL;
    struct scev_function function = {0};
    function.name = arena_copy(&function.pool.arena, name, length);
    if (!function.name)
        return NULL;
    facts->functions[facts->function_count] = function;
    return &facts->functions[facts->function_count++];
}

struct scev_loop *scev_add_loop(struct scev_function *function, const char *header, size_t length)
{
    uint32_t name = expr_name(&function->pool, header, length);
    if (name == INDEX_NONE || !ARRAY_ROOM(function->loops, function->loop_capacity, function->loop_count))
        return NULL;
    struct scev_loop *loop = &function->loops[function->loop_count++];
    *loop = (struct scev_loop){.header = function->pool.names[name],
                               .name = name,
                               .taken = expr_unknown(),
                               .taken_guarded = expr_unknown(),
                               .max_taken = -1,
                               .multiple = 1};
    return loop;
}

bool scev_add_exit(struct scev_function *function, struct scev_loop *loop, const char *block, size_t length,
                   const struct expr *taken)
{
    char *name = arena_copy(&function->pool.arena, block, length);
    if (!name || !ARRAY_ROOM(loop->exits, loop->exit_capacity, loop->exit_count))
        return false;
    loop->exits[loop->exit_count++] = (struct scev_exit){name, taken};
    return true;
}

bool scev_add_value(struct scev_function *function, const char *name, size_t length, const struct expr *value,
                    struct expr_range range)
{
    if (value->kind == EXPR_UNKNOWN)
        return true;
    uint32_t number = expr_name(&function->pool, name, length);
    if (number == INDEX_NONE ||
        !ARRAY_ROOM(function->values, function->value_capacity, function->value_count))
        return false;
    function->values[function->value_count++] = (struct scev_value){number, value, range};
    return true;
}

/* Sets taken_guarded. If several conditions end the loop, it is unclear which condition the guard tests. If
 * the guard is passed, no condition's count is negative, so the minimum of the counts is used. */
static void add_guarded(struct expr_pool *pool, struct scev_loop *loop)
{
    const struct expr *taken[MAX_EXITS], *all = loop->taken;
    bool has_several = loop->has_several_exits && loop->taken->kind != EXPR_UNKNOWN;
    loop->is_guard_ambiguous = has_several || all->kind == EXPR_UMIN;
    if (!loop->is_guard_ambiguous) {
        loop->taken_guarded = expr_behind_guard(pool, loop->taken);
        return;
    }
    size_t count = has_several ? loop->exit_count : all->count;
    for (size_t i = 0; i < count && count <= MAX_EXITS; i++)
        taken[i] = expr_behind_guard(pool, has_several ? loop->exits[i].taken : all->operand[i]);
    loop->taken_guarded =
        count && count <= MAX_EXITS ? expr_nary(pool, EXPR_SMIN, taken, count) : expr_unknown();
}

static int by_name(const void *a, const void *b)
{
    uint32_t first = ((const struct scev_value *)a)->name, second = ((const struct scev_value *)b)->name;
    return (first > second) - (first < second);
}

static struct index_key function_key(const void *context, uint32_t number)
{
    return index_name(((const struct scev_facts *)context)->functions[number].name);
}

/* Returns false if out of memory. The first of several functions with one name is indexed. */
static bool index_functions(struct scev_facts *facts)
{
    bool is_good = facts->function_count < INDEX_NONE;
    facts->index.key_of = function_key;
    for (uint32_t i = 0; i < facts->function_count && is_good; i++)
        if (index_find(&facts->index, facts, function_key(facts, i)) == INDEX_NONE)
            is_good = index_add(&facts->index, facts, i);
    return is_good;
}

static bool finish_function(struct scev_function *function)
{
    function->loop_of_count = function->pool.name_count;
    function->loop_of =
        arena_alloc(&function->pool.arena, (function->loop_of_count + 1) * sizeof *function->loop_of);
    for (size_t i = function->loop_count; i-- > 0 && function->loop_of;)
        function->loop_of[function->loops[i].name] = (uint32_t)i + 1;
    for (size_t i = 0; i < function->loop_count; i++)
        add_guarded(&function->pool, &function->loops[i]);
    if (function->value_count)
        qsort(function->values, function->value_count, sizeof *function->values, by_name);
    return !function->pool.arena.is_out_of_memory;
}

bool scev_facts_finish(struct scev_facts *facts)
{
    bool is_good = index_functions(facts);
    for (size_t i = 0; i < facts->function_count && is_good; i++)
        is_good = finish_function(&facts->functions[i]);
    return is_good;
}

void scev_facts_free(struct scev_facts *facts)
{
    for (size_t i = 0; i < facts->function_count; i++) {
        struct scev_function *function = &facts->functions[i];
        for (size_t k = 0; k < function->loop_count; k++)
            free(function->loops[k].exits);
        free(function->loops);
        free(function->values);
        expr_pool_free(&function->pool);
    }
    free(facts->functions);
    index_free(&facts->index);
    *facts = (struct scev_facts){0};
}

/* --- queries -------------------------------------------------------------------------------------------- */

struct scev_function *scev_find_function(const struct scev_facts *facts, const char *name)
{
    uint32_t number = facts->function_count ? index_find(&facts->index, facts, index_name(name)) : INDEX_NONE;
    return number == INDEX_NONE ? NULL : &facts->functions[number];
}

const struct scev_loop *scev_loop_of(const struct scev_function *function, const char *header)
{
    uint32_t name = expr_find_name(&function->pool, header);
    uint32_t number = name < function->loop_of_count ? function->loop_of[name] : 0;
    return number ? &function->loops[number - 1] : NULL;
}

const struct scev_value *scev_find_value(const struct scev_function *function, uint32_t name)
{
    struct scev_value key = {.name = name};
    return name != INDEX_NONE && function->value_count
               ? bsearch(&key, function->values, function->value_count, sizeof key, by_name)
               : NULL;
}

const struct expr *scev_value_of(const struct scev_function *function, const char *name)
{
    const struct scev_value *found = scev_find_value(function, expr_find_name(&function->pool, name));
    return found ? found->value : NULL;
}

/* Returns the minimum of the counts of all exits; unknown if one of them is unknown. */
static const struct expr *min_of_exits(struct expr_pool *pool, const struct scev_loop *loop)
{
    const struct expr *taken[MAX_EXITS];
    for (size_t i = 0; i < loop->exit_count && loop->exit_count <= MAX_EXITS; i++) {
        taken[i] = loop->exits[i].taken;
        if (taken[i]->kind == EXPR_UNKNOWN)
            return expr_unknown();
    }
    if (loop->exit_count == 1)
        return taken[0];
    return loop->exit_count <= MAX_EXITS ? expr_nary(pool, EXPR_UMIN, taken, loop->exit_count)
                                         : expr_unknown();
}

struct scev_loop scev_loop_without(struct expr_pool *pool, const struct scev_loop *loop,
                                   const bool *is_left_out)
{
    struct scev_loop out = *loop;
    out.exits = arena_alloc(&pool->arena, (loop->exit_count + 1) * sizeof *out.exits);
    out.exit_count = 0;
    for (size_t i = 0; i < loop->exit_count && out.exits; i++)
        if (!is_left_out[i])
            out.exits[out.exit_count++] = loop->exits[i];
    out.has_several_exits = out.exit_count > 1;
    out.taken = out.exit_count ? min_of_exits(pool, &out) : expr_unknown();
    out.taken_guarded = expr_unknown();
    if (out.taken->kind != EXPR_UNKNOWN)
        add_guarded(pool, &out);
    return out;
}
