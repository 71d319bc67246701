/* joulec/verdict/findings.c - see findings.h. */
#include "joulec/verdict/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joulec/source/source.h"
#include "joulec/trips/figure_words.h"

#define MOST_NOTES_OF_FILE 10

/* --- findings ----------------------------------------------------------------------------------------------- */

static bool is_error(const struct judged *judged, enum verdict verdict)
{
    return verdict >= VERDICT_LIKELY_VIOLATED || (judged->is_strict && verdict > VERDICT_PROVED);
}

struct seeing {
    void (*each)(void *context, const struct finding *finding);
    void *context;
    struct finding finding;
};

static void see(struct seeing *s, enum rule rule, bool is_error)
{
    s->finding.rule = rule;
    s->finding.is_error = is_error;
    s->each(s->context, &s->finding);
}

static void set_limit(struct seeing *s, const char *what, joule_dimension dimension,
                      const struct figure *figure, const struct limit *limit)
{
    s->finding.what = what;
    s->finding.dimension = dimension;
    s->finding.figure = figure;
    s->finding.limit = limit;
}

static void see_vacuous(struct seeing *s, const char *what, joule_dimension dimension,
                        const struct figure *figure, const struct limit *limit)
{
    set_limit(s, what, dimension, figure, limit);
    if (limit->is_vacuous)
        see(s, RULE_VACUOUS, false);
}

static void see_limit(struct seeing *s, enum rule rule, const char *what, joule_dimension dimension,
                      const struct figure *figure, const struct limit *limit)
{
    bool fails = is_error(s->finding.judged, limit->verdict);
    set_limit(s, what, dimension, figure, limit);
    if (limit->verdict != VERDICT_NONE && (limit->verdict > VERDICT_LIKELY || fails))
        see(s, limit->verdict == VERDICT_UNDECIDED ? RULE_UNDECIDED : rule, fails);
}

/* A GPU's budget: under strict it is not proved, as any other. */
static void see_gpu_kernel(struct seeing *s, const struct function_result *r)
{
    const struct judgement *j = &r->judgement;
    if (j->worst == VERDICT_NONE)
        return;
    s->finding.is_note = !s->finding.judged->is_strict;
    see(s, RULE_GPU_KERNEL, s->finding.judged->is_strict);
}

static void see_advice(struct seeing *s, const struct function_result *r)
{
    for (size_t i = 0; i < r->advice_count && !r->is_gpu_kernel; i++) {
        s->finding = (struct finding){.judged = s->finding.judged,
                                      .result = r,
                                      .is_note = true,
                                      .name = r->advice[i].place.file ? r->advice[i].place
                                                                      : source_place_of_name(r->function),
                                      .mark = MARK_NONE,
                                      .advice = &r->advice[i]};
        see(s, RULE_LOOP_ORDER + r->advice[i].kind, false);
    }
}

static void see_function(struct seeing *s, const struct function_result *r)
{
    const struct judgement *j = &r->judgement;
    s->finding = (struct finding){.judged = s->finding.judged,
                                  .result = r,
                                  .name = source_place_of_name(r->function),
                                  .mark = MARK_NONE};
    const struct profile *profile = s->finding.judged->analysis->options.profile;
    if (r->bad_depth.message[0])
        see(s, RULE_BAD_MARK, true);
    if (r->bad_column)
        see(s, RULE_BAD_BUDGET, true);
    if (r->is_gpu_kernel) {
        see_gpu_kernel(s, r);
        return;
    }
    if (profile && !profile_has(profile, r->function->name))
        see(s, RULE_PROFILE, false);
    see_vacuous(s, "max_joules", JOULE_DIMENSION_ENERGY, &j->joules, &j->joules_limit);
    see_vacuous(s, "max_watts", JOULE_DIMENSION_POWER, &j->watts, &j->watts_limit);
    see_vacuous(s, "max_temp_delta", JOULE_DIMENSION_TEMPERATURE, &j->kelvin, &j->kelvin_limit);
    see_limit(s, RULE_JOULES, "max_joules", JOULE_DIMENSION_ENERGY, &j->joules, &j->joules_limit);
    see_limit(s, RULE_WATTS, "max_watts", JOULE_DIMENSION_POWER, &j->watts, &j->watts_limit);
    see_limit(s, RULE_TEMPERATURE, "max_temp_delta", JOULE_DIMENSION_TEMPERATURE, &j->kelvin,
              &j->kelvin_limit);
}

