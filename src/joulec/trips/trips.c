/* joulec/trips/trips.c - see trips.h: the count of each loop, and its sum over the nest around it.
 *
 * Each loop gets a plan: LLVM's formula if all its names are known, else a range. Then the nest from the
 * outermost loop to this one is summed three times: with all unknown values at their low, estimated and high
 * ends. This is sound because sums grow with every count. If formulas of the nest both grow and fall with a
 * symbol, no end of the symbol gives the bound of the sum. Then low and high are the products of the ranges
 * per entry, which always hold.
 */
#include "joulec/trips/trips.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/trips/trips_counting.h"
#include "joulec/trips/trips_sum.h"

#define MOST_NODES_PER_LOOP     (1 << 21) /* some 2^19 evaluations */
#define MOST_NODES_PER_FUNCTION (1 << 22)

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
static double guess_at(const struct counting *counting, size_t loop)
{
    if (counting->loops[loop].calls_back)
        return 1;
    if (!isnan(counting->default_trips))
        return fmax(counting->default_trips, 1);
    for (uint32_t at = counting->loops[loop].parent; at != TRIPS_NONE; at = counting->loops[at].parent)
        if (trips_is_guess(&counting->out[at]))
            return TRIPS_GUESS_INSIDE;
    return TRIPS_GUESS;
}

/* Returns true if an entry contradicts the annotation. A single value is what happens; not all of a range may
 * happen. */
static bool is_refuted(const struct trips_loop *loop, const struct trips_range *by_code)
{
    return loop->has_annotation &&
           (by_code->low > loop->annotated_high || by_code->high < loop->annotated_low);
}

/* Returns true if LLVM has a formula for the loop's count, and all its names are known. */
static bool is_counted(const struct counting *counting, size_t at)
{
    struct plan unused = {0};
    const struct scev_loop *facts = counting->loops[at].facts;
    return facts && facts->taken && trips_is_bound(counting, facts->taken, at, &unused);
}

/* Returns true if a loop without a formula repeats passes over data until they need no further pass: it
 * contains a loop with a formula. Inner loops of fewer than MIN_PASS iterations do not count, since they may
 * visit the neighbours of one element. */
#define LEAST_PASS 16
static bool makes_passes(const struct counting *counting, size_t at)
{
    const struct scev_loop *own = counting->loops[at].facts;
    bool has_formula = own && own->taken && own->taken->kind != EXPR_UNKNOWN;
    for (size_t i = at + 1; i < counting->count && !has_formula; i++) {
        const struct scev_loop *facts = counting->loops[i].facts;
        if (counting->loops[i].parent == at && is_counted(counting, i) &&
            !(facts->most_taken >= 0 && facts->most_taken + 1 < LEAST_PASS))
            return true;
    }
    return false;
}

/* Returns the estimate of a count that depends on data, of which only the range is known. A loop that is
 * entered once processes all data: the middle. A loop inside another one is entered many times, mostly for
 * few iterations, and so is a loop of passes, which ends soon if nothing changes. There each order of
 * magnitude is equally likely (Jeffreys' prior of a scale; 1 is added because the count may be 0). */
static double middle_of(const struct counting *counting, size_t at, const struct trips_range *range)
{
    if (counting->loops[at].calls_back)
        return clamp(1, range->low, range->high);
    if (counting->loops[at].parent == TRIPS_NONE && !makes_passes(counting, at))
        return (range->low + range->high) / 2;
    return sqrt((range->low + 1) * (range->high + 1)) - 1;
}

/* Returns the mean iterations of a loop with at most `most` iterations that ends in each iteration with this
 * probability. */
static double rounds_until(double most, double probability)
{
    return probability > 0 ? -expm1(most * log1p(-fmin(probability, 1 - 1e-12))) / probability : most;
}

/* Returns the smallest bound that is evidence of the likely number of iterations. Bounds from failing
 * assertions and from types are none. Infinite: there is no such bound. */
