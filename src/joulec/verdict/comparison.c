/* joulec/verdict/comparison.c - see comparison.h. */
#include "joulec/verdict/comparison.h"

#include <math.h>
#include <string.h>

#define SAME        1e-9 /* relative rounding error of a stored figure */
#define SURE        0.9  /* required probability, as for budgets */
#define MAX_RENAMED 0.01 /* maximum relative difference of joules between a function and its renamed form */
/* Standard deviations of the logarithm of work that only one version does, as in verdict.c. WORK_LOG_SD: due
 * to operands. LINES_LOG_SD: in addition, due to the number of cache lines that move. */
#define WORK_LOG_SD  0.1
#define LINES_LOG_SD 0.3
#define GUESS        "a loop without a bound"

const char *change_name(enum change change)
{
    static const char *const names[CHANGES] = {"unknown", "new", "same", "less", "more", "undecided", "over"};
    return (unsigned)change < CHANGES ? names[change] : names[CHANGE_UNKNOWN];
}

/* --- one pair ------------------------------------------------------------------------------------------- */

static bool is_line(int feature)
{
    return feature >= COST_L2_LINES && feature <= COST_DRAM_LINES;
}

static bool is_time(int feature)
{
    return feature == COST_CYCLES || feature == COST_PACKAGE_SECONDS;
}

/* Joules that only one version of a function takes, as parts of its total. `work` includes `lines` and
 * `time`. */
struct excess {
    double work, lines, time;
};

static struct excess find_excess(const double *part, const double *other, double total)
{
    struct excess excess = {0, 0, 0};
    for (int i = 0; i < COST_FEATURES; i++) {
        double more = fmax(part[i] - other[i], 0) / total;
        if (is_line(i))
            excess.lines += more;
        else if (is_time(i))
            excess.time += more;
        excess.work += more;
    }
    return excess;
}

/* Returns the standard error of the logarithm of the ratio. Each cause of the table's error affects both
 * versions. So the error of the ratio depends only on the difference between their mixes of work. */
static double ratio_log_sd(const struct baseline_function *before, const struct baseline_function *now,
                           const struct target *target)
{
    double variance = 0, was = before->joules[BOUND_EST], is = now->joules[BOUND_EST];
    for (int cause = 0; cause < COST_CAUSES; cause++) {
        double sd = 0;
        for (int i = 0; i < COST_FEATURES; i++)
            if (now->part[i] > 0 || before->part[i] > 0)
                sd += (now->part[i] / is - before->part[i] / was) * target->table.log_sd[i][cause];
        variance += sd * sd;
    }
    struct excess more = find_excess(now->part, before->part, is),
                  less = find_excess(before->part, now->part, was);
    double time_log_sd = hypot(target->core.log_sd, target->core.hz_log_sd);
    double own[] = {WORK_LOG_SD * hypot(more.work, less.work), LINES_LOG_SD * hypot(more.lines, less.lines),
                    time_log_sd * hypot(more.time, less.time)};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        variance += own[i] * own[i];
    return sqrt(variance);
}

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* Returns the probability that the ratio is at most `limit`. The logarithm of the ratio is assumed to be
 * normal, with different spreads below and above the estimate. */
static double probability_within(const struct growth *c, double limit)
{
    double distance = log(limit / c->ratio);
    double side = distance < 0 ? log(c->ratio / c->low) : log(c->high / c->ratio);
    if (!(side > 1e-12))
        return distance >= 0;
    return normal_below(Z90 * distance / side);
}

/* Returns a name in list->missing that is not in other->missing; NULL: none. */
static const char *find_missing(const struct baseline_function *list, const struct baseline_function *other)
{
    for (size_t i = 0; i < list->missing_count; i++) {
        bool is_found = false;
        for (size_t k = 0; k < other->missing_count && !is_found; k++)
            is_found = strcmp(list->missing[i], other->missing[k]) == 0;
        if (!is_found)
            return list->missing[i];
    }
    return NULL;
}

/* Returns a callee without a figure, or GUESS for a guess, that only `f` has; NULL: none. */
static const char *find_open(const struct baseline_function *f, const struct baseline_function *other)
{
    const char *missing = find_missing(f, other);
    return missing || f->guess_count <= other->guess_count ? missing : GUESS;
}

/* Returns the ratio now / before. Returns 1 if they differ by no more than the rounding of stored figures. */
static double ratio_of(double now, double before)
{
    double ratio = now / before;
    return fabs(ratio - 1) <= SAME ? 1 : ratio;
}

