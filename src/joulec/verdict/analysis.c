/* joulec/verdict/analysis.c - see analysis.h. */
#include "joulec/verdict/analysis.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "joulec/module/annotation.h"
#include "joulec/source/constant.h"
#include "joulec/trips/loop_entry.h"
#include "joulec/work/parameters.h"

#define MAX_WARMER_KELVIN 100 /* maximum rise of temperature; a warmer chip would shut down */

/* State of one analysis. */
struct walk {
    struct analysis *analysis;
    struct evaluator evaluator;
    struct groups groups;
    bool *is_counted; /* for each group: true if its number of frames is known */
};

static void read_depth(struct function_result *result)
{
    int64_t depth;
    size_t end;
    const char *words = annotation_of(result->function, ANNOTATION_DEPTH);
    result->depth_words = words;
    if (!words || constant_read(words, strlen(words), &depth, &end, &result->bad_depth) != JOULE_OK)
        return;
    if (words[end] || depth < 1 || depth > RECURSION_MAX_DEPTH)
        error_set(&result->bad_depth, JOULE_INVALID, "expected a number from 1 to %d", RECURSION_MAX_DEPTH);
    else
        result->depth = (double)depth;
}

static void read_budget(struct function_result *result)
{
    const char *other = annotation_other(result->function, ANNOTATION_BUDGET);
    result->budget_words = annotation_of(result->function, ANNOTATION_BUDGET);
    if (!result->budget_words || budget_text_parse(result->budget_words, &result->budget, &result->bad_column,
                                                   &result->bad) == JOULE_OK)
        result->bad_column = 0;
    if (!other || result->bad_column)
        return;
    result->bad_column = 1;
    error_set(&result->bad, JOULE_INVALID, "another declaration has \"%s\"; write the same budget in both",
              other);
}

static void read_annotations(struct function_result *result)
{
    const struct function *f = result->function;
    read_depth(result);
    result->is_gpu_kernel = annotation_of(f, ANNOTATION_GPU_KERNEL);
    result->is_thermal_aware = annotation_of(f, ANNOTATION_THERMAL_AWARE);
    read_budget(result);
}

static void take_marks(struct analysis *a, struct function_result *result, struct trips_loop *nest)
{
    const struct marks *marks = a->options.marks;
    if (!marks)
        return;
    marks_join(marks, &result->loops, result->marks, a->mark_is_unclear);
    loop_entry_annotate(result->function, &result->loops, marks->list, result->marks, nest);
}

static void set_refuted(struct analysis *a, const struct function_result *result)
{
    for (size_t i = 0; i < result->loops.count && a->options.marks; i++)
        if (result->marks[i] != MARK_NONE && result->trips[i].refutes_annotation)
            a->mark_is_refuted[result->marks[i]] = &result->trips[i];
}

struct target analysis_target(const struct analysis *analysis, const struct function_result *result)
{
    struct target target = analysis->target;
    if (result->warmer_kelvin != 0)
        cost_table_warm(&target.table, result->warmer_kelvin);
    return target;
}

/* Returns the rise of temperature, in K, that calls without a pause cause. The power depends on the
 * temperature because of leakage, so the computation is iterative. */
static double find_self_heating(const struct analysis *a, struct function_result *result)
{
    double kelvin = 0, cycles = result->sum.call.of[BOUND_EST].amount[COST_CYCLES];
    for (int round = 0; round < 16; round++) {
        result->warmer_kelvin = kelvin;
        struct target target = analysis_target(a, result);
        double joules = amounts_joules(&target, &result->sum.call, BOUND_EST);
        double watts = cycles > 0 ? joules * target.core.hz / cycles : 0;
        struct estimate power = estimate_make(watts, target.table.cls, 0, CAUSE_NONE, 0);
        double next = fmin(cost_cooling_rise(&a->cooling, &power, INFINITY).value, MAX_WARMER_KELVIN);
        if (isnan(next) || fabs(next - kelvin) < 0.01)
            break;
        kelvin = next;
    }
    return kelvin;
}

/* Weakens the judgement if the user's build differs from the count build. */
static void judge_as_built(const struct analysis *a, struct judgement *judgement)
{
    if (a->foreign)
        judge_elsewhere(judgement);
    if (a->options.level || a->options.merges_threads)
        judge_at_least(judgement);
}

static void judge_function(const struct analysis *a, struct function_result *result)
{
    bool has_budget = result->budget_words && !result->bad_column;
    const struct budget_text *budget = has_budget ? &result->budget : NULL;
    if (result->is_gpu_kernel) {
        judge_unknown(budget, &result->judgement);
        return;
    }
    if (!isnan(a->options.warmer_kelvin))
        result->warmer_kelvin = a->options.warmer_kelvin;
    else if (result->is_thermal_aware)
        result->warmer_kelvin = find_self_heating(a, result);
    struct target target = analysis_target(a, result);
    judge(&target, &result->sum, &a->cooling, budget, &result->judgement);
    judge_as_built(a, &result->judgement);
}