static double likely_most(struct counting *counting, size_t at, double by_exits)
{
    const struct trips_loop *loop = &counting->loops[at];
    double most = counting->plans[at].most;
    if (loop->has_dead_exits || trips_is_by_type(counting, at, most))
        most = INFINITY;
    return fmin(most, trips_is_by_type(counting, at, by_exits) ? INFINITY : by_exits);
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
    if (!loop->has_profile || !(loop->seen_mean >= 0))
        return;
    if (out->cls == TRIPS_GUESSED && loop->seen_high >= loop->seen_mean)
        range->high = TRIPS_SEEN_SPREAD * loop->seen_high;
    if (out->cls == TRIPS_GUESSED && loop->seen_low <= loop->seen_mean)
        range->low = fmax(loop->seen_low, 1);
    range->est = clamp(loop->seen_mean, range->low, range->high);
    out->cls = out->cls == TRIPS_GUESSED ? TRIPS_PROFILED : out->cls;
    out->is_guess_within = false;
}

/* Sets the range and its class where no formula gives them, or one that holds almost always. by_formula:
 * range of one entry; NULL: there is no formula. */
static void plan_range(struct counting *counting, size_t at, const struct trips_range *by_formula)
{
    const struct trips_loop *loop = &counting->loops[at];
    struct plan *plan = &counting->plans[at];
    struct trips *out = &counting->out[at];
    double by_exits = trips_most_by_exits(counting, at), likely = likely_most(counting, at, by_exits);
    struct trips_range range = {1, guess_at(counting, at), fmin(plan->most, by_exits)};
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
        range.est = middle_of(counting, at, &(struct trips_range){range.low, 0, likely});
    if (loop->may_leave_early)
        range.est = rounds_until(range.est, loop->early_probability);
    use_profile(loop, out, &range);
    range.est = clamp(range.est, range.low, range.high);
    out->per_entry = (struct trips_range){clamp(1, range.low, range.high),
                                          fmax(range.est, fmin(1, range.high)), range.high};
    out->per_entry.low = fmax(range.low, out->per_entry.low);
    if (loop->entry != TRIPS_ALWAYS && (!loop->has_annotation || loop->may_be_passed_by))
        range.low = 0; /* its guard is unknown */
    plan->fixed = range;
    plan->taken = NULL;
}

static void plan_formula(struct counting *counting, size_t at)
{
    struct plan *plan = &counting->plans[at];
    struct trips *out = &counting->out[at];
    struct expr_range taken = trips_value_anywhere(counting, plan->taken, at);
    struct trips_range range = {1, 1, plan->most};
    if (taken.is_known && !taken.has_wrapped) {
        range.high = fmin(range.high, fmax((double)taken.high + 1, 0));
        range.low = fmin(fmax((double)taken.low + 1, 1), range.high);
    }
    range.est = isfinite(range.high) ? (range.low + range.high) / 2 : fmax(range.low, guess_at(counting, at));
    out->per_entry = range;
    out->is_guess_within = plan->has_types;
    out->cls = plan->has_symbols ? TRIPS_SYMBOLIC : TRIPS_EXACT;
    out->refutes_annotation = is_refuted(&counting->loops[at], &range);
}

static void plan(struct counting *counting, size_t at)
{
    const struct trips_loop *loop = &counting->loops[at];
    const struct scev_loop *facts = loop->facts;
    bool is_guarded = loop->entry == TRIPS_GUARDED || loop->is_behind_guard;
    const struct expr *taken = !facts ? NULL : is_guarded ? facts->taken_guarded : facts->taken;
    struct plan *plan = &counting->plans[at];
    *plan = (struct plan){.most = facts && facts->most_taken >= 0 ? (double)facts->most_taken + 1 : INFINITY};
    plan->taken = taken && trips_is_bound(counting, taken, at, plan) ? taken : NULL;
    counting->out[at].may_run_over = plan->taken && !trips_holds_anywhere(counting, at);
    struct trips *out = &counting->out[at];
    if (!plan->taken || out->may_run_over) {
        plan_range(counting, at, NULL);
        return;
    }
    plan_formula(counting, at);
    if (plan->has_ranges && loop->has_annotation) /* the annotation may be more precise */
        plan->most = fmin(plan->most, out->per_entry.high);
    if (loop->may_leave_early)
        plan_range(counting, at, &(struct trips_range){1, out->per_entry.est, out->per_entry.high});
    else if (plan->has_ranges && loop->has_annotation)
        plan_range(counting, at, NULL);
}

