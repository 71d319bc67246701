/* joulec/trips/trips.c - see trips.h: the count of each loop, and its sum over the nest around it.
 *
 * Each loop gets a plan: LLVM's formula if all its names are known, else a range. Then the nest from the
 * outermost loop to this loop is summed three times: with all unknown values at their low end, at their
 * estimate, and at their high end. This is sound because sums grow with every count. If formulas of the nest
 * both grow and fall with a symbol, neither end of the symbol's range gives a bound of the sum. Then low and
 * high are the products of the ranges per entry, which always hold.
 */
#include "joulec/trips/trips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/trips/trips_analysis.h"
#include "joulec/trips/trips_sum.h"

#define MAX_NODES_PER_LOOP     (1 << 21) /* about 2^19 evaluations of formulas */
#define MAX_NODES_PER_FUNCTION (1 << 22)

enum end { LOW, EST, HIGH };

static double number_at(const struct trips_range *range, enum end end)
{
    return end == LOW ? range->low : end == EST ? range->est : range->high;
}

static double clamp(double value, double low, double high)
{
    return fmin(fmax(value, low), high);
}

/* Returns the assumed iterations per entry of a loop without any information. */
static double default_count(const struct trips_analysis *analysis, size_t loop)
{
    if (analysis->loops[loop].has_recursive_call)
        return 1;
    if (!isnan(analysis->default_trips))
        return fmax(analysis->default_trips, 1);
    for (uint32_t at = analysis->loops[loop].parent; at != TRIPS_NONE; at = analysis->loops[at].parent)
        if (trips_is_guess(&analysis->out[at]))
            return TRIPS_GUESS_INSIDE;
    return TRIPS_GUESS;
}

/* Returns true if every count that the code allows contradicts the annotation. */
static bool is_refuted(const struct trips_loop *loop, const struct trips_range *by_code)
{
    return loop->has_annotation &&
           (by_code->low > loop->annotated_high || by_code->high < loop->annotated_low);
}

/* Returns true if LLVM has a formula for the loop's count, and all its names are known. */
static bool is_counted(const struct trips_analysis *analysis, size_t at)
{
    struct plan unused = {0};
    const struct scev_loop *facts = analysis->loops[at].facts;
    return facts && facts->taken && trips_is_bound(analysis, facts->taken, at, &unused);
}

/* Returns true if a loop without a formula contains a loop with a formula. Such a loop is assumed to repeat a
 * pass over data until no further pass is needed. Inner loops of fewer than MIN_PASS iterations are ignored,
 * because they may visit the neighbours of one element. */
#define MIN_PASS 16
static bool repeats_passes(const struct trips_analysis *analysis, size_t at)
{
    const struct scev_loop *own = analysis->loops[at].facts;
    bool has_formula = own && own->taken && own->taken->kind != EXPR_UNKNOWN;
    for (size_t i = at + 1; i < analysis->count && !has_formula; i++) {
        const struct scev_loop *facts = analysis->loops[i].facts;
        if (analysis->loops[i].parent == at && is_counted(analysis, i) &&
            !(facts->max_taken >= 0 && facts->max_taken + 1 < MIN_PASS))
            return true;
    }
    return false;
}

/* Returns the estimate of a count that depends on data, if only its range is known. An outermost loop
 * processes all data, so its estimate is the middle of the range. A loop inside another loop mostly runs few
 * iterations. So does a loop that repeats passes, because it ends when nothing changes. For both, each order
 * of magnitude is equally likely (Jeffreys' prior of a scale; 1 is added because the count may be 0). */
static double data_dependent_estimate(const struct trips_analysis *analysis, size_t at,
                                      const struct trips_range *range)
{
    if (analysis->loops[at].has_recursive_call)
        return clamp(1, range->low, range->high);
    if (analysis->loops[at].parent == TRIPS_NONE && !repeats_passes(analysis, at))
        return (range->low + range->high) / 2;
    return sqrt((range->low + 1) * (range->high + 1)) - 1;
}