static joule_status evaluate_one(struct walk *w, size_t index, bool calls_itself)
{
    struct analysis *a = w->analysis;
    struct function_result *result = &a->results[index];
    struct evaluated *evaluated = &w->evaluator.functions[index];
    joule_status status = evaluate_prepare(&w->evaluator, index);
    result->marks = arena_alloc(&a->arena, (evaluated->loops.count + 1) * sizeof *result->marks);
    if (status != JOULE_OK || !result->marks)
        return JOULE_NO_MEMORY;
    result->loops = evaluated->loops;
    take_marks(a, result, evaluated->nest);
    if (a->options.profile)
        profile_join(a->options.profile, result->function, calls_itself, &result->loops, evaluated->nest);
    status = evaluate(&w->evaluator, index);
    if (status != JOULE_OK)
        return status;
    result->trips = evaluated->trips;
    result->words = evaluated->words;
    result->advice = evaluated->advice;
    result->advice_count = evaluated->advice_count;
    set_refuted(a, result);
    return JOULE_OK;
}

/* How the members of a recursive group call each other. */
enum calls { CALLS_NONE, CALLS_BY_NAME, CALLS_BY_POINTER };

/* Returns how the members of a recursive group call each other. Calls through a pointer cannot be counted. */
static enum calls calls_of_group(const struct walk *w, const uint32_t *members, size_t count)
{
    uint32_t group = w->groups.group_of[members[0]];
    enum calls how = CALLS_NONE;
    for (size_t m = 0; m < count; m++) {
        const struct function *f = w->analysis->results[members[m]].function;
        for (size_t b = 0; b < f->block_count; b++)
            for (size_t c = 0; c < f->blocks[b].call_count; c++) {
                const struct call *call = &f->blocks[b].calls[c];
                if (how != CALLS_BY_POINTER && groups_is_call_of(&w->groups, group, call))
                    how = call->callee >= 0 ? CALLS_BY_NAME : CALLS_BY_POINTER;
            }
    }
    return how;
}

/* Known numbers of frames of a recursive group. */
struct known_group {
    double *depth;    /* JOULE_DEPTH of each member; 0: none */
    double *profiled; /* number of frames of each member in the profile */
    bool has_depth;   /* JOULE_DEPTH bounds the group */
    bool is_profiled; /* the profile contains all members */
};

/* Reads the number of frames of each member from the profile. Returns false if there is no profile, or if it
 * contains no frames of a member. */
static bool read_profiled_frames(const struct analysis *a, const uint32_t *members, size_t count,
                                 double *out_profiled)
{
    const struct profile *profile = a->options.profile;
    for (size_t m = 0; m < count && profile; m++) {
        const struct profile_function *f = profile_find(profile, a->results[members[m]].function->name);
        if (!f || f->frames <= 0)
            return false;
        out_profiled[m] = f->frames;
    }
    return profile;
}

/* Finds the number of frames of a group whose members call each other by name. Returns false if the number is
 * unknown. */
static bool find_group_frames(const struct walk *w, uint32_t group, const uint32_t *members, size_t count,
                              struct known_group *out)
{
    const struct analysis *a = w->analysis;
    struct arena scratch = {0};
    struct recursion recursion = {.depth = out->depth, .member_count = count};
    bool has_any = false;
    for (size_t m = 0; m < count; m++) {
        out->depth[m] = a->results[members[m]].depth;
        has_any = has_any || out->depth[m] > 0;
    }
    out->is_profiled = read_profiled_frames(a, members, count, out->profiled);
    recursion.calls = has_any ? groups_list_calls(&scratch, &w->groups, group, &recursion.call_count) : NULL;
    out->has_depth = recursion.calls && recursion_is_bounded(&scratch, &recursion);
    arena_free(&scratch);
    return out->has_depth || out->is_profiled;
}