/* Fills the nest from the outermost loop to this one. Returns false if it is too deep. */
static bool lay_out(const struct counting *counting, size_t loop, enum end end, struct trips_nest *nest)
{
    static const double shares[] = {0, 0.5, 1};
    size_t depth = 0;
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = counting->loops[at].parent)
        depth++;
    if (depth > TRIPS_MOST_LEVELS)
        return false;
    nest->count = depth;
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = counting->loops[at].parent) {
        const struct trips_loop *input = &counting->loops[at];
        const struct plan *plan = &counting->plans[at];
        nest->levels[--depth] = (struct trips_level){
            .taken = plan->taken,
            .name = input->facts ? input->facts->name : INDEX_NONE,
            .fixed = number_at(&plan->fixed, end),
            .most = plan->most,
            .share = input->entry == TRIPS_SOMETIMES ? shares[end] : 1,
            .is_sure = trips_is_sure(input),
            .is_ordered = input->is_ordered,
            .misses_last = input->last == TRIPS_MISSED || (input->last == TRIPS_EITHER && end == LOW),
        };
    }
    return true;
}

static bool has_its_symbols(const struct counting *counting, const struct expr *expr)
{
    if (expr->kind == EXPR_SYMBOL)
        return expr->name < counting->name_count && counting->symbol_of[expr->name];
    for (uint32_t i = 0; i < expr->count; i++)
        if (!has_its_symbols(counting, expr->operand[i]))
            return false;
    return true;
}

/* Returns true if this loop's list of symbols contains all those in the formulas of the loops around it.
 * Lists have limited room, so that an outer list may contain others. */
static bool has_symbols_around(const struct counting *counting, const struct trips_nest *nest)
{
    for (size_t k = 0; counting->has_lists && k < nest->count; k++)
        if (nest->levels[k].taken && !has_its_symbols(counting, nest->levels[k].taken))
            return false;
    return true;
}

/* Sets symbols to the values for which the nest's sum is at this end. Returns false if there are none. */
static bool bind(struct counting *counting, const struct trips_nest *nest, enum end end)
{
    for (size_t i = 0; i < counting->symbol_count; i++) {
        const struct trips_symbol *symbol = &counting->symbols[i];
        uint32_t name = counting->symbol_name[i];
        if (name == INDEX_NONE)
            continue;
        unsigned trend = EXPR_CONSTANT;
        for (size_t k = 0; k < nest->count && symbol->low < symbol->high && end != EST; k++)
            trend |=
                nest->levels[k].taken ? (unsigned)expr_trend(nest->levels[k].taken, name) : EXPR_CONSTANT;
        if (trend == EXPR_EITHER)
            return false;
        bool is_high = (end == HIGH) != (trend == EXPR_FALLS);
        counting->values[name] = expr_point(end == EST ? symbol->est : is_high ? symbol->high : symbol->low);
        counting->values[name].bits = symbol->bits;
    }
    return true;
}

/* Sums the nest with all values at this end. For the estimate, a sample of iterations may be summed. */
static enum trips_status sum_at(struct counting *counting, size_t loop, enum end end, struct trips_sums *out)
{
    struct trips_nest nest = {
        .values = counting->values, .value_count = counting->name_count, .may_sample = end == EST};
    out->is_sampled = false;
    if (!lay_out(counting, loop, end, &nest) || !has_symbols_around(counting, &nest) ||
        !bind(counting, &nest, end))
        return TRIPS_TOO_LONG;
    uint64_t allowed = counting->budget < MOST_NODES_PER_LOOP ? counting->budget : MOST_NODES_PER_LOOP;
    nest.budget = allowed;
    enum trips_status status = trips_sum(&nest, out);
    counting->budget -= allowed - nest.budget;
    return status;
}

/* Returns the product of the ranges per entry. It always holds, because it does not use guards. */
static struct trips_sums product_at(const struct counting *counting, size_t loop, enum end end)
{
    struct trips_sums sums = {1, 1, false};
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = counting->loops[at].parent) {
        double trips = number_at(&counting->out[at].per_entry, end);
        bool is_sure = counting->loops[at].entry == TRIPS_ALWAYS && counting->loops[at].last == TRIPS_REACHED;
        if (end == LOW && !is_sure)
            trips = 0;
        sums.iterations = trips_times(sums.iterations, trips);
        sums.entries = trips_times(sums.entries, at == loop ? fmin(trips, 1) : trips);
    }
    return sums;
}