/* Returns the mean iterations of a loop that runs at most `max` iterations and ends with this probability in
 * each iteration. */
static double mean_iterations(double max, double probability)
{
    return probability > 0 ? -expm1(max * log1p(-fmin(probability, 1 - 1e-12))) / probability : max;
}

/* Returns the smallest bound that is evidence of the likely number of iterations. Bounds from failing
 * assertions and from types are no evidence. Infinite: there is no such bound. */
static double likely_max(struct trips_analysis *analysis, size_t at, double by_exits)
{
    const struct trips_loop *loop = &analysis->loops[at];
    double max = analysis->plans[at].max;
    if (loop->has_dead_exits || trips_is_type_bound(analysis, at, max))
        max = INFINITY;
    return fmin(max, trips_is_type_bound(analysis, at, by_exits) ? INFINITY : by_exits);
}

/* Applies the annotated range to one entry. */
static void annotate(const struct trips_loop *loop, struct trips_range *range, double *likely)
{
    range->low = loop->annotated_low > 0 ? loop->annotated_low : 0;
    range->high = fmin(range->high, fmax(loop->annotated_high, range->low));
    range->low = fmin(range->low, range->high);
    *likely = fmin(*likely, range->high);
}

/* Applies the profile's counts to one entry. */
static void use_profile(const struct trips_loop *loop, struct trips *out, struct trips_range *range)
{
    if (!loop->has_profile || !(loop->profiled_mean >= 0))
        return;
    if (out->cls == TRIPS_GUESSED && loop->profiled_high >= loop->profiled_mean)
        range->high = TRIPS_PROFILE_SPREAD * loop->profiled_high;
    if (out->cls == TRIPS_GUESSED && loop->profiled_low <= loop->profiled_mean)
        range->low = fmax(loop->profiled_low, 1);
    range->est = clamp(loop->profiled_mean, range->low, range->high);
    out->cls = out->cls == TRIPS_GUESSED ? TRIPS_PROFILED : out->cls;
    out->is_guess_within = false;
}

/* Sets the range and its class if there is no formula, or if the loop may end earlier than by its formula.
 * by_formula: range of one entry from the formula; NULL: there is no formula. */
static void plan_range(struct trips_analysis *analysis, size_t at, const struct trips_range *by_formula)
{
    const struct trips_loop *loop = &analysis->loops[at];
    struct plan *plan = &analysis->plans[at];
    struct trips *out = &analysis->out[at];
    double by_exits = trips_max_by_exits(analysis, at), likely = likely_max(analysis, at, by_exits);
    struct trips_range range = {1, default_count(analysis, at), fmin(plan->max, by_exits)};
    if (by_formula)
        range.high = fmin(range.high, by_formula->high);
    if (by_formula)
        likely = plan->has_types ? INFINITY : range.high;
    if (loop->has_annotation) {
        out->refutes_annotation = out->refutes_annotation || is_refuted(loop, &range);
        annotate(loop, &range, &likely);
    }
    out->cls = isfinite(range.high) ? TRIPS_BOUNDED : TRIPS_GUESSED;
    out->is_guess_within = isfinite(range.high) && !isfinite(likely);
    if (by_formula && isfinite(likely))
        range.est = clamp(by_formula->est, range.low, range.high);
    else if (isfinite(likely))
        range.est = data_dependent_estimate(analysis, at, &(struct trips_range){range.low, 0, likely});
    if (loop->may_leave_early)
        range.est = mean_iterations(range.est, loop->early_probability);
    use_profile(loop, out, &range);
    range.est = clamp(range.est, range.low, range.high);
    out->per_entry = (struct trips_range){clamp(1, range.low, range.high),
                                          fmax(range.est, fmin(1, range.high)), range.high};
    out->per_entry.low = fmax(range.low, out->per_entry.low);
    if (loop->entry != TRIPS_ALWAYS && (!loop->has_annotation || loop->may_be_passed_by))
        range.low = 0; /* the loop's guard is unknown */
    plan->fixed = range;
    plan->taken = NULL;
}

