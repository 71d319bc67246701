/* infer/engine/engine_energy.c - attributes energy to requests, and enforces their budgets and the power
 * limit. */
#include <math.h>
#include "base/clock.h"
#include "forge/infer/engine/engine.h"

#define READ_PERIOD_NS (NS_PER_S / 50) /* between two readings of the meter if nothing needs them earlier */

void engine_read_meter(forge_engine *e)
{
    double before = e->energy.last.value, per_weight = request_energy_read(&e->energy);
    if (request_energy_is_known(&e->energy))
        power_limit_add(&e->power_limit, e->energy.last_ns, e->energy.last.value);
    if (!isfinite(per_weight))
        return;
    batch_policy_add_joules(&e->policy, e->energy.last.value - before);
    power_limit_measure(&e->power_limit, e->energy.last.value - before);
    for (struct answer *answer = e->answers; answer; answer = answer->next)
        request_energy_take(&e->energy, &answer->spending, per_weight);
}

/* Adds `count` rows of a sequence to the size of a step, or removes them if sign is -1. */
static void add_size(const forge_engine *e, size_t first, size_t count, double sign, struct step_size *size)
{
    struct row_cost cost = step_cost_rows(&e->cost, first, count, count);
    size->parts[SIZE_ROWS] += sign * (double)count;
    size->parts[SIZE_FLOP] += sign * cost.joules[COST_OF_FLOP];
    size->parts[SIZE_CACHE] += sign * cost.joules[COST_OF_CACHE];
}

/* Returns the size of the planned step. */
static struct step_size size_of_step(const forge_engine *e)
{
    struct step_size size = {0};
    for (size_t i = 0; i < e->scheduler.batch_count; i++)
        add_size(e, e->scheduler.batch[i].first, e->scheduler.batch[i].count, 1, &size);
    return size;
}

void engine_add_cost(forge_engine *e)
{
    const struct scheduler *s = &e->scheduler;
    if (e->power_limit.max_watts > 0) {
        struct step_size size = size_of_step(e);
        power_limit_add_step(&e->power_limit, &size);
    }
    for (size_t i = 0; i < s->batch_count; i++) {
        const struct scheduled *scheduled = &s->batch[i];
        struct answer *answer = answer_of(scheduled->sequence);
        struct row_cost cost = step_cost_rows(&e->cost, scheduled->first, scheduled->count, s->rows);
        request_energy_add(&e->energy, &answer->spending,
                           answer->first_token_ns ? PHASE_DECODE : PHASE_PREFILL, &cost, s->batch_count > 1);
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

/* --- power limit ---------------------------------------------------------------------------------------- */

/* Returns true if a step of this size with `count` further rows of a sequence may be computed. */
static bool allows_rows(const forge_engine *e, struct step_size size, size_t first, size_t count)
{
    add_size(e, first, count, 1, &size);
    return power_limit_allows(&e->power_limit, &size);
}

/* Removes rows of one sequence until a step of this size may be computed with the others. Leaves at least
 * one. */
static void shrink_rows(const forge_engine *e, const struct step_size *size, struct scheduled *scheduled)
{
    size_t refused = scheduled->count + 1;
    scheduled->count = 1;
    while (refused - scheduled->count > 1) {
        size_t middle = scheduled->count + (refused - scheduled->count) / 2;
        if (allows_rows(e, *size, scheduled->first, middle))
            scheduled->count = middle;
        else
            refused = middle;
    }
}

/* Removes rows from the planned step until the limit allows it. Each sequence keeps one row if possible, and
 * the first one always does. The rows that are left out belong to a later step. */
static void shrink_step(forge_engine *e)
{
    struct scheduler *s = &e->scheduler;
    struct step_size size = {0};
    size_t kept = 0;
    for (; kept < s->batch_count && (kept == 0 || allows_rows(e, size, s->batch[kept].first, 1)); kept++)
        add_size(e, s->batch[kept].first, 1, 1, &size);
    s->batch_count = kept;
    s->rows = 0;
    for (size_t i = 0; i < kept; i++) {
        struct scheduled *scheduled = &s->batch[i];
        add_size(e, scheduled->first, 1, -1, &size);
        shrink_rows(e, &size, scheduled);
        add_size(e, scheduled->first, scheduled->count, 1, &size);
        s->rows += scheduled->count;
    }
}

/* Waits until the planned step, and the steps since the meter's last reading, keep the mean power below the
 * limit. If they alone exceed the limit, or their joules are still unknown, waits one second at most. */
static void wait_for_power(forge_engine *e)
{
    const struct power_limit *limit = &e->power_limit;
    const struct step_size size = size_of_step(e);
    int64_t now_ns = request_energy_now_ns(&e->energy), end_ns = now_ns + NS_PER_S;
    while (now_ns < end_ns) {
        double joules = limit->new_joules + power_limit_expect(limit, &size);
        bool is_unknown = isnan(joules) && limit->new_steps > 0;
        int64_t wait_ns = is_unknown ? READ_PERIOD_NS : power_limit_wait_ns(limit, joules);
        if (wait_ns <= 0)
            return;
        e->energy.source.wait(e->energy.source.context, now_ns + wait_ns);
        engine_read_meter(e);
        now_ns = request_energy_now_ns(&e->energy);
    }
}

joule_status engine_limit_energy(forge_engine *e, joule_error *out_error)
{
    e->scheduler.options.max_sequences =
        batch_policy_sequences(&e->policy, &e->speculation.model_times, e->max_sequences);
    e->scheduler.options.max_rows = batch_policy_rows(&e->policy, &e->speculation.model_times, e->max_rows);
    if (e->power_limit.max_watts > 0) {
        struct scheduler_options *options = &e->scheduler.options;
        options->max_rows = options->max_rows < e->power_rows ? options->max_rows : e->power_rows;
        options->max_sequences =
            options->max_sequences < options->max_rows ? options->max_sequences : options->max_rows;
    }
    if (e->is_idle)
        engine_read_meter(e); /* counts the joules since the last step as idle */
    e->is_idle = false;
    return e->has_budgets ? end_over_budget(e, out_error) : JOULE_OK;
}

void engine_limit_power(forge_engine *e)
{
    if (!(e->power_limit.max_watts > 0) || !request_energy_is_known(&e->energy))
        return;
    size_t rows = e->scheduler.rows;
    struct step_size size = size_of_step(e);
    if (!power_limit_allows(&e->power_limit, &size))
        shrink_step(e);
    /* The next step is planned with at most twice the rows that this one could have. */
    e->power_rows = e->scheduler.rows < rows ? e->scheduler.rows : e->power_rows;
    e->power_rows = 2 * e->power_rows < e->max_rows ? 2 * e->power_rows : e->max_rows;
    wait_for_power(e);
}