static bool has_doubt(const struct counting *counting, size_t loop)
{
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = counting->loops[at].parent)
        if (counting->loops[at].entry == TRIPS_SOMETIMES ||
            (counting->loops[at].last == TRIPS_EITHER && counting->loops[at].parent != TRIPS_NONE))
            return true;
    return false;
}

/* Returns true if the nest has only one sum. */
static bool is_settled(const struct counting *counting, size_t loop)
{
    return !has_doubt(counting, loop) && trips_is_of_points(counting, loop);
}

static void weaken(enum trips_class *cls, enum trips_class limit)
{
    *cls = *cls < limit ? limit : *cls;
}

/* Sets the class of the total to the weakest of the loop and those around it. */
static void judge_total(const struct counting *counting, size_t loop)
{
    for (uint32_t at = (uint32_t)loop; at != TRIPS_NONE; at = counting->loops[at].parent)
        weaken(&counting->out[loop].total_cls, counting->out[at].cls);
}

static void set_total(struct counting *counting, size_t loop, const struct trips_sums sums[3])
{
    struct trips *out = &counting->out[loop];
    out->iterations.low = fmin(sums[LOW].iterations, sums[HIGH].iterations);
    out->iterations.high = fmax(sums[LOW].iterations, sums[HIGH].iterations);
    out->iterations.est = clamp(sums[EST].iterations, out->iterations.low, out->iterations.high);
    out->entries.low = fmin(sums[LOW].entries, sums[HIGH].entries);
    out->entries.high = fmax(sums[LOW].entries, sums[HIGH].entries);
    out->entries.est = clamp(sums[EST].entries, out->entries.low, out->entries.high);
    out->per_entry.high = fmin(out->per_entry.high, out->iterations.high);
    out->per_entry.low = fmin(out->per_entry.low, out->per_entry.high);
    out->per_entry.est = clamp(out->per_entry.est, out->per_entry.low, out->per_entry.high);
    if (counting->plans[loop].taken && sums[EST].entries > 0)
        out->per_entry.est =
            clamp(sums[EST].iterations / sums[EST].entries, out->per_entry.low, out->per_entry.high);
}

static void sum_all(struct counting *counting, size_t loop, struct trips_sums sums[3],
                    enum trips_status status[3])
{
    status[EST] = sum_at(counting, loop, EST, &sums[EST]);
    bool is_one = is_settled(counting, loop) && !sums[EST].is_sampled;
    for (enum end end = LOW; end <= HIGH; end += HIGH - LOW) {
        sums[end] = sums[EST];
        status[end] = is_one ? status[EST] : sum_at(counting, loop, end, &sums[end]);
    }
}

static void count_loop(struct counting *counting, size_t loop)
{
    struct trips *out = &counting->out[loop];
    struct trips_sums sums[3];
    enum trips_status status[3];
    plan(counting, loop);
    sum_all(counting, loop, sums, status);
    bool is_wrong = status[EST] == TRIPS_NO_FORMULA || status[HIGH] == TRIPS_NO_FORMULA;
    /* The loops around it were already checked when they were counted */
    if (is_wrong && counting->plans[loop].taken) {
        plan_range(counting, loop, NULL);
        sum_all(counting, loop, sums, status);
    }
    out->total_cls = has_doubt(counting, loop) ? TRIPS_BOUNDED : TRIPS_EXACT;
    for (enum end end = LOW; end <= HIGH; end++) {
        if (status[end] == TRIPS_SUMMED)
            continue;
        sums[end] = product_at(counting, loop, end);
        weaken(&out->total_cls, TRIPS_BOUNDED);
    }
    set_total(counting, loop, sums);
    judge_total(counting, loop);
    if (out->total_cls == TRIPS_EXACT && counting->loops[loop].has_annotation && out->entries.est > 0 &&
        out->iterations.est / out->entries.est > counting->loops[loop].annotated_high)
        out->refutes_annotation = true;
    if (isinf(out->iterations.high) && out->total_cls <= TRIPS_BOUNDED)
        out->total_cls = TRIPS_GUESSED;
}

