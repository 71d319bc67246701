/* joulec/work/parameters.c - see parameters.h. */
#include "joulec/work/parameters.h"

#include <string.h>
#include "joulec/work/library_call.h"

bool parameters_name(const struct function *f, struct expr_pool *pool)
{
    for (size_t i = 0; i < f->parameter_count; i++)
        if (f->parameters[i].name)
            expr_name(pool, f->parameters[i].name, strlen(f->parameters[i].name));
    pool->bits_count = pool->name_count;
    pool->bits = arena_alloc(&pool->arena, (pool->bits_count + 1) * sizeof *pool->bits);
    for (size_t i = 0; i < f->parameter_count && pool->bits; i++) {
        uint32_t name = f->parameters[i].name ? expr_find_name(pool, f->parameters[i].name) : INDEX_NONE;
        if (name != INDEX_NONE)
            pool->bits[name] = f->parameters[i].bits;
    }
    return pool->bits;
}

/* --- relevant parameters -------------------------------------------------------------------------------- */

static bool loop_uses(const struct scev_loop *loop, uint32_t name)
{
    bool uses = expr_uses(loop->taken, name) || expr_uses(loop->taken_guarded, name);
    for (size_t i = 0; i < loop->exit_count && !uses; i++)
        uses = expr_uses(loop->exits[i].taken, name);
    return uses;
}

static bool call_uses(const struct evaluator *e, const struct evaluated *f, const struct call *call,
                      uint32_t name)
{
    const struct evaluated *callee = call->callee < 0 ? NULL : &e->functions[call->callee];
    const struct operand *length = call->callee < 0 ? library_call_length(call) : NULL;
    struct expr storage;
    if (length && expr_uses(operand_formula(f->facts, length, &storage), name))
        return true;
    if (!callee || !callee->order || callee->order >= f->order)
        return false;
    for (size_t i = 0; i < call->argument_count && i < callee->function->parameter_count; i++)
        if (callee->is_relevant[i] &&
            expr_uses(operand_formula(f->facts, &call->arguments[i], &storage), name))
            return true;
    return false;
}

static bool condition_uses(const struct evaluated *f, const struct condition *condition, uint32_t name)
{
    struct expr storage;
    for (size_t i = 0; i < condition->count; i++)
        if (expr_uses(operand_formula(f->facts, &condition->list[i].left, &storage), name) ||
            expr_uses(operand_formula(f->facts, &condition->list[i].right, &storage), name))
            return true;
    return false;
}

static bool parameter_is_relevant(const struct evaluator *e, const struct evaluated *f, uint32_t name)
{
    for (size_t i = 0; i < f->facts->loop_count; i++)
        if (loop_uses(&f->facts->loops[i], name))
            return true;
    for (size_t b = 0; b < f->function->block_count; b++) {
        if (condition_uses(f, &f->function->blocks[b].condition, name))
            return true;
        for (size_t c = 0; c < f->function->blocks[b].call_count; c++)
            if (call_uses(e, f, &f->function->blocks[b].calls[c], name))
                return true;
    }
    return false;
}

void parameters_find_relevant(const struct evaluator *e, struct evaluated *f)
{
    for (size_t i = 0; f->facts && i < f->function->parameter_count; i++) {
        const char *name = f->function->parameters[i].name;
        f->is_relevant[i] = name && parameter_is_relevant(e, f, expr_find_name(&f->facts->pool, name));
    }
}

/* --- ranges of arguments -------------------------------------------------------------------------------- */

/* The range of values that all calls read so far pass for one parameter. */
struct passed {
    struct trips_symbol range;
    double est_sum;
    size_t calls;
    bool is_unknown;
};

struct passing {
    struct evaluator *e;
    struct passed **of; /* for each function and parameter; NULL: not collected */
    struct arena scratch;
};

/* Finds the range of argument `i` of a call. Returns false if the range is unknown. */
static bool find_argument(const struct value_ranges *ranges, uint32_t block, size_t number, size_t i,
                          struct trips_symbol *out)
{
    const struct call *call = &ranges->function->blocks[block].calls[number];
    if (i >= call->argument_count)
        return false;
    if (ranges->facts)
        return value_range_of_argument(ranges, block, number, &call->arguments[i], out);
    out->low = out->est = out->high = call->arguments[i].constant;
    out->bits = call->arguments[i].bits;
    return call->arguments[i].is_constant;
}

static void add_argument(struct passed *passed, bool is_known, const struct trips_symbol *one)
{
    passed->is_unknown = passed->is_unknown || !is_known;
    if (passed->is_unknown)
        return;
    struct trips_symbol *all = &passed->range;
    bool is_first = passed->calls++ == 0;
    all->low = is_first || one->low < all->low ? one->low : all->low;
    all->high = is_first || one->high > all->high ? one->high : all->high;
    all->bits = one->bits;
    all->is_by_type = all->is_by_type || one->is_by_type;
    passed->est_sum += (double)one->est;
}