/* One message for each mark is enough. */
static void see_mark(struct seeing *s, uint32_t mark)
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
    see(s, m->fault ? RULE_BAD_MARK : RULE_UNUSED_MARK, m->fault != NULL);
}

/* Of the whole file, where anything in it is judged. */
static void see_stale(struct seeing *s)
{
    const struct analysis *a = s->finding.judged->analysis;
    const struct cpu_calibration *found = s->finding.judged->calibration;
    bool is_judged = !isnan(a->options.file_joules);
    for (size_t i = 0; i < a->result_count; i++)
        is_judged |= a->results[i].budget_words != NULL;
    if (!is_judged || !found || found->state == CALIBRATION_NONE || found->state == CALIBRATION_GOOD)
        return;
    s->finding = (struct finding){.judged = s->finding.judged, .result = &a->whole, .mark = MARK_NONE};
    see(s, RULE_STALE, false);
}

void findings_each(const struct judged *judged, void (*each)(void *context, const struct finding *finding),
                   void *context)
{
    struct seeing s = {each, context, {.judged = judged}};
    see_stale(&s);
    const struct marks *marks = judged->analysis->options.marks;
    for (uint32_t i = 0; marks && i < marks->count; i++)
        see_mark(&s, i);
    for (size_t i = 0; i < judged->analysis->result_count; i++) {
        const struct function_result *result = &judged->analysis->results[i];
        if (result->budget_words || result->bad_depth.message[0])
            see_function(&s, result);
        if (result->budget_words || judged->advises_all)
            see_advice(&s, result);
    }
    const struct function_result *whole = &judged->analysis->whole;
    s.finding = (struct finding){.judged = judged, .result = whole, .mark = MARK_NONE};
    see_limit(&s, RULE_JOULES, "max_joules", JOULE_DIMENSION_ENERGY, &whole->judgement.joules,
              &whole->judgement.joules_limit);
}

/* --- words -------------------------------------------------------------------------------------------------- */

static void say_vacuous(const struct finding *f, struct text *out)
{
    bool is_heat = f->dimension == JOULE_DIMENSION_TEMPERATURE && !f->result->budget.is_sustained;
    text_printf(out, "%s of '%s' can never be exceeded: a call takes %s at most%s", f->what,
                f->result->function->name, figure_words(f->figure->most, f->dimension).text,
                is_heat ? "; add 'sustained' for calls without a pause" : "");
}

static void say_mark(const struct finding *f, struct text *out)
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
            "JOULE_LOOP(%lld, %lld) is not used: one of several loops in this line is meant; give each "
            "a line of its own",
            (long long)m->low, (long long)m->high);
    else if (by->per_entry.low == by->per_entry.high)
        text_printf(
            out,
            "JOULE_LOOP(%lld, %lld) is wrong: this loop runs %.0f times, as its code shows; that is used",
            (long long)m->low, (long long)m->high, by->per_entry.high);
    else
        text_printf(
            out,
            "JOULE_LOOP(%lld, %lld) is wrong: this loop runs %.0f to %.0f times, as its code shows; that is "
            "used",
            (long long)m->low, (long long)m->high, by->per_entry.low, by->per_entry.high);
}

static void say_stale(const struct cpu_calibration *found, struct text *out)
{
    if (found->state == CALIBRATION_OLD)
        text_printf(out, "%s is %.0f days old; 'joule calibrate' makes it anew", found->path,
                    found->age_days);
    else if (found->state == CALIBRATION_FOREIGN)
        text_printf(out, "%s is of another CPU and not used; 'joule calibrate' makes one of this",
                    found->path);
    else
        text_add(out, found->error.message);
}

