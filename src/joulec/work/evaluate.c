/* joulec/work/evaluate.c - see evaluate.h. */
#include "joulec/work/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/trips/formula.h"
#include "joulec/trips/loop_entry.h"
#include "joulec/work/advice.h"
#include "joulec/work/built_loop.h"
#include "joulec/work/cache_levels.h"
#include "joulec/work/library_call.h"
#include "joulec/work/overlap.h"
#include "joulec/work/parameters.h"

#define MAX_INSTANCES 256 /* per function */
#define MAX_DEPTH     24  /* maximum nesting of calls with known arguments */
#define MAX_SYMBOLS   PARAMETERS_MAX
#define GUESS_SPREAD  10 /* assumed maximum of a loop without a bound, as a multiple of the guess */

/* --- one evaluation ------------------------------------------------------------------------------------- */

struct loop_times evaluate_times(const struct trips *trips)
{
    const struct trips_range *all = &trips->iterations, *entries = &trips->entries, *one = &trips->per_entry;
    struct loop_times out = {
        {entries->low > 0 ? all->low / entries->low : one->low,
         entries->est > 0 ? all->est / entries->est : one->est,
         entries->high > 0 && isfinite(all->high / entries->high) ? all->high / entries->high : one->high},
        one->low,
        one->high};
    bool is_guess = trips->cls == TRIPS_GUESSED;
    if (!isfinite(out.times[BOUND_HIGH]))
        out.times[BOUND_HIGH] = fmax(out.times[BOUND_EST], 1) * (is_guess ? GUESS_SPREAD : 1);
    return out;
}

static enum basis basis_of(const struct trips *trips)
{
    if (trips->cls == TRIPS_GUESSED || trips->total_cls == TRIPS_GUESSED)
        return BASIS_OPEN;
    if (trips->cls == TRIPS_PROFILED || trips->total_cls == TRIPS_PROFILED)
        return BASIS_OBSERVED;
    bool is_one = trips->total_cls <= TRIPS_SYMBOLIC && trips->iterations.low == trips->iterations.high;
    return is_one ? BASIS_EXACT : BASIS_BOUNDED;
}

static void add_basis(const struct trips *trips, struct function_sum *out)
{
    enum basis basis = basis_of(trips);
    out->basis = basis > out->basis ? basis : out->basis;
    out->has_guess = out->has_guess || trips->is_guess_within;
}

struct evaluation {
    struct evaluator *evaluator;
    struct evaluated *f;
    unsigned depth;
    bool is_in_guessed_loop; /* called in a loop with a guessed trip count */
    struct arena scratch;
    struct trips_symbol symbols[2 * MAX_SYMBOLS]; /* ranges of arguments */
    size_t symbol_count;
    struct trips *trips;
    struct value_ranges ranges;
    const struct function_sum **callees;
    struct sum_context context;
    struct addresses addresses;
};

static joule_status evaluate_with(struct evaluator *e, struct evaluated *f, const struct instance *as,
                                  unsigned depth, struct trips *trips, struct arena *arena,
                                  struct function_sum *out);

static bool is_same_binding(const struct instance *instance, const struct trips_symbol *symbols, size_t count,
                            bool is_in_guessed_loop)
{
    if (instance->is_in_guessed_loop != is_in_guessed_loop)
        return false;
    for (size_t i = 0; i < count && instance->count == count; i++)
        if (strcmp(instance->symbols[i].name, symbols[i].name) != 0 ||
            instance->symbols[i].low != symbols[i].low || instance->symbols[i].est != symbols[i].est ||
            instance->symbols[i].high != symbols[i].high)
            return false;
    return instance->count == count;
}

/* Writes the known ranges of a call's relevant arguments. Returns their number. */
static size_t bind(const struct evaluation *now, const struct evaluated *callee, uint32_t block,
                   size_t number, struct trips_symbol out[MAX_SYMBOLS])
{
    const struct call *call = &now->f->function->blocks[block].calls[number];
    size_t count = 0;
    for (size_t i = 0; i < call->argument_count && i < callee->function->parameter_count; i++) {
        if (!callee->is_relevant[i] || count == MAX_SYMBOLS)
            continue;
        out[count].name = callee->function->parameters[i].name;
        count += value_range_of_argument(&now->ranges, block, number, &call->arguments[i], &out[count]);
    }
    return count;
}