static void add_call(const struct passing *p, const struct value_ranges *ranges, uint32_t block,
                     size_t number)
{
    const struct call *call = &ranges->function->blocks[block].calls[number];
    struct passed *passed = call->callee < 0 ? NULL : p->of[call->callee];
    const struct function *callee = call->callee < 0 ? NULL : p->e->functions[call->callee].function;
    for (size_t i = 0; passed && i < callee->parameter_count; i++) {
        struct trips_symbol one = {0};
        if (callee->parameters[i].name && !passed[i].is_unknown)
            add_argument(&passed[i], find_argument(ranges, block, number, i, &one), &one);
    }
}

static bool calls_any(const struct passing *p, const struct function *f)
{
    for (size_t b = 0; b < f->block_count; b++)
        for (size_t c = 0; c < f->blocks[b].call_count; c++)
            if (f->blocks[b].calls[c].callee >= 0 && p->of[f->blocks[b].calls[c].callee])
                return true;
    return false;
}

/* Adds the arguments of all calls in a function. f->passed must be set. */
static joule_status add_calls(struct passing *p, const struct evaluated *f)
{
    struct value_ranges ranges = {.function = f->function, .loops = &f->loops};
    if (!calls_any(p, f->function))
        return JOULE_OK;
    joule_status status = !f->facts ? JOULE_OK
                                    : value_range_prepare(&p->scratch, f->function, &f->loops, f->facts,
                                                          f->passed, f->passed_count, NULL, &ranges);
    for (size_t i = 0; i < f->loops.flow.reached && status == JOULE_OK; i++) {
        uint32_t block = f->loops.flow.order[i];
        for (size_t c = 0; c < f->function->blocks[block].call_count; c++)
            add_call(p, &ranges, block, c);
    }
    return status;
}

/* Stores the known ranges of parameters in f->passed, after all calls of the function were read. Returns
 * false if out of memory. */
static bool store_passed(const struct passing *p, struct evaluated *f, const struct passed *passed)
{
    f->passed = arena_alloc(p->e->arena, PARAMETERS_MAX * sizeof *f->passed);
    for (size_t i = 0; i < f->function->parameter_count && f->passed; i++) {
        struct trips_symbol symbol = passed[i].range;
        symbol.name = f->function->parameters[i].name;
        if (!symbol.name || !passed[i].calls || passed[i].is_unknown || f->passed_count == PARAMETERS_MAX)
            continue;
        double est = passed[i].est_sum / (double)passed[i].calls; /* may exceed the range of int64_t */
        symbol.est = est <= (double)symbol.low    ? symbol.low
                     : est >= (double)symbol.high ? symbol.high
                                                  : (int64_t)est;
        f->passed[f->passed_count++] = symbol;
    }
    return f->passed;
}

/* Returns true if a function calls its own recursive group. Arguments of recursive functions are not
 * collected. */
static bool calls_group(const struct evaluator *e, uint32_t group, const struct function *f)
{
    for (size_t b = 0; b < f->block_count; b++)
        for (size_t c = 0; c < f->blocks[b].call_count; c++)
            if (groups_is_call_of(e->groups, group, &f->blocks[b].calls[c]))
                return true;
    return false;
}

static bool alloc_passed(struct passing *p)
{
    const struct module *module = p->e->module;
    p->of = arena_alloc(&p->scratch, (module->function_count + 1) * sizeof *p->of);
    for (size_t i = 0; i < module->function_count && p->of; i++) {
        const struct function *f = &module->functions[i];
        if (!f->is_local || !f->parameter_count || calls_group(p->e, p->e->groups->group_of[i], f))
            continue;
        p->of[i] = arena_alloc(&p->scratch, f->parameter_count * sizeof **p->of);
        if (!p->of[i])
            return false;
    }
    return p->of;
}

/* Processes callers before callees, because the ranges of a caller's parameters determine its arguments. */
joule_status parameters_from_calls(struct evaluator *e)
{
    struct passing p = {.e = e};
    joule_status status = alloc_passed(&p) ? JOULE_OK : JOULE_NO_MEMORY;
    for (size_t g = e->groups->count; g-- > 0 && status == JOULE_OK;)
        for (uint32_t m = e->groups->begin[g]; m < e->groups->begin[g + 1] && status == JOULE_OK; m++) {
            uint32_t index = e->groups->members[m];
            struct evaluated *f = &e->functions[index];
            status = evaluate_prepare(e, index);
            if (status == JOULE_OK && p.of[index] && !store_passed(&p, f, p.of[index]))
                status = JOULE_NO_MEMORY;
            if (status == JOULE_OK)
                status = add_calls(&p, f);
        }
    arena_free(&p.scratch);
    return status;
}
