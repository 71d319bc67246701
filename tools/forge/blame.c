/* tools/forge/blame.c - see blame.h. */
#include "blame.h"

#include <math.h>
#include "base/string.h"

#define KEEP_STEPS 50 /* one copy of the slots in as many steps takes no time that can be seen */

void blame_keep(struct blame *blame, struct trainee *t)
{
    if (blame->is_kept && t->steps % KEEP_STEPS != 0)
        return;
    blame->is_kept = forge_states_keep(t->states, NULL) == JOULE_OK;
    blame->from = trainee_cursor(t);
}

/* One step with checks. OK: nothing was found in it. */
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

/* Before the step that went wrong all seemed to be well: of what was found there only a NaN is sure to be wrong. */
static void repeat(struct blame *blame, struct trainee *t, uint64_t end)
{
    forge_nonfinite found;
    joule_error error = {0};
    uint64_t first = t->steps;
    while (t->steps < end) {
        joule_status status = repeat_step(t, &found, &error);
        bool is_told = found.culprit != FORGE_CULPRIT_NONE;
        if (status != JOULE_OK && !is_told)
            break;
        if (is_told && !*blame->reason)
            string_print(blame->reason, sizeof blame->reason, "step %llu: %s", (unsigned long long)t->steps,
                         error.message);
        if (is_told && (isnan(found.value) || found.culprit == FORGE_CULPRIT_INPUT || t->steps == end)) {
            string_print(blame->reason, sizeof blame->reason, "step %llu: %s", (unsigned long long)t->steps,
                         error.message);
            return;
        }
    }
    if (!*blame->reason)
        string_print(
            blame->reason, sizeof blame->reason,
            "steps %llu to %llu were repeated and all was finite: memory or processor may have erred",
            (unsigned long long)first + 1, (unsigned long long)end);
}

void blame_find(struct blame *blame, struct trainee *t)
{
    uint64_t end = t->steps;
    if (blame->is_kept && forge_states_return(t->states, NULL) == JOULE_OK &&
        trainee_seek(t, blame->from, NULL) == JOULE_OK)
        repeat(blame, t, end);
}