static void say_advice(const struct finding *f, struct text *out)
{
    const struct advice *a = f->advice;
    const struct loop *inner = a->inner < 0 ? NULL : &f->result->loops.list[a->inner];
    const char *name = a->name ? a->name : "its data";
    if (a->kind == ADVICE_LOOP_ORDER)
        text_printf(out,
                    "this loop walks across the rows of %s: let it and the loop in line %u change places",
                    name, inner ? inner->place.line : 0);
    else if (a->kind == ADVICE_STRIDE)
        text_printf(
            out,
            "this loop uses %.0f of each %.0f bytes of %s that it moves: keep what it reads side by side",
            a->used_bytes, f->judged->analysis->target.core.line_bytes, name);
    else if (a->kind == ADVICE_OVERLAP)
        text_printf(out,
                    "the vectors that clang made of this loop are never used, since it writes where each "
                    "round reads %s: read that into a variable before the loop, if no round changes it",
                    name);
    else if (a->kind == ADVICE_ALLOCATION)
        text_printf(out, "%s and free run %.4g times in a call: allocate once before the loop", name,
                    a->times);
    else
        text_printf(
            out, "%s runs %.4g times in a call, each time for a little more: double the size when it is full",
            name, a->times);
    text_printf(out, "; saves about %.0f %% of '%s', %s (modelled)", 100 * a->part, f->result->function->name,
                figure_words(a->joules, JOULE_DIMENSION_ENERGY).text);
}

void finding_say(const struct finding *finding, struct text *out)
{
    static const char *const said[] = {[VERDICT_LIKELY] = "is likely to be kept, which is not proved,",
                                       [VERDICT_UNDECIDED] = "may or may not be kept",
                                       [VERDICT_LIKELY_VIOLATED] = "is likely to be exceeded",
                                       [VERDICT_VIOLATED] = "is exceeded"};
    const char *name = finding->result->function->name;
    if (finding->advice)
        say_advice(finding, out);
    else if (finding->mark != MARK_NONE)
        say_mark(finding, out);
    else if (finding->rule == RULE_BAD_MARK)
        text_printf(out, "JOULE_DEPTH(%s) of '%s': %s", finding->result->depth_words, name,
                    finding->result->bad_depth.message);
    else if (finding->rule == RULE_BAD_BUDGET)
        text_printf(out, "budget of '%s', column %zu: %s", name, finding->result->bad_column,
                    finding->result->bad.message);
    else if (finding->rule == RULE_PROFILE)
        text_printf(out, "the profile has no counts of '%s' as it is now: make it anew by --profile-generate",
                    name);
    else if (finding->rule == RULE_VACUOUS)
        say_vacuous(finding, out);
    else if (finding->rule == RULE_STALE)
        say_stale(finding->judged->calibration, out);
    else if (finding->rule == RULE_GPU_KERNEL)
        text_printf(out, "'%s' runs on a GPU: its budget is not judged here, joule run measures it", name);
    else if (finding->result == &finding->judged->analysis->whole)
        text_printf(out, "energy budget %s in %s", said[finding->limit->verdict], name);
    else
        text_printf(out, "energy budget %s in '%s'", said[finding->limit->verdict], name);
}

bool finding_has_estimate(const struct finding *finding)
{
    return finding->limit && finding->rule != RULE_VACUOUS;
}

void finding_budget(const struct finding *finding, struct text *out)
{
    text_printf(out, "%s = %s", finding->what, figure_words(finding->limit->limit, finding->dimension).text);
}

void finding_estimate(const struct finding *finding, struct text *out)
{
    const struct figure *figure = finding->figure;
    text_printf(out, "%s  (%s to %s, 90 %%, %s), quality %c, P(within) = %.2g",
                figure_words(figure->est, finding->dimension).text,
                figure_words(figure->low, finding->dimension).text,
                figure_words(figure->high, finding->dimension).text,
                joule_class_name(finding->judged->analysis->target.table.cls),
                finding->result->judgement.quality, finding->limit->probability);
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
                    ": joules are its family's, no sensor was there; times were measured here on %s [JW0101]",
                    date);
    } else {
        text_add(out, ": figures of its family, nothing was measured here; 'joule calibrate' does [JW0101]");
    }
    if (judged->simulator_cpu)
        text_printf(out, "; loops simulated by llvm-mca %u (%s)", judged->simulator_version,
                    judged->simulator_cpu);
}

/* --- what is behind a figure -------------------------------------------------------------------------------- */

struct share {
    const char *name;
    double part;
};