static void plan_formula(struct trips_analysis *analysis, size_t at)
{
    struct plan *plan = &analysis->plans[at];
    struct trips *out = &analysis->out[at];
    struct expr_range taken = trips_formula_range(analysis, plan->taken, at);
    struct trips_range range = {1, 1, plan->max};
    if (taken.is_known && !taken.has_wrapped) {
        range.high = fmin(range.high, fmax((double)taken.high + 1, 0));
        range.low = fmin(fmax((double)taken.low + 1, 1), range.high);
    }
    range.est =
        isfinite(range.high) ? (range.low + range.high) / 2 : fmax(range.low, default_count(analysis, at));
    out->per_entry = range;
    out->is_guess_within = plan->has_types;
    out->cls = plan->has_symbols ? TRIPS_SYMBOLIC : TRIPS_EXACT;
    out->refutes_annotation = is_refuted(&analysis->loops[at], &range);
}

static void plan(struct trips_analysis *analysis, size_t at)
{
    const struct trips_loop *loop = &analysis->loops[at];
    const struct scev_loop *facts = loop->facts;
    bool is_guarded = loop->entry == TRIPS_GUARDED || loop->is_behind_guard;
    const struct expr *taken = !facts ? NULL : is_guarded ? facts->taken_guarded : facts->taken;
    struct plan *plan = &analysis->plans[at];
    *plan = (struct plan){.max = facts && facts->max_taken >= 0 ? (double)facts->max_taken + 1 : INFINITY};
    plan->taken = taken && trips_is_bound(analysis, taken, at, plan) ? taken : NULL;
    analysis->out[at].may_overflow = plan->taken && !trips_formula_is_valid(analysis, at);
    struct trips *out = &analysis->out[at];
    if (!plan->taken || out->may_overflow) {
        plan_range(analysis, at, NULL);
        return;
    }
    plan_formula(analysis, at);
    if (plan->has_ranges && loop->has_annotation) /* the annotation may be more precise */
        plan->max = fmin(plan->max, out->per_entry.high);
    if (loop->may_leave_early)
        plan_range(analysis, at, &(struct trips_range){1, out->per_entry.est, out->per_entry.high});
    else if (plan->has_ranges && loop->has_annotation)
        plan_range(analysis, at, NULL);
}

/* Fills the nest from the outermost loop to this loop. Returns false if the nest is too deep. */
static bool build_nest(const struct trips_analysis *analysis, size_t loop, enum end end,
                       struct trips_nest *nest)
{
    static const double probabilities[] = {0, 0.5, 1};
    size_t depth = 0;
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = analysis->loops[at].parent)
        depth++;
    if (depth > TRIPS_MAX_LEVELS)
        return false;
    nest->count = depth;
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = analysis->loops[at].parent) {
        const struct trips_loop *input = &analysis->loops[at];
        const struct plan *plan = &analysis->plans[at];
        nest->levels[--depth] = (struct trips_level){
            .taken = plan->taken,
            .name = input->facts ? input->facts->name : INDEX_NONE,
            .fixed = number_at(&plan->fixed, end),
            .max_iterations = plan->max,
            .probability = input->entry == TRIPS_SOMETIMES ? probabilities[end] : 1,
            .is_unguarded = trips_is_unguarded(input),
            .is_equality_test = input->is_equality_test,
            .misses_last = input->last == TRIPS_MISSED || (input->last == TRIPS_EITHER && end == LOW),
        };
    }
    return true;
}

static bool has_all_symbols(const struct trips_analysis *analysis, const struct expr *expr)
{
    if (expr->kind == EXPR_SYMBOL)
        return expr->name < analysis->name_count && analysis->symbol_of[expr->name];
    for (uint32_t i = 0; i < expr->count; i++)
        if (!has_all_symbols(analysis, expr->operand[i]))
            return false;
    return true;
}

