/* infer/engine/engine_energy.c - shares energy out over requests, and enforces their budgets and the power
 * limit. */
#include <math.h>
#include "base/clock.h"
#include "forge/infer/engine/engine.h"

#define READ_PERIOD_NS (NS_PER_S / 50) /* between two readings of the meter if no limit applies */

void engine_read_meter(forge_engine *e)
{
    double before = e->energy.last.value, per_weight = request_energy_read(&e->energy);
    if (request_energy_is_known(&e->energy))
        power_limit_add(&e->power_limit, e->energy.last_ns, e->energy.last.value);
    if (!isfinite(per_weight))
        return;
    batch_policy_add_joules(&e->policy, e->energy.last.value - before);
    for (struct answer *answer = e->answers; answer; answer = answer->next)
        request_energy_take(&e->energy, &answer->spending, per_weight);
}

void engine_add_cost(forge_engine *e)
{
    const struct scheduler *s = &e->scheduler;
    e->step_weight = 0;
    for (size_t i = 0; i < s->batch_count; i++) {
        const struct scheduled *scheduled = &s->batch[i];
        struct answer *answer = answer_of(scheduled->sequence);
        struct row_cost cost = step_cost_rows(&e->cost, scheduled->first, scheduled->count, s->rows);
        request_energy_add(&e->energy, &answer->spending,
                           answer->first_token_ns ? PHASE_DECODE : PHASE_PREFILL, &cost, s->batch_count > 1);
        e->step_weight += row_cost_sum(&cost);
    }
    batch_policy_add_step(&e->policy, s->batch_count, s->rows);
    if (e->has_budgets || e->power_limit.max_watts > 0 ||
        request_energy_now_ns(&e->energy) - e->energy.last_ns >= READ_PERIOD_NS)
        engine_read_meter(e);
}

/* Returns true if the next step of a request is expected to exceed its budget. */
static bool is_over_budget(const forge_engine *e, const struct answer *answer)
{
    const struct sequence *sequence = &answer->sequence;
    if (!(answer->budget_joules > 0) || sequence->state != SEQUENCE_RUNNING)
        return false;
    double next = request_energy_expect(&e->energy, answer->spending.last_weight);
    return request_energy_joules(&e->energy, &answer->spending) + next > answer->budget_joules;
}

static joule_status end_over_budget(forge_engine *e, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (struct answer *answer = e->answers, *next; status == JOULE_OK && answer; answer = next) {
        next = answer->next;
        if (is_over_budget(e, answer))
            status = engine_end(e, answer, FORGE_END_ENERGY, error);
    }
    return status;
}

/* Waits until a step like the last one, and the steps since the meter's last reading, keep the mean power
 * below the limit. If they alone exceed the limit, waits one second. */
static void wait_for_power(forge_engine *e)
{
    int64_t begin_ns = request_energy_now_ns(&e->energy), wait_ns;
    double joules = request_energy_expect(&e->energy, row_cost_sum(&e->energy.weights) + e->step_weight);
    while ((wait_ns = power_limit_wait_ns(&e->power_limit, joules)) > 0) {
        int64_t now_ns = request_energy_now_ns(&e->energy);
        if (now_ns - begin_ns >= NS_PER_S)
            return;
        e->energy.source.wait(e->energy.source.context, now_ns + wait_ns);
        engine_read_meter(e);
    }
}

joule_status engine_limit_energy(forge_engine *e, joule_error *out_error)
{
    e->scheduler.options.max_sequences =
        batch_policy_sequences(&e->policy, &e->speculation.model_times, e->max_sequences);
    e->scheduler.options.max_rows = batch_policy_rows(&e->policy, &e->speculation.model_times, e->max_rows);
    if (e->is_idle)
        engine_read_meter(e); /* counts the joules since the last step as idle */
    e->is_idle = false;
    joule_status status = e->has_budgets ? end_over_budget(e, out_error) : JOULE_OK;
    if (status == JOULE_OK && e->power_limit.max_watts > 0)
        wait_for_power(e);
    return status;
}
