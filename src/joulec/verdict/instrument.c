/* joulec/verdict/instrument.c - see instrument.h. The part that uses LLVM is llvm_instrument.c. */
#include "joulec/verdict/instrument.h"

#include <math.h>
#include <string.h>
#include "base/string.h"

const char *const instrument_calls[] = {"joule_budget_scope_begin", "joule_budget_count", NULL};

static void read_calls(const struct function *function, struct instrument_plan *plan)
{
    for (size_t b = 0; b < function->block_count; b++)
        for (size_t c = 0; c < function->blocks[b].call_count; c++) {
            const char *name = function->blocks[b].calls[c].name;
            plan->has_setjmp = plan->has_setjmp || (name && strstr(name, "setjmp"));
            plan->calls_library = plan->calls_library || string_is_one_of(name, instrument_calls);
        }
}

static bool is_measured(const struct function_result *result)
{
    return result->budget_words && !result->bad_column && !isnan(result->budget.max_joules);
}

static const char *copy_text(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, strlen(text));
}

/* Returns true if calls certainly take less than INSTRUMENT_SECONDS. The time is uncertain if it depends on a
 * profile or on a guess, or if the build optimizes less than the count build. */
static bool is_short(const struct analysis *analysis, const struct function_result *result)
{
    enum basis weakest = analysis->options.profile ? BASIS_BOUNDED : BASIS_OBSERVED;
    return !analysis->options.level && !analysis->options.merges_threads && result->sum.basis <= weakest &&
           result->judgement.seconds.high < INSTRUMENT_SECONDS;
}

static bool plan_function(struct arena *arena, const struct analysis *analysis,
                          const struct function_result *result, joule_class cls,
                          struct instrument_function *out)
{
    const struct figure *joules = &result->judgement.joules;
    *out = (struct instrument_function){.name = copy_text(arena, result->function->name),
                                        .budget = copy_text(arena, result->budget_words),
                                        .is_counted = is_short(analysis, result),
                                        .joules_per_call = {joules->est, joules->low, joules->high, cls, 0}};
    return out->name && out->budget;
}

joule_status instrument_plan_make(struct arena *arena, const struct module *module,
                                  const struct analysis *analysis, struct instrument_plan *out_plan)
{
    *out_plan = (struct instrument_plan){
        .functions = arena_alloc(arena, (analysis->result_count + 1) * sizeof *out_plan->functions)};
    if (!out_plan->functions)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < module->function_count; i++)
        read_calls(&module->functions[i], out_plan);
    joule_class cls =
        analysis->target.table.cls == JOULE_CLASS_ASSUMED ? JOULE_CLASS_ASSUMED : JOULE_CLASS_MODELLED;
    for (size_t i = 0; i < analysis->result_count; i++) {
        const struct function_result *result = &analysis->results[i];
        if (is_measured(result) &&
            !plan_function(arena, analysis, result, cls, &out_plan->functions[out_plan->function_count++]))
            return JOULE_NO_MEMORY;
    }
    return JOULE_OK;
}

bool instrument_plan_is_empty(const struct instrument_plan *plan)
{
    return plan->function_count == 0 && !plan->has_setjmp;
}