static enum change change_of(const struct growth *c, double limit)
{
    bool is_open = c->added || c->removed;
    if (c->ratio == 1 && !is_open)
        return CHANGE_NONE;
    if (is_open)
        return c->high <= limit ? CHANGE_LESS : CHANGE_UNDECIDED;
    if (c->probability <= 0.5)
        return CHANGE_OVER;
    if (c->probability < SURE)
        return CHANGE_UNDECIDED;
    return c->ratio < 1 ? CHANGE_LESS : CHANGE_MORE;
}

void comparison_make(const struct baseline_function *before, const struct baseline_function *now,
                     const struct target *target, double fail_over, struct growth *out_comparison)
{
    struct growth *c = out_comparison;
    double ends[BOUNDS];
    /* in both versions, trip counts, paths and caches are assumed to be at the same end of their ranges */
    for (int b = 0; b < BOUNDS; b++)
        ends[b] = ratio_of(now->joules[b], before->joules[b]);
    *c = (struct growth){.before = before,
                         .ratio = ends[BOUND_EST],
                         .added = find_open(now, before),
                         .removed = find_open(before, now)};
    double spread = Z90 * ratio_log_sd(before, now, target);
    double min_ratio = fmin(fmin(ends[BOUND_LOW], ends[BOUND_HIGH]), c->ratio),
           max_ratio = fmax(fmax(ends[BOUND_LOW], ends[BOUND_HIGH]), c->ratio);
    c->low = c->removed ? 0 : ratio_of(c->ratio * exp(-hypot(log(c->ratio / min_ratio), spread)), 1);
    c->high = c->added ? NAN : ratio_of(c->ratio * exp(hypot(log(max_ratio / c->ratio), spread)), 1);
    c->probability = c->added || c->removed ? NAN : probability_within(c, 1 + fail_over);
    c->change = change_of(c, 1 + fail_over);
}

/* --- all functions of a file ---------------------------------------------------------------------------- */

static void add_doubts(struct arena *arena, const struct function_result *r, struct baseline_function *out)
{
    out->missing = arena_alloc(arena, (r->sum.doubt_count + 1) * sizeof *out->missing);
    for (size_t i = 0; i < r->loops.count && !r->is_gpu_kernel; i++)
        out->guess_count += r->trips[i].cls == TRIPS_GUESSED;
    for (size_t i = 0; i < r->sum.doubt_count && out->missing; i++) {
        const struct doubt *doubt = &r->sum.doubts[i];
        if (doubt->is_missing)
            out->missing[out->missing_count++] =
                baseline_doubt_key(doubt_name(doubt->kind), doubt->name, out->name);
        else
            out->guess_count++;
    }
}

/* Returns the figures of a function of this run in the form of a stored function. */
static struct baseline_function describe(struct arena *arena, const struct analysis *a,
                                         const struct function_result *r)
{
    struct baseline_function now = {.name = r->function->name, .loop_count = r->loops.count};
    struct target target = analysis_target(a, r);
    struct cost cost = cost_of(&target.table, &r->sum.call.of[BOUND_EST]);
    for (int b = 0; b < BOUNDS; b++)
        now.joules[b] = r->is_gpu_kernel ? NAN : amounts_joules(&target, &r->sum.call, (enum bound)b);
    for (int i = 0; i < COST_FEATURES; i++)
        now.part[i] = cost.part[i].value;
    add_doubts(arena, r, &now);
    return now;
}

static bool is_known(const struct baseline_function *f)
{
    return f->joules[BOUND_LOW] > 0 && f->joules[BOUND_EST] > 0 && f->joules[BOUND_HIGH] > 0 &&
           isfinite(f->joules[BOUND_HIGH]);
}

static void compare(struct comparisons *c, const struct analysis *a, const struct baseline_function *before,
                    const struct baseline_function *now, struct growth *out)
{
    struct target target = a->target;
    *out = (struct growth){.before = before,
                           .change = before ? CHANGE_UNKNOWN : CHANGE_NEW,
                           .ratio = NAN,
                           .low = NAN,
                           .high = NAN,
                           .probability = NAN};
    if (before && is_known(before) && is_known(now))
        comparison_make(before, now, &target, c->baseline->fail_over, out);
}

static void find_gone(struct comparisons *c, size_t count)
{
    const struct baseline_unit *unit = c->unit;
    for (size_t i = 0; i < unit->function_count; i++)
        c->gone[i] = &unit->functions[i];
    for (size_t i = 0; i < count; i++)
        if (c->of[i].before)
            c->gone[c->of[i].before - unit->functions] = NULL;
    for (size_t i = 0; i < unit->function_count; i++)
        if (c->gone[i])
            c->gone[c->gone_count++] = c->gone[i];
}