/* Returns true if this loop's list of symbols contains all symbols in the formulas of the nest. The length of
 * lists is limited, so the list of an outer loop may contain other symbols. */
static bool has_symbols_around(const struct trips_analysis *analysis, const struct trips_nest *nest)
{
    for (size_t k = 0; analysis->has_lists && k < nest->count; k++)
        if (nest->levels[k].taken && !has_all_symbols(analysis, nest->levels[k].taken))
            return false;
    return true;
}

/* Sets each symbol to the value for which the nest's sum is at this end. Returns false if a symbol has no
 * such value. */
static bool choose_values(struct trips_analysis *analysis, const struct trips_nest *nest, enum end end)
{
    for (size_t i = 0; i < analysis->symbol_count; i++) {
        const struct trips_symbol *symbol = &analysis->symbols[i];
        uint32_t name = analysis->symbol_name[i];
        if (name == INDEX_NONE)
            continue;
        unsigned trend = EXPR_CONSTANT;
        for (size_t k = 0; k < nest->count && symbol->low < symbol->high && end != EST; k++)
            trend |=
                nest->levels[k].taken ? (unsigned)expr_trend(nest->levels[k].taken, name) : EXPR_CONSTANT;
        if (trend == EXPR_EITHER)
            return false;
        bool is_high = (end == HIGH) != (trend == EXPR_FALLS);
        analysis->values[name] = expr_point(end == EST ? symbol->est : is_high ? symbol->high : symbol->low);
        analysis->values[name].bits = symbol->bits;
    }
    return true;
}

/* Sums the nest with all values at this end. For the estimate, a sample of iterations may be summed. */
static enum trips_status sum_at(struct trips_analysis *analysis, size_t loop, enum end end,
                                struct trips_sums *out)
{
    struct trips_nest nest = {
        .values = analysis->values, .value_count = analysis->name_count, .may_sample = end == EST};
    out->is_sampled = false;
    if (!build_nest(analysis, loop, end, &nest) || !has_symbols_around(analysis, &nest) ||
        !choose_values(analysis, &nest, end))
        return TRIPS_TOO_LONG;
    uint64_t allowed = analysis->budget < MAX_NODES_PER_LOOP ? analysis->budget : MAX_NODES_PER_LOOP;
    nest.budget = allowed;
    enum trips_status status = trips_sum(&nest, out);
    analysis->budget -= allowed - nest.budget;
    return status;
}

/* Returns the product of the ranges per entry at this end. This bound always holds, because it does not use
 * guards. */
static struct trips_sums product_at(const struct trips_analysis *analysis, size_t loop, enum end end)
{
    struct trips_sums sums = {1, 1, false};
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = analysis->loops[at].parent) {
        double trips = number_at(&analysis->out[at].per_entry, end);
        bool always_runs =
            analysis->loops[at].entry == TRIPS_ALWAYS && analysis->loops[at].last == TRIPS_REACHED;
        if (end == LOW && !always_runs)
            trips = 0;
        sums.iterations = trips_times(sums.iterations, trips);
        sums.entries = trips_times(sums.entries, at == loop ? fmin(trips, 1) : trips);
    }
    return sums;
}

static bool is_conditional(const struct trips_analysis *analysis, size_t loop)
{
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = analysis->loops[at].parent)
        if (analysis->loops[at].entry == TRIPS_SOMETIMES ||
            (analysis->loops[at].last == TRIPS_EITHER && analysis->loops[at].parent != TRIPS_NONE))
            return true;
    return false;
}

/* Returns true if the nest's sum is the same at all ends. */
static bool has_single_sum(const struct trips_analysis *analysis, size_t loop)
{
    return !is_conditional(analysis, loop) && trips_nest_is_exact(analysis, loop);
}

static void weaken(enum trips_class *cls, enum trips_class limit)
{
    *cls = *cls < limit ? limit : *cls;
}