/* Evaluates a function for these arguments. Returns NULL if a limit is reached, or if out of memory. */
static struct instance *add_instance(struct evaluator *e, struct evaluated *f,
                                     const struct trips_symbol *symbols, size_t count, unsigned depth,
                                     bool is_in_guessed_loop)
{
    if (f->instance_count >= MAX_INSTANCES || depth >= MAX_DEPTH || e->blocks_left < f->function->block_count)
        return NULL;
    e->blocks_left -= f->function->block_count;
    struct instance *new = arena_alloc(e->arena, sizeof *new);
    struct trips_symbol *kept = arena_alloc(e->arena, (count + 1) * sizeof *kept);
    struct instance **list = new &&kept ? arena_push(e->arena, f->instances, f->instance_count, new) : NULL;
    if (!list)
        return NULL;
    if (count)
        memcpy(kept, symbols, count * sizeof *kept);
    *new = (struct instance){.symbols = kept, .count = count, .is_in_guessed_loop = is_in_guessed_loop};
    struct arena scratch = {0};
    struct trips *trips = arena_alloc(&scratch, (f->loops.count + 1) * sizeof *trips);
    joule_status status =
        trips ? evaluate_with(e, f, new, depth + 1, trips, &scratch, &new->sum) : JOULE_NO_MEMORY;
    arena_free(&scratch);
    new->sum.blocks = NULL;
    new->sum.loops = NULL;
    new->sum.runs = NULL;
    new->sum.doubts = NULL;
    new->sum.doubt_count = 0;
    if (status != JOULE_OK)
        return NULL;
    f->instances = list;
    f->instance_count++;
    return new;
}

/* The work of a call within a recursive group: none, because evaluate_group() later adds the work of all
 * frames. */
static const struct function_sum no_frame = {
    .call = {{{.version = COST_VERSION}, {.version = COST_VERSION}, {.version = COST_VERSION}}}};

static bool is_in_counted_group(const struct evaluator *e, const struct evaluated *f)
{
    return e->groups && e->is_counted[e->groups->group_of[f - e->functions]];
}

static bool is_same_group(const struct evaluator *e, const struct evaluated *a, const struct evaluated *b)
{
    return e->groups->group_of[a - e->functions] == e->groups->group_of[b - e->functions];
}

/* Returns true if the number of executions of a block depends on a guess. */
static bool calls_in_guess(const struct evaluation *now, uint32_t block)
{
    bool is = now->is_in_guessed_loop;
    for (int32_t l = now->f->loops.innermost[block]; l >= 0 && !is; l = now->f->loops.list[l].parent)
        is = trips_is_guess(&now->trips[l]);
    return is && isnan(now->evaluator->default_trips);
}

/* Returns the work of a callee of `block` for these arguments. Uses the general evaluation if no argument is
 * known, or if a limit is reached. */
static const struct function_sum *sum_with(struct evaluation *now, struct evaluated *callee, uint32_t block,
                                           const struct trips_symbol *symbols, size_t count)
{
    bool is_in_guessed_loop = callee->sum.basis >= BASIS_OPEN && calls_in_guess(now, block);
    if (is_in_counted_group(now->evaluator, callee) || (!count && !is_in_guessed_loop))
        return &callee->sum;
    for (size_t i = 0; i < callee->instance_count; i++)
        if (is_same_binding(callee->instances[i], symbols, count, is_in_guessed_loop))
            return &callee->instances[i]->sum;
    const struct instance *new =
        add_instance(now->evaluator, callee, symbols, count, now->depth, is_in_guessed_loop);
    return new ? &new->sum : &callee->sum;
}

static void keep_extreme(const struct target *target, enum bound bound, const struct amounts *one,
                         struct amounts *out)
{
    double more = amounts_joules(target, one, bound) - amounts_joules(target, out, bound);
    if (bound == BOUND_LOW ? more < 0 : more > 0)
        out->of[bound] = one->of[bound];
}