static bool is_similar(const struct baseline_function *a, const struct baseline_function *b)
{
    double was = a->joules[BOUND_EST], is = b->joules[BOUND_EST];
    return a->loop_count == b->loop_count && fabs(is - was) <= MAX_RENAMED * was && !find_open(a, b) &&
           !find_open(b, a);
}

/* Returns the index of the only function in `list` that resembles `f`. Returns the length of the list if none
 * or several resemble it. */
static size_t find_similar(const struct baseline_function *f, const struct baseline_function *const *list,
                           size_t count)
{
    size_t found = count;
    for (size_t i = 0; i < count; i++) {
        if (!is_similar(f, list[i]))
            continue;
        if (found < count)
            return count;
        found = i;
    }
    return found;
}

/* Pairs a new function with a function that is gone, if no other function of either list resembles them. */
static void find_renamed(struct comparisons *c, const struct analysis *a, const struct baseline_function *now,
                         const struct baseline_function **fresh, bool *is_paired)
{
    size_t fresh_count = 0, left = 0;
    for (size_t i = 0; i < a->result_count; i++)
        if (c->of[i].change == CHANGE_NEW)
            fresh[fresh_count++] = &now[i];
    for (size_t g = 0; g < c->gone_count; g++) {
        size_t at = find_similar(c->gone[g], fresh, fresh_count);
        is_paired[g] = at < fresh_count && find_similar(fresh[at], c->gone, c->gone_count) == g;
        if (is_paired[g]) {
            struct growth *comparison = &c->of[fresh[at] - now];
            compare(c, a, c->gone[g], fresh[at], comparison);
            comparison->is_renamed = true;
        }
    }
    for (size_t g = 0; g < c->gone_count; g++)
        if (!is_paired[g])
            c->gone[left++] = c->gone[g];
    c->gone_count = left;
}

/* In now->missing, replaces the names of renamed callees by their names in the stored report. Returns true if
 * there was such a callee. */
static bool use_old_names(const struct comparisons *c, const struct analysis *a,
                          struct baseline_function *now)
{
    bool has_any = false;
    for (size_t m = 0; m < now->missing_count; m++)
        for (size_t i = 0; i < a->result_count; i++)
            if (c->of[i].is_renamed && strcmp(now->missing[m], a->results[i].function->name) == 0) {
                now->missing[m] = c->of[i].before->name;
                has_any = true;
                break;
            }
    return has_any;
}

/* Compares the callers of renamed functions again, so that the new name of a callee does not count as a
 * difference. */
static void compare_callers(struct comparisons *c, const struct analysis *a, struct baseline_function *now)
{
    for (size_t i = 0; i < a->result_count; i++) {
        bool is_renamed = c->of[i].is_renamed;
        if (!c->of[i].before || !use_old_names(c, a, &now[i]))
            continue;
        compare(c, a, c->of[i].before, &now[i], &c->of[i]);
        c->of[i].is_renamed = is_renamed;
    }
}

joule_status comparisons_make(struct arena *arena, const struct baseline *baseline,
                              const struct analysis *analysis, const char *program, const char *build,
                              struct comparisons *out_comparisons)
{
    struct comparisons *c = out_comparisons;
    size_t count = analysis->result_count;
    *c = (struct comparisons){
        .baseline = baseline, .unit = baseline_find(baseline, program, build), .build = build};
    c->of = arena_alloc(arena, (count + 1) * sizeof *c->of);
    struct baseline_function *now = arena_alloc(arena, (count + 1) * sizeof *now);
    const struct baseline_function **fresh = arena_alloc(arena, (count + 1) * sizeof *fresh);
    size_t before_count = c->unit ? c->unit->function_count : 0;
    bool *is_paired = arena_alloc(arena, before_count + 1);
    c->gone = arena_alloc(arena, (before_count + 1) * sizeof *c->gone);
    if (!c->of || !now || !fresh || !is_paired || !c->gone)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        now[i] = describe(arena, analysis, &analysis->results[i]);
        compare(c, analysis, c->unit ? baseline_find_function(c->unit, now[i].name) : NULL, &now[i],
                &c->of[i]);
    }
    if (c->unit) {
        find_gone(c, count);
        find_renamed(c, analysis, now, fresh, is_paired);
        compare_callers(c, analysis, now);
    }
    return arena->is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}
