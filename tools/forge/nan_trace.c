/* tools/forge/nan_trace.c - see nan_trace.h. */
#include "nan_trace.h"

#include <math.h>
#include "base/string.h"

#define KEEP_STEPS 50 /* the time to copy all slots every 50 steps is negligible */

void nan_trace_keep(struct nan_trace *nan_trace, struct trainee *t)
{
    if (nan_trace->has_copy && t->steps % KEEP_STEPS != 0)
        return;
    nan_trace->has_copy = forge_states_snapshot(t->states, NULL) == JOULE_OK;
    nan_trace->from = trainee_cursor(t);
}

/* Runs one step with checks. Returns OK if all its values are finite. */
static joule_status repeat_step(struct trainee *t, forge_nonfinite *found, joule_error *error)
{
    double loss;
    *found = (forge_nonfinite){.struct_size = sizeof *found};
    t->found = found;
    uint64_t before = t->steps;
    joule_status status = trainee_step(t, &loss, error);
    t->steps = before + 1;
    t->found = NULL;
    return status;
}

/* Repeats the steps up to `end`, and stops at the first NaN or non-finite input. Continues after an infinity
 * in a step before `end`: the loss of such a step was finite, so the infinity may be intended. */
static void repeat(struct nan_trace *nan_trace, struct trainee *t, uint64_t end)
{
    forge_nonfinite found;
    joule_error error = {0};
    uint64_t first = t->steps;
    while (t->steps < end) {
        joule_status status = repeat_step(t, &found, &error);
        bool is_reported = found.origin != FORGE_ORIGIN_NONE;
        if (status != JOULE_OK && !is_reported)
            break;
        if (is_reported && !*nan_trace->reason)
            string_print(nan_trace->reason, sizeof nan_trace->reason, "step %llu: %s",
                         (unsigned long long)t->steps, error.message);
        if (is_reported && (isnan(found.value) || found.origin == FORGE_ORIGIN_INPUT || t->steps == end)) {
            string_print(nan_trace->reason, sizeof nan_trace->reason, "step %llu: %s",
                         (unsigned long long)t->steps, error.message);
            return;
        }
    }
    if (!*nan_trace->reason)
        string_print(
            nan_trace->reason, sizeof nan_trace->reason,
            "steps %llu to %llu gave finite values when repeated: memory or the processor may be faulty",
            (unsigned long long)first + 1, (unsigned long long)end);
}

void nan_trace_find(struct nan_trace *nan_trace, struct trainee *t)
{
    uint64_t end = t->steps;
    if (nan_trace->has_copy && forge_states_restore(t->states, NULL) == JOULE_OK &&
        trainee_seek(t, nan_trace->from, NULL) == JOULE_OK)
        repeat(nan_trace, t, end);
}
