/* joulec/verdict/findings.c - see findings.h. */
#include "joulec/verdict/findings.h"

#include <math.h>
#include <string.h>
#include "joulec/source/place.h"
#include "joulec/trips/figure_words.h"
#include "joulec/verdict/comparison_words.h"

/* --- findings ------------------------------------------------------------------------------------------- */

static bool is_error(const struct judged *judged, enum verdict verdict)
{
    return verdict >= VERDICT_LIKELY_VIOLATED || (judged->is_strict && verdict > VERDICT_PROVED);
}

/* The receiver of the findings, and the finding that is being filled in. */
struct listing {
    void (*each)(void *context, const struct finding *finding);
    void *context;
    struct finding finding;
};

static void add_finding(struct listing *s, enum rule rule, bool is_error)
{
    s->finding.rule = rule;
    s->finding.is_error = is_error;
    s->each(s->context, &s->finding);
}

static void set_limit(struct listing *s, const char *what, joule_dimension dimension,
                      const struct figure *figure, const struct limit *limit)
{
    s->finding.what = what;
    s->finding.dimension = dimension;
    s->finding.figure = figure;
    s->finding.limit = limit;
}

static void add_vacuous(struct listing *s, const char *what, joule_dimension dimension,
                        const struct figure *figure, const struct limit *limit)
{
    set_limit(s, what, dimension, figure, limit);
    if (limit->is_vacuous)
        add_finding(s, RULE_VACUOUS, false);
}

/* Adds a finding about a limit, unless the limit is proved or likely to be kept. With --energy-policy=strict,
 * also adds a finding if the limit is only likely to be kept. */
static void add_limit(struct listing *s, enum rule rule, const char *what, joule_dimension dimension,
                      const struct figure *figure, const struct limit *limit)
{
    bool fails = is_error(s->finding.judged, limit->verdict);
    set_limit(s, what, dimension, figure, limit);
    if (limit->verdict != VERDICT_NONE && (limit->verdict > VERDICT_LIKELY || fails))
        add_finding(s, limit->verdict == VERDICT_UNDECIDED ? RULE_UNDECIDED : rule, fails);
}

/* Adds the finding for a budget of GPU code. Such a budget cannot be proved, which is an error with
 * --energy-policy=strict. */
static void add_gpu_kernel(struct listing *s, const struct function_result *r)
{
    const struct judgement *j = &r->judgement;
    if (j->worst == VERDICT_NONE)
        return;
    s->finding.is_note = !s->finding.judged->is_strict;
    add_finding(s, RULE_GPU_KERNEL, s->finding.judged->is_strict);
}

static bool has_advice(const struct judged *judged, const struct function_result *r)
{
    return (r->budget_words || judged->advises_all) && !r->is_gpu_kernel;
}

/* Returns true if an earlier function has the same advice for the same place. This happens if the code at
 * that place is inlined into several functions. */
static bool is_repeated(const struct judged *judged, const struct advice *advice)
{
    const struct analysis *a = judged->analysis;
    for (size_t i = 0; i < a->result_count && advice->place.file; i++)
        for (size_t k = 0; k < a->results[i].advice_count && has_advice(judged, &a->results[i]); k++) {
            const struct advice *other = &a->results[i].advice[k];
            if (other == advice)
                return false;
            if (other->kind == advice->kind && other->place.file &&
                source_place_order(&other->place, &advice->place) == 0)
                return true;
        }
    return false;
}

static void add_advice(struct listing *s, const struct function_result *r)
{
    for (size_t i = 0; i < r->advice_count; i++) {
        if (is_repeated(s->finding.judged, &r->advice[i]))
            continue;
        s->finding = (struct finding){.judged = s->finding.judged,
                                      .result = r,
                                      .is_note = true,
                                      .name = r->advice[i].place.file ? r->advice[i].place
                                                                      : source_place_of_name(r->function),
                                      .mark = MARK_NONE,
                                      .advice = &r->advice[i]};
        add_finding(s, RULE_LOOP_ORDER + r->advice[i].kind, false);
    }
}