static int by_part(const void *a, const void *b)
{
    double left = ((const struct share *)a)->part, right = ((const struct share *)b)->part;
    return (left < right) - (left > right);
}

/* The two greatest of a tenth and more: ": DRAM lines 61 %, core cycles 31 %". */
static void add_shares(const struct finding *f, size_t loop, char *words, size_t size)
{
    struct cost_features work;
    struct cost cost = analysis_loop_cost(f->judged->analysis, f->result, loop, &work);
    const struct estimate *part = cost.part;
    double operations = cost.part[COST_MISPREDICTS].value, total = cost.total.value;
    for (int i = COST_UOPS; i <= COST_BRANCHES; i++)
        operations += part[i].value;
    struct share shares[] = {{"core cycles", part[COST_CYCLES].value},
                             {"idle package", part[COST_PACKAGE_SECONDS].value},
                             {"operations", operations},
                             {"L2 lines", part[COST_L2_LINES].value},
                             {"L3 lines", part[COST_L3_LINES].value},
                             {"DRAM lines", part[COST_DRAM_LINES].value}};
    qsort(shares, sizeof shares / sizeof *shares, sizeof *shares, by_part);
    for (int i = 0; i < 2 && shares[i].part >= 0.1 * total; i++) {
        size_t length = strlen(words);
        string_print(words + length, size - length, "%s%s %.0f %%", i ? ", " : ": ", shares[i].name,
                     100 * shares[i].part / total);
    }
}

static bool note_largest_function(const struct finding *f, struct note *out)
{
    double part;
    const struct function_result *largest = analysis_largest_function(f->judged->analysis, &part);
    if (!largest)
        return false;
    *out = (struct note){.place = source_place_of_name(largest->function), .is_line = true};
    string_print(out->words, sizeof out->words, "%.0f %% of it in a call of '%s'", 100 * fmin(part, 1),
                 largest->function->name);
    return true;
}

/* What the build makes of it. */
static void add_build(const struct loop *loop, char *words, size_t size)
{
    size_t length = strlen(words);
    if (loop->is_unjoined)
        string_print(words + length, size - length, "; not joined: nobody knows what the build makes of it");
    else if (loop->wide && loop->wide->at_once > 1)
        string_print(words + length, size - length, "; %.0f rounds at once", loop->wide->at_once);
}

static bool note_largest(const struct finding *f, struct note *out)
{
    double part;
    if (f->result == &f->judged->analysis->whole)
        return note_largest_function(f, out);
    int32_t largest = analysis_largest_loop(f->judged->analysis, f->result, &part);
    if (largest < 0 || part < 0.1)
        return false;
    const struct trips *trips = &f->result->trips[largest];
    *out = (struct note){.place = f->result->loops.list[largest].place, .is_line = true};
    string_print(out->words, sizeof out->words, "%.0f %% of it in this loop, %.4g times round in a call (%s)",
                 100 * fmin(part, 1), f->result->sum.runs[largest].rounds,
                 trips_class_name(trips->total_cls));
    add_shares(f, (size_t)largest, out->words, sizeof out->words);
    add_build(&f->result->loops.list[largest], out->words, sizeof out->words);
    return true;
}

static bool note_guess(const struct function_result *r, size_t loop, struct note *out)
{
    const struct trips *trips = &r->trips[loop];
    if (trips->cls != TRIPS_GUESSED)
        return false;
    if (!r->loops.list[loop].has_own_place) {
        *out = (struct note){.place = r->loops.list[loop].place, .is_line = true};
        string_print(out->words, sizeof out->words,
                     "nothing bounds this loop, taken to run %.0f times; LLVM does not say which it is, so "
                     "no JOULE_LOOP "
                     "reaches it: write JOULE_ASSUME(n <= ...) before it, or JOULE_DEPTH(n) before '%s' if "
                     "that calls itself",
                     trips->per_entry.est, r->function->name);
        return true;
    }
    const char *parameter = r->words[loop].parameter, *formula = r->words[loop].formula;
    *out = (struct note){.place = r->loops.list[loop].place, .is_line = true};
    if (!parameter)
        string_print(out->words, sizeof out->words,
                     "nothing bounds this loop, taken to run %.0f times: write JOULE_LOOP(min, max) or "
                     "JOULE_ASSUME(n <= ...) before it",
                     trips->per_entry.est);
    else
        string_print(out->words, sizeof out->words,
                     "nothing bounds this loop, taken to run %.0f times; it runs as '%s' says%s%s%s: "
                     "write JOULE_ASSUME(%s <= 1000) before it, or what it is at most",
                     trips->per_entry.est, parameter, formula ? " (" : "", formula ? formula : "",
                     formula ? " times)" : "", parameter);
    return true;
}

