/* runtime/energy_query.c - the query functions of <forge/energy.h>.
 *
 * Note: a sum over several items is computed by attribution_sum. Adding the intervals of the items would
 * ignore that their errors are correlated.
 */
#include <forge/energy.h>

#include <math.h>
#include <string.h>
#include "base/abi.h"
#include "base/clock.h"
#include "forge/runtime/energy.h"

#define ALL_PHASES (-1)

static joule_quantity unknown(void)
{
    return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
}

/* Solves the regression unless it was solved since the last collection. Returns JOULE_ABSENT if energy is not
 * counted, otherwise the status of energy_solve. */
static joule_status begin_query(const forge_instance *instance)
{
    return instance->energy ? energy_solve(instance) : JOULE_ABSENT;
}

size_t forge_energy_count(const forge_instance *instance)
{
    return instance->energy ? instance->energy->items.count : 0;
}

static joule_quantity group_joules(const struct energy *e, size_t group)
{
    for (size_t i = 0; i < e->items.count; i++)
        e->part[i] = e->group_of[i] == group;
    return attribution_sum(e->answer, e->part);
}

static joule_quantity item_joules(const struct energy *e, size_t item)
{
    for (size_t i = 0; i < e->items.count; i++)
        e->part[i] = i == item;
    return attribution_sum(e->answer, e->part);
}

joule_status forge_energy_get(forge_instance *instance, size_t i, forge_energy_facts *out_facts)
{
    struct energy *e = instance->energy;
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_energy_facts, group_joules)) || (e && i >= e->items.count))
        return JOULE_INVALID;
    joule_status status = begin_query(instance);
    if (!e)
        return status;
    const struct item *item = &e->items.list[i];
    forge_energy_facts facts = {.phase = item->phase,
                                .op = item->operation,
                                .scope = item->scope,
                                .launches = item->launches,
                                .flop = items_cost(&e->items, instance, i).flop,
                                .group = i,
                                .joules = unknown(),
                                .group_joules = unknown()};
    if (status == JOULE_OK) {
        facts.seconds = attribution_seconds(e->answer, i);
        facts.joules = item_joules(e, i);
        facts.group = e->group_of[i];
        facts.group_joules = group_joules(e, facts.group);
    }
    abi_write(out_facts, &facts, sizeof facts);
    return status;
}

/* Sets e->part to the parts of all items that belong to a scope and phase; those of other items and of the
 * time between launches are 0. Returns false if there are no such items. */
static bool mark(const struct energy *e, const forge_program *program, const char *scope, int phase)
{
    bool is_any = false;
    for (size_t i = 0; i < e->items.count; i++) {
        const struct item *item = &e->items.list[i];
        bool is_in_phase = item->op < OP_COUNT && (phase == ALL_PHASES || (int)item->phase == phase);
        e->part[i] = is_in_phase ? items_part(&e->items, program, i, scope) : 0;
        is_any = is_any || e->part[i] > 0;
    }
    return is_any;
}

joule_status forge_scope_energy(forge_instance *instance, const char *scope, int phase,
                                joule_quantity *out_joules)
{
    *out_joules = unknown();
    joule_status status = begin_query(instance);
    if (status != JOULE_OK)
        return status;
    if (!mark(instance->energy, instance->program, scope, phase))
        return JOULE_ABSENT;
    *out_joules = attribution_sum(instance->energy->answer, instance->energy->part);
    return JOULE_OK;
}

static joule_quantity scaled(joule_quantity q, double factor)
{
    return (joule_quantity){q.value * factor, q.low * factor, q.high * factor, q.cls, 0};
}

/* Returns the number of runs in the windows with energy: the time of all launches in these windows, divided
 * by the mean time of the launches of one run. */
static double runs_seen(const forge_instance *instance)
{
    const struct energy *e = instance->energy;
    double seen_s = 0, all_s = 0;
    for (size_t i = 0; i + 1 < e->items.count; i++)
        seen_s += attribution_seconds(e->answer, i);
    for (size_t i = 0; i < instance->program->launches.count; i++)
        all_s += clock_seconds(instance->taken_ns[i]);
    return seen_s * (double)instance->runs / all_s;
}

joule_status forge_step_energy(forge_instance *instance, int phase, joule_quantity *out_joules)
{
    joule_status status = forge_scope_energy(instance, "", phase, out_joules);
    if (status != JOULE_OK)
        return status;
    if (phase == ALL_PHASES) {
        struct energy *e = instance->energy;
        e->part[e->items.count - 1] = 1;
        *out_joules = attribution_sum(e->answer, e->part);
    }
    double runs = runs_seen(instance);
    *out_joules = runs > 0 ? scaled(*out_joules, 1 / runs) : unknown();
    return runs > 0 ? JOULE_OK : JOULE_PENDING;
}

joule_status forge_launch_energy(forge_instance *instance, size_t i, joule_quantity *out_joules)
{
    *out_joules = unknown();
    if (i >= instance->program->launches.count)
        return JOULE_INVALID;
    joule_status status = begin_query(instance);
    if (status != JOULE_OK)
        return status;
    const struct energy *e = instance->energy;
    size_t item = e->items.item_of[i];
    double item_s = 0, own_s = clock_seconds(instance->taken_ns[i]);
    for (size_t k = 0; k < instance->program->launches.count; k++)
        item_s += e->items.item_of[k] == item ? clock_seconds(instance->taken_ns[k]) : 0;
    *out_joules = item_joules(e, item);
    if (e->items.list[item].launches == 1 || item_s <= 0)
        return JOULE_OK;
    *out_joules = scaled(*out_joules, own_s / item_s);
    if (out_joules->cls < JOULE_CLASS_MODELLED)
        out_joules->cls = JOULE_CLASS_MODELLED;
    return JOULE_OK;
}

joule_status forge_energy_total(forge_instance *instance, forge_energy_sum *out_sum)
{
    if (!abi_has_room(out_sum, SIZE_UP_TO(forge_energy_sum, joules)))
        return JOULE_INVALID;
    joule_status status = begin_query(instance);
    const struct energy *e = instance->energy;
    if (!e)
        return status;
    forge_energy_sum sum = {.windows = e->windows,
                            .seconds = clock_seconds(e->cut_ns - e->begin_ns),
                            .covered_seconds = e->seen_s,
                            .joules = unknown(),
                            .unattributed_joules = unknown(),
                            .all_joules = unknown(),
                            .basis = e->basis};
    if (status == JOULE_OK) {
        for (size_t i = 0; i < e->items.count; i++)
            e->part[i] = 1;
        sum.joules = attribution_sum(e->answer, e->part);
        sum.all_joules = scaled(sum.joules, (sum.joules.value + e->lost_joules) / sum.joules.value);
    } else if (e->lost_joules > 0) {
        sum.all_joules = energy_part(e, e->lost_joules);
    }
    if (!isnan(sum.all_joules.value))
        sum.unattributed_joules = energy_part(e, e->lost_joules);
    abi_write(out_sum, &sum, sizeof sum);
    return status;
}

joule_quantity forge_per_joule(double amount, joule_quantity joules)
{
    if (!(joules.value > 0))
        return unknown();
    return (joule_quantity){amount / joules.value, amount / joules.high,
                            joules.low > 0 ? amount / joules.low : INFINITY, joules.cls, 0};
}