static joule_status sum_group(struct walk *w, uint32_t group)
{
    struct analysis *a = w->analysis;
    const uint32_t *members = w->groups.members + w->groups.begin[group];
    size_t count = w->groups.begin[group + 1] - w->groups.begin[group];
    struct known_group known = {arena_alloc(&a->arena, count * sizeof(double)),
                                arena_alloc(&a->arena, count * sizeof(double))};
    if (!known.depth || !known.profiled)
        return JOULE_NO_MEMORY;
    enum calls calls = calls_of_group(w, members, count);
    w->is_counted[group] = calls == CALLS_BY_NAME && find_group_frames(w, group, members, count, &known);
    joule_status status = JOULE_OK;
    for (size_t m = 0; m < count && status == JOULE_OK; m++)
        status = evaluate_one(w, members[m], calls != CALLS_NONE);
    if (status == JOULE_OK && w->is_counted[group])
        status = evaluate_group(&w->evaluator, members, count, known.has_depth ? known.depth : NULL,
                                known.is_profiled ? known.profiled : NULL);
    for (size_t m = 0; m < count && status == JOULE_OK; m++) {
        struct function_result *result = &a->results[members[m]];
        result->sum = w->evaluator.functions[members[m]].sum;
        memcpy(result->frames, w->evaluator.functions[members[m]].frames, sizeof result->frames);
        if (calls != CALLS_NONE && !w->is_counted[group])
            result->frames[BOUND_HIGH] = INFINITY;
        judge_function(a, result);
    }
    return status;
}

/* Evaluates all functions, callees before callers. */
static joule_status sum_all(struct walk *w)
{
    struct analysis *a = w->analysis;
    for (size_t i = 0; i < a->result_count; i++)
        read_annotations(&a->results[i]);
    joule_status status = groups_find(&a->arena, w->evaluator.module, &w->groups);
    w->is_counted = arena_alloc(&a->arena, w->groups.count + 1);
    if (!w->is_counted)
        return JOULE_NO_MEMORY;
    w->evaluator.groups = &w->groups;
    w->evaluator.is_counted = w->is_counted;
    if (status == JOULE_OK)
        status = parameters_from_calls(&w->evaluator);
    for (uint32_t g = 0; g < w->groups.count && status == JOULE_OK; g++)
        status = sum_group(w, g);
    return status;
}

/* Returns the index of the function f->inlined[which], which was inlined into f. */
static size_t inlined_at(const struct analysis *a, const struct function *f, size_t which)
{
    return (size_t)(f->inlined[which] - a->results[0].function);
}

static void reach(size_t function, bool *is_reached, size_t *stack, size_t *depth)
{
    if (is_reached[function])
        return;
    is_reached[function] = true;
    stack[(*depth)++] = function;
}

/* Marks all functions that `root` calls, directly or indirectly. stack: scratch, one entry for each
 * function. */
static void reach_from(const struct analysis *a, size_t root, bool *is_reached, size_t *stack)
{
    size_t depth = 0;
    reach(root, is_reached, stack, &depth);
    while (depth) {
        const struct function *f = a->results[stack[--depth]].function;
        for (size_t b = 0; b < f->block_count; b++)
            for (size_t c = 0; c < f->blocks[b].call_count; c++) {
                const int32_t *targets;
                for (size_t t = call_targets(&f->blocks[b].calls[c], &targets); t-- > 0;)
                    reach((size_t)targets[t], is_reached, stack, &depth);
            }
        for (size_t i = 0; i < f->inlined_count; i++)
            reach(inlined_at(a, f, i), is_reached, stack, &depth);
    }
}

static void find_called(const struct analysis *a, bool *is_called)
{
    for (size_t i = 0; i < a->result_count; i++) {
        const struct function *f = a->results[i].function;
        for (size_t b = 0; b < f->block_count; b++)
            for (size_t c = 0; c < f->blocks[b].call_count; c++) {
                const int32_t *targets;
                for (size_t t = call_targets(&f->blocks[b].calls[c], &targets); t-- > 0;)
                    if (targets[t] != (int32_t)i)
                        is_called[targets[t]] = true;
            }
        for (size_t k = 0; k < f->inlined_count; k++)
            if (inlined_at(a, f, k) != i)
                is_called[inlined_at(a, f, k)] = true;
    }
}

/* Finds the roots. All functions that no other function calls are roots. In addition, one member of each
 * recursive group that no other root reaches is a root. */
static joule_status find_roots(struct analysis *a)
{
    size_t count = a->result_count + 1;
    bool *is_called = arena_alloc(&a->arena, count * sizeof *is_called);
    bool *is_reached = arena_alloc(&a->arena, count * sizeof *is_reached);
    size_t *stack = arena_alloc(&a->arena, count * sizeof *stack);
    if (!is_called || !is_reached || !stack)
        return JOULE_NO_MEMORY;
    find_called(a, is_called);
    for (int takes_called = 0; takes_called < 2; takes_called++)
        for (size_t i = 0; i < a->result_count; i++)
            if (!is_reached[i] && is_called[i] == takes_called) {
                a->results[i].is_root = true;
                reach_from(a, i, is_reached, stack);
            }
    return JOULE_OK;
}