static void add_function(struct listing *s, const struct function_result *r)
{
    const struct judgement *j = &r->judgement;
    s->finding = (struct finding){.judged = s->finding.judged,
                                  .result = r,
                                  .name = source_place_of_name(r->function),
                                  .mark = MARK_NONE};
    const struct profile *profile = s->finding.judged->analysis->options.profile;
    if (r->bad_depth.message[0])
        add_finding(s, RULE_BAD_MARK, true);
    if (r->bad_column)
        add_finding(s, RULE_BAD_BUDGET, true);
    if (r->is_gpu_kernel) {
        add_gpu_kernel(s, r);
        return;
    }
    if (profile && !profile_find(profile, r->function->name))
        add_finding(s, RULE_PROFILE, false);
    add_vacuous(s, "max_joules", JOULE_DIMENSION_ENERGY, &j->joules, &j->joules_limit);
    add_vacuous(s, "max_watts", JOULE_DIMENSION_POWER, &j->watts, &j->watts_limit);
    add_vacuous(s, "max_temp_delta", JOULE_DIMENSION_TEMPERATURE, &j->kelvin, &j->kelvin_limit);
    add_limit(s, RULE_JOULES, "max_joules", JOULE_DIMENSION_ENERGY, &j->joules, &j->joules_limit);
    add_limit(s, RULE_WATTS, "max_watts", JOULE_DIMENSION_POWER, &j->watts, &j->watts_limit);
    add_limit(s, RULE_TEMPERATURE, "max_temp_delta", JOULE_DIMENSION_TEMPERATURE, &j->kelvin,
              &j->kelvin_limit);
}

/* Adds at most one finding about the mark. */
static void add_mark(struct listing *s, uint32_t mark)
{
    const struct analysis *a = s->finding.judged->analysis;
    const struct mark *m = &a->options.marks->list[mark];
    unsigned nth = 0;
    for (uint32_t i = 0; i < mark; i++)
        nth += a->options.marks->list[i].place.line == m->place.line;
    if (!m->fault && !a->mark_is_unclear[mark] && !a->mark_is_refuted[mark])
        return;
    s->finding = (struct finding){.judged = s->finding.judged,
                                  .result = &a->whole,
                                  .name = source_place_of_mark(&m->place, nth),
                                  .mark = mark};
    add_finding(s, m->fault ? RULE_BAD_MARK : RULE_UNUSED_MARK, m->fault != NULL);
}

/* Adds findings about the machine and the build, if the file has any budget. */
static void add_machine(struct listing *s)
{
    const struct analysis *a = s->finding.judged->analysis;
    const struct cpu_calibration *found = s->finding.judged->calibration;
    bool is_judged = !isnan(a->options.file_joules);
    for (size_t i = 0; i < a->result_count; i++)
        is_judged |= a->results[i].budget_words != NULL;
    bool is_stale = found && found->state != CALIBRATION_NONE && found->state != CALIBRATION_GOOD;
    s->finding = (struct finding){.judged = s->finding.judged, .result = &a->whole, .mark = MARK_NONE};
    if (is_judged && a->options.level)
        add_finding(s, RULE_LEVEL, false);
    if (is_judged && a->options.merges_threads) {
        s->finding.is_note = true;
        add_finding(s, RULE_THREADS, false);
        s->finding.is_note = false;
    }
    if (is_judged && a->foreign)
        add_finding(s, RULE_FOREIGN, false);
    else if (is_judged && is_stale)
        add_finding(s, RULE_STALE, false);
}

/* Adds findings about the stored report that make a comparison doubtful. */
static void add_baseline(struct listing *s)
{
    const struct comparisons *c = s->finding.judged->comparisons;
    s->finding = (struct finding){
        .judged = s->finding.judged, .result = &s->finding.judged->analysis->whole, .mark = MARK_NONE};
    if (c && (!c->unit || comparisons_differ(c)))
        add_finding(s, RULE_OTHER_BASELINE, false);
}

static void add_comparison(struct listing *s, const struct function_result *r, const struct growth *c)
{
    const struct judged *judged = s->finding.judged;
    bool is_over = c->change == CHANGE_OVER;
    s->finding = (struct finding){.judged = judged,
                                  .result = r,
                                  .name = source_place_of_name(r->function),
                                  .mark = MARK_NONE,
                                  .comparison = c};
    if (is_over || c->change == CHANGE_UNDECIDED)
        add_finding(s, is_over ? RULE_GROWN : RULE_GROWN_UNDECIDED, is_over || judged->is_strict);
}