/* Adds one of `count` possible callees: to the extremes, and to the mean with equal weight. */
static void add_target(const struct target *target, const struct function_sum *one, double count,
                       struct function_sum *out)
{
    const double part[BOUNDS] = {0, 1 / count, 0};
    amounts_add(&out->call, part, &one->call);
    keep_extreme(target, BOUND_LOW, &one->call, &out->call);
    keep_extreme(target, BOUND_HIGH, &one->call, &out->call);
    out->bytes[BOUND_LOW] = fmin(out->bytes[BOUND_LOW], one->bytes[BOUND_LOW]);
    out->bytes[BOUND_EST] += one->bytes[BOUND_EST] / count;
    out->bytes[BOUND_HIGH] = fmax(out->bytes[BOUND_HIGH], one->bytes[BOUND_HIGH]);
    out->basis = one->basis > out->basis ? one->basis : out->basis;
    out->has_guess = out->has_guess || one->has_guess;
}

/* Returns the cheapest and the most expensive target of a call through a pointer, and the mean of all
 * targets. Returns NULL if a target was not evaluated, or if out of memory. */
static const struct function_sum *sum_of_targets(struct evaluation *now, uint32_t block,
                                                 const struct call *call)
{
    struct evaluated *functions = now->evaluator->functions;
    for (size_t i = 0; i < call->target_count; i++)
        if (!functions[call->targets[i]].order || functions[call->targets[i]].order >= now->f->order)
            return NULL;
    if (call->target_count == 1)
        return sum_with(now, &functions[call->targets[0]], block, NULL, 0);
    struct function_sum *out = call->target_count ? arena_alloc(now->evaluator->arena, sizeof *out) : NULL;
    if (!out)
        return NULL;
    const struct function_sum *first = sum_with(now, &functions[call->targets[0]], block, NULL, 0);
    *out = (struct function_sum){.call = first->call,
                                 .bytes = {first->bytes[BOUND_LOW], 0, 0},
                                 .basis = BASIS_BOUNDED,
                                 .is_variable = true};
    out->call.of[BOUND_EST] = (struct cost_features){.version = COST_VERSION};
    for (size_t i = 0; i < call->target_count; i++)
        add_target(now->evaluator->target, sum_with(now, &functions[call->targets[i]], block, NULL, 0),
                   (double)call->target_count, out);
    return out;
}

static const struct function_sum *sum_at_call(struct evaluation *now, uint32_t block, size_t number)
{
    const struct call *call = &now->f->function->blocks[block].calls[number];
    struct evaluated *callee = call->callee < 0 ? NULL : &now->evaluator->functions[call->callee];
    struct trips_symbol symbols[MAX_SYMBOLS];
    if (!call->name)
        return sum_of_targets(now, block, call);
    if (callee && is_in_counted_group(now->evaluator, callee) &&
        is_same_group(now->evaluator, now->f, callee))
        return &no_frame;
    if (!callee || !callee->order || callee->order >= now->f->order)
        return NULL;
    return sum_with(now, callee, block, symbols,
                    now->ranges.facts ? bind(now, callee, block, number, symbols) : 0);
}

/* Writes the ranges of the arguments, narrowed by the function's assumptions that dominate a block. Returns
 * their number. */
static size_t bind_own(const struct evaluation *now, uint32_t block, const struct trips_symbol *symbols,
                       size_t count, struct trips_symbol out[2 * MAX_SYMBOLS])
{
    struct trips_symbol assumed[MAX_SYMBOLS];
    size_t more = value_range_assumed(&now->ranges, block, assumed, MAX_SYMBOLS), bound = count;
    for (size_t i = 0; i < count; i++)
        out[i] = symbols[i];
    for (size_t i = 0; i < more; i++) {
        size_t k = 0;
        while (k < count && strcmp(symbols[k].name, assumed[i].name) != 0)
            k++;
        struct trips_symbol *own = &out[k];
        if (k == count)
            out[bound++] = assumed[i];
        else if (assumed[i].low <= own->est && own->est <= assumed[i].high) {
            own->low = own->low > assumed[i].low ? own->low : assumed[i].low;
            own->high = own->high < assumed[i].high ? own->high : assumed[i].high;
        }
    }
    return bound;
}

static bool has_assumptions_after_entry(const struct function *f)
{
    for (size_t i = 1; i < f->block_count; i++)
        if (f->blocks[i].assumption_count)
            return true;
    return false;
}

/* Sets the symbols of each loop to the ranges that hold there, with the assumptions that dominate the loop.
 * Returns false if out of memory. */