static void judge_whole(struct analysis *a)
{
    static const double once[BOUNDS] = {1, 1, 1};
    struct function_result *whole = &a->whole;
    for (int b = 0; b < BOUNDS; b++)
        whole->sum.call.of[b].version = COST_VERSION;
    for (size_t i = 0; i < a->result_count; i++) {
        const struct function_result *r = &a->results[i];
        if (!r->is_root)
            continue;
        amounts_add(&whole->sum.call, once, &r->sum.call);
        whole->sum.is_variable = whole->sum.is_variable || r->sum.is_variable;
        whole->sum.has_guess = whole->sum.has_guess || r->sum.has_guess;
        if (r->sum.basis > whole->sum.basis)
            whole->sum.basis = r->sum.basis;
    }
    whole->warmer_kelvin = isnan(a->options.warmer_kelvin) ? 0 : a->options.warmer_kelvin;
    whole->budget = (struct budget_text){a->options.file_joules, NAN, NAN, false, false};
    struct target target = analysis_target(a, whole);
    judge(&target, &whole->sum, &a->cooling, &whole->budget, &whole->judgement);
    judge_as_built(a, &whole->judgement);
}

static bool alloc_marks(struct analysis *a)
{
    size_t count = (a->options.marks ? a->options.marks->count : 0) + 1;
    a->mark_is_unclear = arena_alloc(&a->arena, count * sizeof *a->mark_is_unclear);
    a->mark_is_refuted = arena_alloc(&a->arena, count * sizeof *a->mark_is_refuted);
    return a->mark_is_unclear && a->mark_is_refuted;
}

joule_status analysis_make(const struct module *module, const struct cost_cpu *cpu,
                           const struct target *target, const struct analysis_options *options,
                           struct analysis *out_analysis, joule_error *out_error)
{
    struct analysis *a = out_analysis;
    *a = (struct analysis){.options = *options, .result_count = module->function_count};
    if (module->bodiless)
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "cannot check '%s': 'extern inline' leaves its body to another file; write 'static "
                         "inline', or 'inline' alone",
                         module->bodiless);
    a->target = *target;
    a->foreign = module->foreign;
    cost_cooling_describe(cpu, &a->cooling);
    a->results = arena_alloc(&a->arena, (module->function_count + 1) * sizeof *a->results);
    if (!a->results || !alloc_marks(a)) {
        analysis_free(a);
        return error_set(out_error, JOULE_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < module->function_count; i++)
        a->results[i].function = &module->functions[i];
    a->file = (struct function){.name = "the whole file"};
    a->whole.function = &a->file;
    struct walk walk = {.analysis = a};
    joule_status status =
        evaluator_make(&a->arena, module, &a->target, a->options.default_trips, &walk.evaluator);
    if (status == JOULE_OK)
        status = sum_all(&walk);
    if (status == JOULE_OK)
        status = find_roots(a);
    if (status == JOULE_OK)
        judge_whole(a);
    if (status != JOULE_OK) {
        analysis_free(a);
        return error_set(out_error, status, "out of memory");
    }
    return JOULE_OK;
}

void analysis_free(struct analysis *analysis)
{
    arena_free(&analysis->arena);
    *analysis = (struct analysis){0};
}

int32_t analysis_largest_loop(const struct analysis *analysis, const struct function_result *result,
                              double *out_part)
{
    struct target target = analysis_target(analysis, result);
    double all = amounts_joules(&target, &result->sum.call, BOUND_EST), most = 0;
    int32_t largest = -1;
    for (size_t i = 0; i < result->loops.count; i++) {
        double entries = result->frames[BOUND_EST] * result->sum.runs[i].entries;
        double joules = entries * amounts_joules(&target, &result->sum.loops[i], BOUND_EST);
        if (joules >= 0.8 * most && joules > 0) { /* an inner loop comes after the loop around it */
            most = joules;
            largest = (int32_t)i;
        }
    }
    *out_part = all > 0 ? most / all : 0;
    return largest;
}

struct cost analysis_loop_cost(const struct analysis *analysis, const struct function_result *result,
                               size_t loop, struct cost_features *out_work)
{
    *out_work = result->sum.loops[loop].of[BOUND_EST];
    for (int i = 0; i < COST_FEATURES; i++)
        out_work->amount[i] *= result->frames[BOUND_EST] * result->sum.runs[loop].entries;
    struct target target = analysis_target(analysis, result);
    return cost_of(&target.table, out_work);
}

const struct function_result *analysis_largest_function(const struct analysis *analysis, double *out_part)
{
    const struct function_result *largest = NULL;
    struct target target = analysis_target(analysis, &analysis->whole);
    double all = amounts_joules(&target, &analysis->whole.sum.call, BOUND_EST), most = 0;
    for (size_t i = 0; i < analysis->result_count; i++) {
        const struct function_result *r = &analysis->results[i];
        double joules = !r->is_root ? 0 : amounts_joules(&target, &r->sum.call, BOUND_EST);
        if (joules > most) {
            most = joules;
            largest = r;
        }
    }
    *out_part = all > 0 ? most / all : 0;
    return largest;
}