void findings_each(const struct judged *judged, void (*each)(void *context, const struct finding *finding),
                   void *context)
{
    struct listing s = {each, context, {.judged = judged}};
    add_machine(&s);
    add_baseline(&s);
    const struct marks *marks = judged->analysis->options.marks;
    for (uint32_t i = 0; marks && i < marks->count; i++)
        add_mark(&s, i);
    for (size_t i = 0; i < judged->analysis->result_count; i++) {
        const struct function_result *result = &judged->analysis->results[i];
        if (result->budget_words || result->bad_depth.message[0])
            add_function(&s, result);
        if (judged->comparisons)
            add_comparison(&s, result, &judged->comparisons->of[i]);
        if (has_advice(judged, result))
            add_advice(&s, result);
    }
    const struct function_result *whole = &judged->analysis->whole;
    s.finding = (struct finding){.judged = judged, .result = whole, .mark = MARK_NONE};
    add_limit(&s, RULE_JOULES, "max_joules", JOULE_DIMENSION_ENERGY, &whole->judgement.joules,
              &whole->judgement.joules_limit);
}

/* --- messages ------------------------------------------------------------------------------------------- */

static void print_vacuous(const struct finding *f, struct text *out)
{
    bool is_heat = f->dimension == JOULE_DIMENSION_TEMPERATURE && !f->result->budget.is_sustained;
    text_printf(out, "%s of '%s' can never be exceeded: a call takes at most %s%s", f->what,
                f->result->function->name, figure_words(f->figure->max, f->dimension).text,
                is_heat ? "; add 'sustained' to limit calls without a pause" : "");
}

static void print_mark(const struct finding *f, struct text *out)
{
    const struct analysis *a = f->judged->analysis;
    const struct mark *m = &a->options.marks->list[f->mark];
    const struct trips *by = a->mark_is_refuted[f->mark];
    if (m->fault && string_starts(m->words, "loop"))
        text_printf(out, "JOULE_LOOP%s: %s", m->words + strlen("loop"), m->fault);
    else if (m->fault)
        text_printf(out, "#pragma joule %s: %s", m->words, m->fault);
    else if (!by)
        text_printf(
            out,
            "JOULE_LOOP(%lld, %lld) is ignored: it is ambiguous which of several loops it bounds; write each "
            "loop on a line of its own, or move the inner loop to a function that is not inlined",
            (long long)m->low, (long long)m->high);
    else if (by->per_entry.low == by->per_entry.high)
        text_printf(
            out, "JOULE_LOOP(%lld, %lld) is wrong and ignored: the code shows that this loop runs %.0f times",
            (long long)m->low, (long long)m->high, by->per_entry.high);
    else
        text_printf(out,
                    "JOULE_LOOP(%lld, %lld) is wrong and ignored: the code shows that this loop runs %.0f to "
                    "%.0f times",
                    (long long)m->low, (long long)m->high, by->per_entry.low, by->per_entry.high);
}

static void print_stale(const struct cpu_calibration *found, struct text *out)
{
    if (found->state == CALIBRATION_OLD)
        text_printf(out, "%s is %.0f days old; run 'joule calibrate' to replace it", found->path,
                    found->age_days);
    else if (found->state == CALIBRATION_FOREIGN)
        text_printf(out,
                    "%s was measured on another CPU and is ignored; run 'joule calibrate' on this machine",
                    found->path);
    else
        text_add(out, found->error.message);
}

static void print_advice(const struct finding *f, struct text *out)
{
    const struct advice *a = f->advice;
    const struct loop *inner = a->inner < 0 ? NULL : &f->result->loops.list[a->inner];
    const char *name = a->name ? a->name : "its data";
    if (a->kind == ADVICE_LOOP_ORDER)
        text_printf(out, "this loop walks across the rows of %s: interchange it with the loop in line %u",
                    name, inner ? inner->place.line : 0);
    else if (a->kind == ADVICE_STRIDE)
        text_printf(
            out,
            "this loop uses %.0f of each %.0f bytes of %s that it moves: store what it reads contiguously",
            a->used_bytes, f->judged->analysis->target.core.line_bytes, name);
    else if (a->kind == ADVICE_OVERLAP)
        text_printf(out,
                    "the vectorized version of this loop never runs, because the loop writes to memory that "
                    "overlaps %s, which each iteration reads: read its value into a variable before the "
                    "loop, if no iteration changes it",
                    name);
    else if (a->kind == ADVICE_ALLOCATION)
        text_printf(out, "%s and free run %.4g times per call: allocate once before the loop", name,
                    a->times);
    else
        text_printf(out,
                    "%s runs %.4g times per call, and each time adds a constant size: double the size when "
                    "it is full",
                    name, a->times);
    text_printf(out, "; saves about %.0f %% of '%s', %s (modelled)", 100 * a->part, f->result->function->name,
                figure_words(a->joules, JOULE_DIMENSION_ENERGY).text);
}