static bool bind_loops(struct evaluation *now, const struct trips_symbol *symbols, size_t count)
{
    const struct evaluated *f = now->f;
    bool has_more = has_assumptions_after_entry(f->function);
    for (size_t i = 0; i < f->loops.count; i++) {
        struct trips_symbol *own =
            has_more ? arena_alloc(&now->scratch, 2 * MAX_SYMBOLS * sizeof *own) : NULL;
        if (has_more && !own)
            return false;
        f->nest[i].symbols = own;
        f->nest[i].symbol_count = own ? bind_own(now, f->loops.list[i].header, symbols, count, own) : 0;
    }
    return true;
}

/* Narrows the symbols of each loop by the branches that dominate the loop. Symbols with a single value cannot
 * change. Returns false if out of memory. */
static bool bind_entered(struct evaluation *now)
{
    const struct evaluated *f = now->f;
    for (size_t i = 0; i < f->loops.count; i++) {
        struct trips_loop *loop = &f->nest[i];
        const struct trips_symbol *symbols = loop->symbols ? loop->symbols : now->symbols;
        size_t count = loop->symbols ? loop->symbol_count : now->symbol_count, ranges = 0;
        for (size_t k = 0; k < count; k++)
            ranges += symbols[k].low < symbols[k].high;
        loop->entered = NULL;
        if (!ranges)
            continue;
        struct trips_symbol *entered = arena_alloc(&now->scratch, count * sizeof *entered);
        if (!entered)
            return false;
        memcpy(entered, symbols, count * sizeof *entered);
        value_range_narrow_at_entry(&now->ranges, (int32_t)i, entered, count);
        loop->entered = entered;
    }
    return true;
}

static joule_status bind_symbols(struct evaluation *now, const struct trips_symbol *symbols, size_t count)
{
    struct evaluated *f = now->f;
    if (!f->facts)
        return JOULE_OK;
    joule_status status = value_range_prepare(&now->scratch, f->function, &f->loops, f->facts, symbols, count,
                                              NULL, &now->ranges);
    if (status != JOULE_OK)
        return status;
    now->symbol_count = bind_own(now, 0, symbols, count, now->symbols);
    return bind_loops(now, symbols, count) && bind_entered(now) ? JOULE_OK : JOULE_NO_MEMORY;
}

/* Computes the trip counts of all loops. Returns false if out of memory. */
static bool count_loops(struct evaluation *now)
{
    struct evaluated *f = now->f;
    double guess = now->evaluator->default_trips;
    if (isnan(guess) && now->is_in_guessed_loop)
        guess = TRIPS_GUESS_INSIDE;
    bool is_counted = trips_count(f->facts ? &f->facts->pool : NULL, f->nest, f->loops.count, now->symbols,
                                  now->symbol_count, guess, now->trips);
    for (size_t i = 0; i < f->loops.count; i++) /* the lists are in scratch memory of this evaluation */
        f->nest[i].symbols = NULL;
    return is_counted;
}

/* Marks branch edges that known values make infeasible. Ignores branches that leave or repeat a loop, because
 * trip counts describe them. */
static void find_infeasible_edges(struct evaluation *now)
{
    const struct loops *loops = &now->f->loops;
    for (size_t i = 0; i < loops->flow.reached && now->ranges.facts && !loops->is_irregular; i++) {
        uint32_t block = loops->flow.order[i];
        const struct block *b = &now->f->function->blocks[block];
        int32_t loop = loops->innermost[block];
        if (b->edge_count != 2 || !loop_has(loops, loop, b->edges[0].to) ||
            !loop_has(loops, loop, b->edges[1].to))
            continue;
        uint32_t header = loop < 0 ? UINT32_MAX : loops->list[loop].header;
        enum truth answer = value_range_evaluate(&now->ranges, &b->condition);
        if (answer == TRUTH_UNKNOWN || b->edges[0].to == header || b->edges[1].to == header)
            continue;
        now->context.is_infeasible[b->edges[answer == TRUTH_TRUE].number] = true;
    }
}

static void find_reachable(struct evaluation *now)
{
    const struct flow *flow = &now->f->loops.flow;
    for (size_t i = 0; i < flow->reached; i++) {
        const struct block *b = &now->f->function->blocks[flow->order[i]];
        now->context.is_reachable[flow->order[i]] = now->context.is_reachable[flow->order[i]] || i == 0;
        for (size_t e = 0; e < b->edge_count && now->context.is_reachable[flow->order[i]]; e++)
            if (!now->context.is_infeasible[b->edges[e].number])
                now->context.is_reachable[b->edges[e].to] = true;
    }
}

