/* joulec/analysis.c - see analysis.h. */
#include "joulec/analysis.h"

#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joulec/nest.h"

#define BUDGET "joule.budget:" /* as include/joule/budget.h annotates */

struct walk {
    struct analysis *analysis;
    struct evaluator evaluator;
    bool *is_begun;
};

static void read_budget(struct function_result *result)
{
    const struct function *f = result->function;
    for (size_t i = 0; i < f->annotation_count; i++)
        if (string_starts(f->annotations[i], BUDGET))
            result->budget_words = f->annotations[i] + strlen(BUDGET);
    if (!result->budget_words || budget_text_parse(result->budget_words, &result->budget, &result->bad_column,
                                                   &result->bad) == JOULE_OK)
        result->bad_column = 0;
}

static void take_marks(struct analysis *a, struct function_result *result, struct trips_loop *nest)
{
    const struct marks *marks = a->options.marks;
    if (!marks)
        return;
    marks_join(marks, &result->loops, result->marks, a->mark_is_unclear);
    nest_annotate(result->function, &result->loops, marks->list, result->marks, nest);
}

static void note_refuted(struct analysis *a, const struct function_result *result)
{
    for (size_t i = 0; i < result->loops.count && a->options.marks; i++)
        if (result->marks[i] != MARK_NONE && result->trips[i].refutes_annotation)
            a->mark_is_refuted[result->marks[i]] = &result->trips[i];
}

static joule_status sum_one(struct walk *w, size_t index)
{
    struct analysis *a = w->analysis;
    struct function_result *result = &a->results[index];
    struct evaluated *evaluated = &w->evaluator.functions[index];
    read_budget(result);
    joule_status status = evaluate_prepare(&w->evaluator, index);
    result->marks = arena_alloc(&a->arena, (evaluated->loops.count + 1) * sizeof *result->marks);
    if (status != JOULE_OK || !result->marks)
        return JOULE_NO_MEMORY;
    result->loops = evaluated->loops;
    take_marks(a, result, evaluated->nest);
    status = evaluate(&w->evaluator, index);
    if (status != JOULE_OK)
        return status;
    result->trips = evaluated->trips;
    result->words = evaluated->words;
    result->sum = evaluated->sum;
    note_refuted(a, result);
    bool has_budget = result->budget_words && !result->bad_column;
    judge(&a->target, &result->sum.call, result->sum.basis, &a->cooling, has_budget ? &result->budget : NULL,
          &result->judgement);
    return JOULE_OK;
}

/* The next callee that nobody has begun; -1: none is left. */
static int32_t next_callee(const struct walk *w, size_t index)
{
    const struct function *f = w->analysis->results[index].function;
    for (size_t b = 0; b < f->block_count; b++)
        for (size_t c = 0; c < f->blocks[b].call_count; c++) {
            int32_t callee = f->blocks[b].calls[c].callee;
            if (callee >= 0 && !w->is_begun[callee])
                return callee;
        }
    return -1;
}

/* Callees first. A function that is begun and not summed when it is called calls itself in the end. */
static joule_status sum_from(struct walk *w, size_t root, size_t *stack)
{
    size_t depth = 1;
    stack[0] = root;
    w->is_begun[root] = true;
    while (depth) {
        int32_t callee = next_callee(w, stack[depth - 1]);
        if (callee >= 0) {
            w->is_begun[callee] = true;
            stack[depth++] = (size_t)callee;
            continue;
        }
        joule_status status = sum_one(w, stack[--depth]);
        if (status != JOULE_OK)
            return status;
    }
    return JOULE_OK;
}

static joule_status sum_all(struct walk *w)
{
    struct analysis *a = w->analysis;
    size_t count = a->result_count + 1;
    size_t *stack = arena_alloc(&a->arena, count * sizeof *stack);
    w->is_begun = arena_alloc(&a->arena, count * sizeof *w->is_begun);
    joule_status status = stack && w->is_begun ? JOULE_OK : JOULE_NO_MEMORY;
    for (size_t i = 0; i < a->result_count && status == JOULE_OK; i++)
        if (!w->is_begun[i])
            status = sum_from(w, i, stack);
    return status;
}

static bool make_room_for_marks(struct analysis *a)
{
    size_t count = (a->options.marks ? a->options.marks->count : 0) + 1;
    a->mark_is_unclear = arena_alloc(&a->arena, count * sizeof *a->mark_is_unclear);
    a->mark_is_refuted = arena_alloc(&a->arena, count * sizeof *a->mark_is_refuted);
    return a->mark_is_unclear && a->mark_is_refuted;
}

joule_status analysis_make(const struct module *module, const struct cost_cpu *cpu,
                           const struct cost_core *core, const struct analysis_options *options,
                           struct analysis *out_analysis, joule_error *out_error)
{
    struct scev_text text;
    struct analysis *a = out_analysis;
    *a = (struct analysis){.options = *options, .result_count = module->function_count};
    a->target.core = *core;
    cost_core_table(cpu, &a->target.table);
    cost_cooling_describe(cpu, &a->cooling);
    a->results = arena_alloc(&a->arena, (module->function_count + 1) * sizeof *a->results);
    if (!a->results || !make_room_for_marks(a) ||
        !scev_text_read(module->loop_text, strlen(module->loop_text), &text)) {
        analysis_free(a);
        return error_set(out_error, JOULE_NO_MEMORY, "no memory for the loops of a translation unit");
    }
    for (size_t i = 0; i < module->function_count; i++)
        a->results[i].function = &module->functions[i];
    a->file = (struct function){.name = "the whole file"};
    a->whole.function = &a->file;
    struct walk walk = {.analysis = a};
    joule_status status =
        evaluator_make(&a->arena, module, &text, &a->target, a->options.default_trips, &walk.evaluator);
    if (status == JOULE_OK)
        status = sum_all(&walk);
    scev_text_free(&text);
    if (status != JOULE_OK) {
        analysis_free(a);
        return error_set(out_error, status, "no memory for a translation unit");
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
    double all = amounts_joules(&analysis->target, &result->sum.call, BOUND_EST), most = 0;
    int32_t largest = -1;
    for (size_t i = 0; i < result->loops.count; i++) {
        double joules = result->trips[i].entries.est *
                        amounts_joules(&analysis->target, &result->sum.loops[i], BOUND_EST);
        if (joules >= 0.8 * most && joules > 0) { /* inner ones stand later */
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
        out_work->amount[i] *= result->trips[loop].entries.est;
    return cost_of(&analysis->target.table, out_work);
}