/* Returns the kind of the limit: "energy", "power" or "temperature". */
static const char *budget_kind(const struct finding *f)
{
    return f->dimension == JOULE_DIMENSION_POWER         ? "power"
           : f->dimension == JOULE_DIMENSION_TEMPERATURE ? "temperature"
                                                         : "energy";
}

void finding_say(const struct finding *finding, struct text *out)
{
    static const char *const texts[] = {[VERDICT_LIKELY] = "is likely to be kept, but not proved,",
                                        [VERDICT_UNDECIDED] = "may or may not be kept",
                                        [VERDICT_LIKELY_VIOLATED] = "is likely to be exceeded",
                                        [VERDICT_VIOLATED] = "is exceeded"};
    const char *name = finding->result->function->name;
    if (finding->advice)
        print_advice(finding, out);
    else if (finding->comparison || finding->rule == RULE_OTHER_BASELINE)
        comparison_say(finding, out);
    else if (finding->mark != MARK_NONE)
        print_mark(finding, out);
    else if (finding->rule == RULE_BAD_MARK)
        text_printf(out, "JOULE_DEPTH(%s) of '%s': %s", finding->result->depth_words, name,
                    finding->result->bad_depth.message);
    else if (finding->rule == RULE_BAD_BUDGET)
        text_printf(out, "budget of '%s', column %zu: %s", name, finding->result->bad_column,
                    finding->result->bad.message);
    else if (finding->rule == RULE_PROFILE)
        text_printf(out,
                    "the profile has no counts for the current version of '%s': record it again with "
                    "--profile-generate",
                    name);
    else if (finding->rule == RULE_VACUOUS)
        print_vacuous(finding, out);
    else if (finding->rule == RULE_STALE)
        print_stale(finding->judged->calibration, out);
    else if (finding->rule == RULE_FOREIGN)
        text_printf(
            out,
            "this code is for %s, but figures are for the core of this machine, %s: no budget is decided",
            finding->judged->analysis->foreign, finding->judged->analysis->target.core.id);
    else if (finding->rule == RULE_LEVEL)
        text_printf(out, "figures are for -O2, but the build uses %s, which takes more: nothing is proved",
                    finding->judged->analysis->options.level);
    else if (finding->rule == RULE_THREADS)
        text_add(out,
                 "OpenMP's threads are counted as one thread that does all the work: joules do not include "
                 "starting and joining threads, seconds are those of the one thread, and nothing is proved");
    else if (finding->rule == RULE_GPU_KERNEL)
        text_printf(out, "'%s' runs on a GPU: its budget is not checked; measure it with joule run", name);
    else if (finding->result == &finding->judged->analysis->whole)
        text_printf(out, "%s budget %s in %s", budget_kind(finding), texts[finding->limit->verdict], name);
    else
        text_printf(out, "%s budget %s in '%s'", budget_kind(finding), texts[finding->limit->verdict], name);
}

bool finding_has_estimate(const struct finding *finding)
{
    return finding->comparison || (finding->limit && finding->rule != RULE_VACUOUS);
}

void finding_budget(const struct finding *finding, struct text *out)
{
    if (finding->comparison) {
        comparison_say_before(finding, out);
        return;
    }
    text_printf(out, "%s = %s", finding->what, figure_words(finding->limit->limit, finding->dimension).text);
}

/* Writes which work has no figure. */
static void print_missing(const struct doubt *doubt, struct text *out)
{
    const char *name = doubt->name ? doubt->name : "";
    if (doubt->kind == DOUBT_POINTER)
        text_add(out, "calls through a pointer");
    else if (doubt->kind == DOUBT_SHAPE || doubt->kind == DOUBT_DEPTH)
        text_add(out, "loops that cannot be counted");
    else if (doubt->kind == DOUBT_RECURSION || doubt->kind == DOUBT_FRAMES)
        text_printf(out, "recursive calls of '%s'", name);
    else
        text_printf(out, doubt->kind == DOUBT_CALL ? "a part of '%s'" : "'%s'", name);
}