/* Returns true if the cheapest and the most expensive path have equally many micro-operations. */
static bool has_constant_work(const struct amounts *amounts)
{
    return amounts->of[BOUND_LOW].amount[COST_UOPS] == amounts->of[BOUND_HIGH].amount[COST_UOPS];
}

/* Finds the cache lines that each block moves. Returns NULL if out of memory. */
static struct block_memory *find_levels(struct evaluation *now, const struct loop_times *times,
                                        double out_bytes[BOUNDS])
{
    const struct evaluated *f = now->f;
    struct block_memory *memory = arena_alloc(&now->scratch, (f->function->block_count + 1) * sizeof *memory);
    if (!memory || addresses_prepare(&now->scratch, now->evaluator->module, f->function, &f->loops, f->facts,
                                     &now->addresses) != JOULE_OK)
        return NULL;
    joule_status status = cache_levels_find(&now->scratch, &now->addresses, times,
                                            &now->evaluator->target->core, now->callees, memory, out_bytes);
    return status == JOULE_OK ? memory : NULL;
}

static struct call_length length_at_call(const struct evaluation *now, uint32_t block, size_t number)
{
    const struct operand *length = library_call_length(&now->f->function->blocks[block].calls[number]);
    struct trips_symbol bytes;
    if (!length || !now->ranges.facts ||
        !value_range_of_argument(&now->ranges, block, number, length, &bytes) || bytes.high < 0)
        return (struct call_length){.bytes = {NAN, NAN, NAN}};
    return (struct call_length){{fmax((double)bytes.low, 0), fmax((double)bytes.est, 0), (double)bytes.high},
                                bytes.is_by_type};
}

/* Finds the feasible edges and reachable blocks, and the work of the calls in them. Returns false if out of
 * memory. */
static bool find_callees(struct evaluation *now)
{
    const struct function *f = now->f->function;
    now->callees = arena_alloc(&now->scratch, (f->call_count + 1) * sizeof *now->callees);
    now->context.is_infeasible = arena_alloc(&now->scratch, f->edge_count + 1);
    now->context.is_reachable = arena_alloc(&now->scratch, f->block_count + 1);
    now->context.lengths = arena_alloc(&now->scratch, (f->call_count + 1) * sizeof *now->context.lengths);
    if (!now->callees || !now->context.is_infeasible || !now->context.is_reachable || !now->context.lengths)
        return false;
    find_infeasible_edges(now);
    find_reachable(now);
    for (uint32_t b = 0; b < f->block_count; b++)
        for (size_t c = 0; c < f->blocks[b].call_count && now->context.is_reachable[b]; c++) {
            now->callees[f->blocks[b].calls[c].number] = sum_at_call(now, b, c);
            now->context.lengths[f->blocks[b].calls[c].number] = length_at_call(now, b, c);
        }
    return true;
}

static joule_status advise(struct evaluation *now)
{
    struct evaluated *f = now->f;
    struct advised advised = {now->evaluator->arena, f, &now->addresses, now->trips, &f->sum,
                              now->evaluator->target};
    return advice_find(&advised, &f->advice, &f->advice_count);
}

static joule_status sum_up(struct evaluation *now, struct arena *arena, struct function_sum *out)
{
    struct evaluated *f = now->f;
    double bytes[BOUNDS];
    struct loop_times *times = arena_alloc(&now->scratch, (f->loops.count + 1) * sizeof *times);
    if (!times || !find_callees(now))
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < f->loops.count; i++)
        times[i] = evaluate_times(&now->trips[i]);
    const struct block_memory *memory = find_levels(now, times, bytes);
    if (!memory)
        return JOULE_NO_MEMORY;
    overlap_find(&now->addresses, now->trips, &f->loops);
    joule_status status = sum_function(arena, f->function, &f->loops, times, memory, now->evaluator->target,
                                       now->callees, &now->context, out);
    memcpy(out->bytes, bytes, sizeof bytes);
    if (status == JOULE_OK && out == &f->sum)
        status = advise(now);
    for (size_t i = 0; i < f->loops.count; i++)
        if (now->context.is_reachable[f->loops.list[i].header])
            add_basis(&now->trips[i], out);
    out->is_variable = out->is_variable || !has_constant_work(&out->call);
    if (out->basis == BASIS_BOUNDED && has_constant_work(&out->call))
        out->basis = BASIS_EXACT;
    return status;
}