/* Which argument of a callee has to be bounded, where it is one. */
static void note_call(const struct finding *f, const struct doubt *doubt, struct note *out)
{
    const struct analysis *a = f->judged->analysis;
    const struct function_result *callee = NULL;
    for (size_t i = 0; i < a->result_count && !callee; i++)
        if (strcmp(a->results[i].function->name, doubt->name) == 0)
            callee = &a->results[i];
    string_print(out->words, sizeof out->words, "'%s' leaves open what it takes when it is called here",
                 doubt->name);
    for (size_t i = 0; callee && i < callee->loops.count; i++)
        if (callee->trips[i].cls == TRIPS_GUESSED && callee->words[i].parameter) {
            string_print(out->words, sizeof out->words,
                         "'%s' leaves open what it takes when it is called here: its loop in line %u runs by "
                         "'%s'; pass a number, or bound it: JOULE_ASSUME(... <= 1000) before the call",
                         doubt->name, callee->loops.list[i].place.line, callee->words[i].parameter);
            return;
        }
}

static void note_doubt(const struct finding *f, const struct doubt *doubt, struct note *out)
{
    *out = (struct note){.place = doubt->place};
    switch (doubt->kind) {
    case DOUBT_CALLEE:
        string_print(out->words, sizeof out->words, "nobody knows what '%s' takes: it has no body here",
                     doubt->name);
        break;
    case DOUBT_POINTER:
        string_print(out->words, sizeof out->words,
                     "nobody knows all that may be called through this pointer");
        break;
    case DOUBT_DEVICE:
        string_print(out->words, sizeof out->words, "'%s' runs on a GPU, which is not judged here",
                     doubt->name);
        break;
    case DOUBT_RECURSION:
        string_print(out->words, sizeof out->words,
                     "'%s' calls itself in the end, nobody knows how often: write JOULE_DEPTH(n) before it",
                     doubt->name);
        break;
    case DOUBT_FRAMES:
        string_print(out->words, sizeof out->words,
                     "'%s' calls itself more than once, which is too often at this JOULE_DEPTH: it needs a "
                     "smaller one, or fewer calls of itself",
                     doubt->name);
        break;
    case DOUBT_CALL:
        note_call(f, doubt, out);
        break;
    case DOUBT_DEPTH:
        string_print(out->words, sizeof out->words,
                     "loops of this function are nested more than %d deep: inner ones are not counted",
                     LOOPS_MOST_DEPTH);
        break;
    default:
        string_print(out->words, sizeof out->words,
                     "a jump leads into the middle of a loop of this function");
    }
}

/* What is open in a function itself, up to *left of it. */
static void note_open(const struct finding *f, const struct function_result *r, size_t *left,
                      void (*each)(void *context, const struct note *note), void *context)
{
    struct note note;
    for (size_t i = 0; i < r->loops.count && *left; i++)
        if (note_guess(r, i, &note)) {
            each(context, &note);
            --*left;
        }
    for (size_t i = 0; i < r->sum.doubt_count && *left; i++, --*left) {
        note_doubt(f, &r->sum.doubts[i], &note);
        each(context, &note);
    }
}

void finding_notes(const struct finding *finding, void (*each)(void *context, const struct note *note),
                   void *context)
{
    const struct analysis *a = finding->judged->analysis;
    struct note note;
    size_t left = SIZE_MAX;
    if (!finding_has_estimate(finding))
        return;
    if (note_largest(finding, &note))
        each(context, &note);
    if (finding->rule != RULE_UNDECIDED)
        return;
    if (finding->result != &a->whole) {
        note_open(finding, finding->result, &left, each, context);
        return;
    }
    left = MOST_NOTES_OF_FILE;
    for (size_t i = 0; i < a->result_count; i++)
        note_open(finding, &a->results[i], &left, each, context);
}