/* Writes the first part of the function, or of the file, that has no figure, and whether there are more. */
static void print_all_missing(const struct finding *f, struct text *out)
{
    const struct analysis *a = f->judged->analysis;
    const struct doubt *first = NULL;
    bool is_whole = f->result == &a->whole, has_more = false;
    for (size_t i = 0; i < (is_whole ? a->result_count : 1); i++) {
        const struct function_result *r = is_whole ? &a->results[i] : f->result;
        for (size_t d = 0; d < r->sum.doubt_count; d++) {
            const struct doubt *doubt = &r->sum.doubts[d];
            if (!doubt->is_missing)
                continue;
            has_more = has_more || (first && doubt_order(first, doubt) != 0);
            first = first ? first : doubt;
        }
    }
    if (first)
        print_missing(first, out);
    text_add(out, has_more ? " and more, whose cost is unknown"
                  : first  ? ", whose cost is unknown"
                           : "parts whose cost is unknown");
}

/* Writes which loops have no bound, such as "loops in line 5, 7 and more have no bound". */
static void print_guessed(const struct function_result *r, struct text *out)
{
    size_t count = 0;
    unsigned last = 0;
    for (size_t i = 0; i < r->loops.count; i++) {
        unsigned line = r->loops.list[i].place.line;
        if (r->trips[i].cls != TRIPS_GUESSED || !line || line == last)
            continue;
        if (count < 3)
            text_printf(out, "%s%u", count ? ", " : "loops in line ", line);
        else if (count == 3)
            text_add(out, " and more");
        last = line;
        count++;
    }
    for (size_t d = 0; d < r->sum.doubt_count && !count; d++)
        if (r->sum.doubts[d].kind == DOUBT_LENGTH) {
            text_printf(out, "the bytes that '%s' accesses have no bound", r->sum.doubts[d].name);
            return;
        } else if (r->sum.doubts[d].name) {
            text_printf(out, "loops of '%s'", r->sum.doubts[d].name);
            count++;
        }
    text_add(out, count ? " have no bound" : "some loops have no bound");
}

/* Writes a probability with few digits, because no model is more accurate in its tails. */
static void print_probability(double probability, struct text *out)
{
    if (probability < 0.001)
        text_add(out, ", P(within) < 0.001");
    else if (probability > 0.999)
        text_add(out, ", P(within) > 0.999");
    else
        text_printf(out, probability > 0.99 ? ", P(within) = %.3f" : ", P(within) = %.2g", probability);
}

void finding_estimate(const struct finding *finding, struct text *out)
{
    if (finding->comparison) {
        comparison_say_now(finding, out);
        if (!isnan(finding->comparison->probability))
            print_probability(finding->comparison->probability, out);
        return;
    }
    const struct figure *figure = finding->figure;
    const struct judgement *j = &finding->result->judgement;
    bool has_end = !isnan(figure->high);
    struct words est = figure_words(figure->est, finding->dimension),
                 low = figure_words(figure->low, finding->dimension),
                 high = figure_words(figure->high, finding->dimension);
    const char *cls = joule_class_name(finding->judged->analysis->target.table.cls);
    if (j->basis == BASIS_MISSING) {
        text_printf(out, isnan(figure->low) ? "%s; %s without " : "at least %s; %s without ", low.text,
                    est.text);
        print_all_missing(finding, out);
        text_printf(out, "  (%s)", cls);
    } else if (j->is_vague && !has_end) {
        text_printf(out, "unknown, at least %s: ", low.text);
        print_guessed(finding->result, out);
        text_printf(out, "  (%s)", cls);
    } else if (!has_end) {
        text_printf(out, "%s as a guess, at least %s: ", est.text, low.text);
        print_guessed(finding->result, out);
        text_printf(out, "  (%s)", cls);
    } else {
        text_printf(out, "%s  (%s to %s, 90 %%, %s)", est.text, low.text, high.text, cls);
    }
    text_printf(out, ", quality %c", j->quality);
    if (!isnan(finding->limit->probability))
        print_probability(finding->limit->probability, out);
}

void finding_table(const struct judged *judged, struct text *out)
{
    const struct target *target = &judged->analysis->target;
    const struct cpu_calibration *found = judged->calibration;
    bool is_calibrated = found && cpu_calibration_is_used(found);
    char date[16];
    text_add(out, target->table.id);
    if (is_calibrated && target->table.cls != JOULE_CLASS_ASSUMED) {
        text_printf(out, ": measured on this machine, error %.0f %%",
                    100 * expm1(found->calibration.prices.log_sd));
    } else if (is_calibrated) {
        cost_calibration_date(&found->calibration, date);
        text_printf(out,
                    ": joules of its CPU family, because there is no energy sensor; times were measured here "
                    "on %s [JW0101]",
                    date);
    } else {
        text_add(out, ": figures of its CPU family; run 'joule calibrate' to measure this machine [JW0101]");
    }
}