static joule_status evaluate_with(struct evaluator *e, struct evaluated *f, const struct instance *as,
                                  unsigned depth, struct trips *trips, struct arena *arena,
                                  struct function_sum *out)
{
    struct evaluation now = {
        .evaluator = e, .f = f, .depth = depth, .is_in_guessed_loop = as->is_in_guessed_loop, .trips = trips};
    joule_status status = bind_symbols(&now, as->symbols, as->count);
    if (status == JOULE_OK && !count_loops(&now))
        status = JOULE_NO_MEMORY;
    if (status == JOULE_OK && f->facts)
        status = value_range_prepare(&now.scratch, f->function, &f->loops, f->facts, now.symbols,
                                     now.symbol_count, trips, &now.ranges);
    if (status == JOULE_OK)
        status = sum_up(&now, arena, out);
    arena_free(&now.scratch);
    return status;
}

/* --- all functions -------------------------------------------------------------------------------------- */

joule_status evaluator_make(struct arena *arena, const struct module *module, const struct target *target,
                            double default_trips, struct evaluator *out)
{
    *out = (struct evaluator){arena,
                              module,
                              target,
                              default_trips,
                              .functions =
                                  arena_alloc(arena, (module->function_count + 1) * sizeof *out->functions),
                              .blocks_left = 100000};
    for (size_t i = 0; out->functions && i < module->function_count; i++) {
        const struct function *f = &module->functions[i];
        struct scev_function *facts = module->scev ? scev_find_function(module->scev, f->name) : NULL;
        out->functions[i] = (struct evaluated){.function = f,
                                               .facts = facts,
                                               .frames = {1, 1, 1},
                                               .is_relevant = arena_alloc(arena, f->parameter_count + 1)};
        out->blocks_left += 8 * f->block_count;
        if (!out->functions[i].is_relevant || (facts && !parameters_name(f, &facts->pool)))
            return JOULE_NO_MEMORY;
    }
    return out->functions ? JOULE_OK : JOULE_NO_MEMORY;
}

static void find_loop_notes(struct evaluator *e, struct evaluated *f)
{
    for (size_t i = 0; i < f->loops.count; i++) {
        const struct scev_loop *loop = f->nest[i].facts;
        char buffer[128];
        struct text words;
        text_init(&words, buffer, sizeof buffer);
        if (!loop)
            continue;
        if (formula_of_loop(f->facts, loop, f->function, &words))
            f->words[i].formula = arena_copy(e->arena, buffer, words.length);
        f->words[i].parameter = formula_parameter(f->facts, loop, f->function);
        if (f->words[i].parameter)
            f->words[i].parameter =
                arena_copy(e->arena, f->words[i].parameter, strlen(f->words[i].parameter));
    }
}

joule_status evaluate_prepare(struct evaluator *e, size_t index)
{
    struct evaluated *f = &e->functions[index];
    if (f->nest)
        return JOULE_OK;
    joule_status status = loops_find(e->arena, f->function, &f->loops);
    if (status != JOULE_OK)
        return status;
    built_loop_join(e->module, f->function, &f->loops);
    f->nest = arena_alloc(e->arena, (f->loops.count + 1) * sizeof *f->nest);
    f->trips = arena_alloc(e->arena, (f->loops.count + 1) * sizeof *f->trips);
    f->words = arena_alloc(e->arena, (f->loops.count + 1) * sizeof *f->words);
    if (!f->nest || !f->trips || !f->words)
        return JOULE_NO_MEMORY;
    status = loop_entry_find(e->arena, f->function, &f->loops, f->facts, f->nest);
    if (status == JOULE_OK && e->groups)
        evaluate_find_recursive_calls(e, f);
    return status;
}

joule_status evaluate(struct evaluator *e, size_t index)
{
    struct evaluated *f = &e->functions[index];
    f->order = ++e->order;
    parameters_find_relevant(e, f);
    find_loop_notes(e, f);
    struct instance general = {.symbols = f->passed, .count = f->passed_count};
    return evaluate_with(e, f, &general, 0, f->trips, e->arena, &f->sum);
}