/* Makes the symbols of the previous list unknown, so that no formula uses values of another loop's list. */
static void forget_symbols(struct counting *counting)
{
    for (size_t i = 0; i < counting->bound_count; i++) {
        uint32_t name = counting->symbol_name[i];
        if (name == INDEX_NONE)
            continue;
        counting->symbol_of[name] = NULL;
        counting->values[name] = (struct expr_range){.is_known = false};
    }
}

/* Binds a list of symbols. Of several with one name, the first is used. */
static void use_symbols(struct counting *counting, const struct trips_symbol *symbols, size_t count)
{
    size_t names = counting->name_count;
    if (counting->is_bound && counting->symbols == symbols && counting->symbol_count == count)
        return;
    forget_symbols(counting);
    counting->symbols = symbols;
    counting->symbol_count = counting->bound_count = count;
    counting->is_bound = true;
    for (size_t i = 0; i < count; i++) {
        const struct trips_symbol *symbol = &symbols[i];
        uint32_t name = counting->pool ? expr_find_name(counting->pool, symbol->name) : INDEX_NONE;
        bool is_used = name < names && !counting->symbol_of[name] && symbol->low <= symbol->est &&
                       symbol->est <= symbol->high;
        counting->symbol_name[i] = is_used ? name : INDEX_NONE;
        if (is_used)
            counting->symbol_of[name] = symbol;
    }
}

static size_t most_symbols(const struct counting *counting)
{
    size_t most = counting->symbol_count;
    for (size_t i = 0; i < counting->count; i++)
        if (counting->loops[i].symbols && counting->loops[i].symbol_count > most)
            most = counting->loops[i].symbol_count;
    return most;
}

/* Allocates the tables by name. Returns false if out of memory or if the input is invalid. */
static bool prepare(struct counting *counting)
{
    size_t names = counting->name_count;
    counting->plans = calloc(counting->count + 1, sizeof *counting->plans);
    counting->symbol_of = calloc(names + 1, sizeof *counting->symbol_of);
    counting->symbol_name = calloc(most_symbols(counting) + 1, sizeof *counting->symbol_name);
    counting->loop_of = calloc(names + 1, sizeof *counting->loop_of);
    counting->values = calloc(names + 1, sizeof *counting->values);
    if (!counting->plans || !counting->symbol_of || !counting->symbol_name || !counting->loop_of ||
        !counting->values)
        return false;
    memset(counting->loop_of, 0xff, names * sizeof *counting->loop_of);
    for (size_t i = 0; i < counting->count; i++) {
        const struct scev_loop *facts = counting->loops[i].facts;
        counting->has_lists = counting->has_lists || counting->loops[i].symbols;
        if (counting->loops[i].parent != TRIPS_NONE && counting->loops[i].parent >= i)
            return false;
        if (facts && facts->name >= names)
            return false;
        if (facts && counting->loop_of[facts->name] == TRIPS_NONE)
            counting->loop_of[facts->name] = (uint32_t)i;
    }
    return true;
}

bool trips_count(const struct expr_pool *pool, const struct trips_loop *loops, size_t count,
                 const struct trips_symbol *symbols, size_t symbol_count, double default_trips,
                 struct trips *out)
{
    struct counting counting = {.pool = pool,
                                .loops = loops,
                                .symbols = symbols,
                                .count = count,
                                .symbol_count = symbol_count,
                                .default_trips = default_trips,
                                .name_count = pool ? pool->name_count : 0,
                                .budget = MOST_NODES_PER_FUNCTION,
                                .out = out};
    bool is_ready = prepare(&counting);
    if (is_ready)
        memset(out, 0, count * sizeof *out);
    for (size_t i = 0; is_ready && i < count; i++) {
        if (loops[i].symbols)
            use_symbols(&counting, loops[i].symbols, loops[i].symbol_count);
        else
            use_symbols(&counting, symbols, symbol_count);
        count_loop(&counting, i);
    }
    free(counting.plans);
    free(counting.symbol_of);
    free(counting.symbol_name);
    free(counting.loop_of);
    free(counting.values);
    return is_ready;
}

const char *trips_class_name(enum trips_class cls)
{
    static const char *const names[] = {"exact", "symbolic", "bounded", "profiled", "guessed"};
    return names[cls];
}