/* Sets the class of the total to the weakest class of the loop and the loops around it. */
static void weaken_total(const struct trips_analysis *analysis, size_t loop)
{
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = analysis->loops[at].parent)
        weaken(&analysis->out[loop].total_cls, analysis->out[at].cls);
}

static void set_total(struct trips_analysis *analysis, size_t loop, const struct trips_sums sums[3])
{
    struct trips *out = &analysis->out[loop];
    out->iterations.low = fmin(sums[LOW].iterations, sums[HIGH].iterations);
    out->iterations.high = fmax(sums[LOW].iterations, sums[HIGH].iterations);
    out->iterations.est = clamp(sums[EST].iterations, out->iterations.low, out->iterations.high);
    out->entries.low = fmin(sums[LOW].entries, sums[HIGH].entries);
    out->entries.high = fmax(sums[LOW].entries, sums[HIGH].entries);
    out->entries.est = clamp(sums[EST].entries, out->entries.low, out->entries.high);
    out->per_entry.high = fmin(out->per_entry.high, out->iterations.high);
    out->per_entry.low = fmin(out->per_entry.low, out->per_entry.high);
    out->per_entry.est = clamp(out->per_entry.est, out->per_entry.low, out->per_entry.high);
    if (analysis->plans[loop].taken && sums[EST].entries > 0)
        out->per_entry.est =
            clamp(sums[EST].iterations / sums[EST].entries, out->per_entry.low, out->per_entry.high);
}

static void sum_all(struct trips_analysis *analysis, size_t loop, struct trips_sums sums[3],
                    enum trips_status status[3])
{
    status[EST] = sum_at(analysis, loop, EST, &sums[EST]);
    bool is_one = has_single_sum(analysis, loop) && !sums[EST].is_sampled;
    for (enum end end = LOW; end <= HIGH; end += HIGH - LOW) {
        sums[end] = sums[EST];
        status[end] = is_one ? status[EST] : sum_at(analysis, loop, end, &sums[end]);
    }
}

static void count_loop(struct trips_analysis *analysis, size_t loop)
{
    struct trips *out = &analysis->out[loop];
    struct trips_sums sums[3];
    enum trips_status status[3];
    plan(analysis, loop);
    sum_all(analysis, loop, sums, status);
    bool is_invalid = status[EST] == TRIPS_NO_FORMULA || status[HIGH] == TRIPS_NO_FORMULA;
    /* the loops around this loop were already checked when they were counted */
    if (is_invalid && analysis->plans[loop].taken) {
        plan_range(analysis, loop, NULL);
        sum_all(analysis, loop, sums, status);
    }
    out->total_cls = is_conditional(analysis, loop) ? TRIPS_BOUNDED : TRIPS_EXACT;
    for (enum end end = LOW; end <= HIGH; end++) {
        if (status[end] == TRIPS_SUMMED)
            continue;
        sums[end] = product_at(analysis, loop, end);
        weaken(&out->total_cls, TRIPS_BOUNDED);
    }
    set_total(analysis, loop, sums);
    weaken_total(analysis, loop);
    if (out->total_cls == TRIPS_EXACT && analysis->loops[loop].has_annotation && out->entries.est > 0 &&
        out->iterations.est / out->entries.est > analysis->loops[loop].annotated_high)
        out->refutes_annotation = true;
    if (isinf(out->iterations.high) && out->total_cls <= TRIPS_BOUNDED)
        out->total_cls = TRIPS_GUESSED;
}

/* Makes the symbols of the previous list unknown, so that no formula uses values of another loop's list. */
static void unbind_symbols(struct trips_analysis *analysis)
{
    for (size_t i = 0; i < analysis->bound_count; i++) {
        uint32_t name = analysis->symbol_name[i];
        if (name == INDEX_NONE)
            continue;
        analysis->symbol_of[name] = NULL;
        analysis->values[name] = (struct expr_range){.is_known = false};
    }
}

/* Binds a list of symbols. If several symbols have one name, the first is used. */
static void bind_symbols(struct trips_analysis *analysis, const struct trips_symbol *symbols, size_t count)
{
    size_t names = analysis->name_count;
    if (analysis->is_bound && analysis->symbols == symbols && analysis->symbol_count == count)
        return;
    unbind_symbols(analysis);
    analysis->symbols = symbols;
    analysis->symbol_count = analysis->bound_count = count;
    analysis->is_bound = true;
    for (size_t i = 0; i < count; i++) {
        const struct trips_symbol *symbol = &symbols[i];
        uint32_t name = analysis->pool ? expr_find_name(analysis->pool, symbol->name) : INDEX_NONE;
        bool is_used = name < names && !analysis->symbol_of[name] && symbol->low <= symbol->est &&
                       symbol->est <= symbol->high;
        analysis->symbol_name[i] = is_used ? name : INDEX_NONE;
        if (is_used)
            analysis->symbol_of[name] = symbol;
    }
}

static size_t max_symbols(const struct trips_analysis *analysis)
{
    size_t max = analysis->symbol_count;
    for (size_t i = 0; i < analysis->count; i++)
        if (analysis->loops[i].symbols && analysis->loops[i].symbol_count > max)
            max = analysis->loops[i].symbol_count;
    return max;
}

/* Allocates the tables by name. Returns false if out of memory or if the input is invalid. */
static bool prepare(struct trips_analysis *analysis)
{
    size_t names = analysis->name_count;
    analysis->plans = calloc(analysis->count + 1, sizeof *analysis->plans);
    analysis->symbol_of = calloc(names + 1, sizeof *analysis->symbol_of);
    analysis->symbol_name = calloc(max_symbols(analysis) + 1, sizeof *analysis->symbol_name);
    analysis->loop_of = calloc(names + 1, sizeof *analysis->loop_of);
    analysis->values = calloc(names + 1, sizeof *analysis->values);
    if (!analysis->plans || !analysis->symbol_of || !analysis->symbol_name || !analysis->loop_of ||
        !analysis->values)
        return false;
    memset(analysis->loop_of, 0xff, names * sizeof *analysis->loop_of);
    for (size_t i = 0; i < analysis->count; i++) {
        const struct scev_loop *facts = analysis->loops[i].facts;
        analysis->has_lists = analysis->has_lists || analysis->loops[i].symbols;
        if (analysis->loops[i].parent != TRIPS_NONE && analysis->loops[i].parent >= i)
            return false;
        if (facts && facts->name >= names)
            return false;
        if (facts && analysis->loop_of[facts->name] == TRIPS_NONE)
            analysis->loop_of[facts->name] = (uint32_t)i;
    }
    return true;
}

bool trips_count(const struct expr_pool *pool, const struct trips_loop *loops, size_t count,
                 const struct trips_symbol *symbols, size_t symbol_count, double default_trips,
                 struct trips *out)
{
    struct trips_analysis analysis = {.pool = pool,
                                      .loops = loops,
                                      .symbols = symbols,
                                      .count = count,
                                      .symbol_count = symbol_count,
                                      .default_trips = default_trips,
                                      .name_count = pool ? pool->name_count : 0,
                                      .budget = MAX_NODES_PER_FUNCTION,
                                      .out = out};
    bool is_ready = prepare(&analysis);
    if (is_ready)
        memset(out, 0, count * sizeof *out);
    for (size_t i = 0; is_ready && i < count; i++) {
        if (loops[i].symbols)
            bind_symbols(&analysis, loops[i].symbols, loops[i].symbol_count);
        else
            bind_symbols(&analysis, symbols, symbol_count);
        count_loop(&analysis, i);
    }
    free(analysis.plans);
    free(analysis.symbol_of);
    free(analysis.symbol_name);
    free(analysis.loop_of);
    free(analysis.values);
    return is_ready;
}

const char *trips_class_name(enum trips_class cls)
{
    static const char *const names[] = {"exact", "symbolic", "bounded", "profiled", "guessed"};
    return names[cls];
}
