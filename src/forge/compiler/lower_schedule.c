/* compiler/lower_schedule.c - schedules the launches of a program that is being compiled; see lower.h.
 *
 * The launches are described to schedule.h before buffers are merged, so each buffer has one writer. These
 * edges keep all results: a launch comes after the writers of its operands, and the launch that writes a
 * slot's new value comes after all launches that read the old one. A launch that writes only parts of an
 * operand if it works in place (scatter, cache_write) also stays behind all other readers of this operand,
 * because a copy of the operand would cost more than any order gains.
 *
 * Note: a launch counts as in place here if its kernel may work in place, although merge.c decides later.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "forge/compiler/lower.h"
#include "forge/compiler/rematerialise.h"
#include "forge/ir/fields.h"
#include "forge/ir/library.h"
#include "forge/ir/operation_cost.h"

struct description {
    struct lowering *l;
    struct device_rates rates;
    struct schedule_problem problem;
    GRAPH_ARRAY(struct schedule_edge, edges, edge);
    struct schedule_value *values;    /* one for each buffer */
    struct schedule_access *accesses; /* one for each binding */
    struct schedule_launch *launches;
    uint32_t *stored_in; /* one for each buffer: the slot's buffer in which it will be stored, or itself */
    unsigned char *attributes; /* attributes of a launch at the largest sizes */
    size_t attributes_capacity;
};

static bool no_memory(struct lowering *l)
{
    return lower_fail(l, JOULE_NO_MEMORY, "cannot schedule a program: out of memory");
}

/* --- edges ---------------------------------------------------------------------------------------------- */

static bool add_edge(struct description *d, uint32_t before, uint32_t after, bool is_overwrite)
{
    if (before >= after) /* also PROGRAM_NONE: no launch writes the buffer */
        return true;
    if (!ARRAY_ROOM(d->edges, d->edge_capacity, d->edge_count))
        return no_memory(d->l);
    d->edges[d->edge_count++] = (struct schedule_edge){before, after, is_overwrite};
    return true;
}

/* Adds edges from all launches that read a buffer to a later launch. */
static bool add_edges_of_readers(struct description *d, uint32_t buffer, uint32_t after)
{
    const struct lowering *l = d->l;
    for (uint32_t i = 0; i < after && i < l->launch_count; i++) {
        const struct program_launch *record = &l->launches[i].record;
        for (uint32_t k = 0; k < record->input_count; k++)
            if (l->bindings[record->first_binding + k].buffer == buffer && !add_edge(d, i, after, true))
                return false;
    }
    return true;
}

/* Returns true if the launch writes only parts of its first operand in place, and otherwise copies it. */
static bool is_partial_write(const struct lowering *l, const struct lowered_launch *launch)
{
    return launch->record.input_count > 0 && in_place_may(launch->in_place, 0, 0) &&
           library_copies_rest((enum op)launch->record.op, l->bytes + launch->record.attributes);
}

static bool add_edges(struct description *d)
{
    const struct lowering *l = d->l;
    for (uint32_t i = 0; i < l->launch_count; i++) {
        const struct program_launch *record = &l->launches[i].record;
        const struct program_binding *inputs = &l->bindings[record->first_binding];
        for (uint32_t k = 0; k < record->input_count; k++)
            if (!add_edge(d, l->buffers[inputs[k].buffer].writer, i, false))
                return false;
        if (is_partial_write(l, &l->launches[i]) && !add_edges_of_readers(d, inputs[0].buffer, i))
            return false;
    }
    for (size_t i = 0; i < l->graph->slot_count; i++) {
        const struct slot *slot = &l->graph->slots[i];
        if (!slot->write || slot->write == slot->read)
            continue;
        uint32_t writer = l->buffers[l->value_bindings[slot->write].buffer].writer;
        if (writer != PROGRAM_NONE && !add_edges_of_readers(d, l->slot_buffers[i], writer))
            return false;
    }
    return true;
}

/* --- values and launches -------------------------------------------------------------------------------- */

static void describe_values(struct description *d)
{
    const struct lowering *l = d->l;
    for (uint32_t i = 0; i < l->buffer_count; i++) {
        const struct lowered_buffer *buffer = &l->buffers[i];
        d->stored_in[i] = i;
        uint64_t units = (buffer->record.size_bytes + PROGRAM_ALIGNMENT - 1) / PROGRAM_ALIGNMENT;
        d->values[i] = (struct schedule_value){(double)(units * PROGRAM_ALIGNMENT),
                                               buffer->record.kind == BUFFER_ARENA && !buffer->is_result};
    }
    for (size_t i = 0; i < l->graph->slot_count; i++) {
        const struct slot *slot = &l->graph->slots[i];
        if (slot->write && slot->write != slot->read)
            d->stored_in[l->value_bindings[slot->write].buffer] = l->slot_buffers[i];
    }
}

/* Returns the attributes of a launch at the largest sizes, valid until the next call; NULL if out of
 * memory. */
static const void *attributes_of(struct description *d, const struct program_launch *record)
{
    const unsigned char *stored = d->l->bytes + record->attributes;
    if (!fields_have_symbols((enum op)record->op, stored))
        return stored;
    if (!array_reserve((void **)&d->attributes, &d->attributes_capacity, record->attributes_size, 1))
        return NULL;
    memcpy(d->attributes, stored, record->attributes_size);
    fields_substitute((enum op)record->op, d->attributes, d->l->largest);
    return d->attributes;
}

static void describe_accesses(struct description *d, const struct lowered_launch *launch,
                              const struct view *views, const struct program_cost *cost)
{
    const struct program_launch *record = &launch->record;
    size_t inputs = record->input_count, count = inputs + record->output_count;
    double bytes[PROGRAM_MAX_OPERANDS];
    for (size_t k = 0; k < count; k++)
        bytes[k] = cost_view_bytes(&views[k]);
    schedule_divide_bytes(bytes, inputs, record->output_count, cost->read_bytes, cost->written_bytes, bytes);
    for (size_t k = 0; k < count; k++) {
        struct schedule_access *access = &d->accesses[record->first_binding + k];
        uint32_t buffer = d->l->bindings[record->first_binding + k].buffer;
        *access = (struct schedule_access){.value = d->stored_in[buffer], .bytes = bytes[k]};
        for (size_t i = 0; k >= inputs && i < inputs && i < 32; i++)
            if (in_place_may(launch->in_place, k - inputs, i) && views[i].dtype == views[k].dtype &&
                forge_shape_equal(&views[i].shape, &views[k].shape))
                access->over |= UINT32_C(1) << i;
    }
}

static bool describe_launch(struct description *d, size_t i)
{
    struct lowering *l = d->l;
    const struct lowered_launch *launch = &l->launches[i];
    const struct program_launch *record = &launch->record;
    struct view views[PROGRAM_MAX_OPERANDS] = {0};
    struct launch work = {.op = (enum op)record->op,
                          .attributes = attributes_of(d, record),
                          .inputs = views,
                          .input_count = record->input_count,
                          .outputs = views + record->input_count,
                          .output_count = record->output_count};
    if (!work.attributes)
        return no_memory(l);
    for (uint32_t k = 0; k < (uint32_t)record->input_count + record->output_count; k++) {
        views[k] = binding_at_largest(l, &l->bindings[record->first_binding + k]);
        views[k].data = &l->buffers[l->bindings[record->first_binding + k].buffer];
    }
    if (is_partial_write(l, launch)) /* costs of launches recognise an in-place launch by equal addresses */
        views[record->input_count].data = views[0].data;
    struct program_cost cost = launch->body
                                   ? cost_of_composite(&work, launch->body, l->largest, l->graph->dims.count)
                                   : cost_of_launch(&work);
    d->launches[i] =
        (struct schedule_launch){.flop = cost.flop * (views[record->input_count].dtype == FORGE_F64 ? 2 : 1),
                                 .work = {.parts = 1},
                                 .first_access = record->first_binding,
                                 .read_count = record->input_count,
                                 .write_count = record->output_count};
    l->device->ops->work(l->device, &work, &cost, &d->launches[i].work);
    describe_accesses(d, launch, views, &cost);
    return l->status == JOULE_OK;
}

static bool describe(struct description *d, const struct schedule_wish *wish)
{
    struct lowering *l = d->l;
    d->values = calloc(l->buffer_count + 1, sizeof *d->values);
    d->accesses = calloc(l->binding_count + 1, sizeof *d->accesses);
    d->launches = calloc(l->launch_count + 1, sizeof *d->launches);
    d->stored_in = calloc(l->buffer_count + 1, sizeof *d->stored_in);
    if (!d->values || !d->accesses || !d->launches || !d->stored_in)
        return no_memory(l);
    joule_status status = l->device->ops->rates(l->device, &d->rates, l->error);
    if (status != JOULE_OK) {
        l->status = status;
        return false;
    }
    describe_values(d);
    for (size_t i = 0; i < l->launch_count; i++)
        if (!describe_launch(d, i))
            return false;
    if (!add_edges(d))
        return false;
    d->problem = (struct schedule_problem){
        .rates = &d->rates,
        .values = d->values,
        .accesses = d->accesses,
        .launches = d->launches,
        .edges = d->edges,
        .value_count = l->buffer_count,
        .access_count = l->binding_count,
        .launch_count = l->launch_count,
        .edge_count = d->edge_count,
        .objective = wish->objective,
        .max_seconds = wish->max_seconds > 0 ? wish->max_seconds : INFINITY,
        .max_bytes = wish->max_arena_bytes ? (double)wish->max_arena_bytes : INFINITY};
    return true;
}

static void free_description(struct description *d)
{
    free(d->values);
    free(d->accesses);
    free(d->launches);
    free(d->stored_in);
    free(d->edges);
    free(d->attributes);
}

/* --- the chosen schedule -------------------------------------------------------------------------------- */

static bool check_bounds(struct lowering *l, const struct schedule_problem *p, const struct schedule *s)
{
    if (s->after.peak_bytes > p->max_bytes)
        return lower_fail(l, JOULE_FAILED,
                          "no order of the launches was found whose intermediate values need at most %.0f "
                          "bytes: the best one needs %.0f",
                          p->max_bytes, s->after.peak_bytes);
    if (s->after.seconds > p->max_seconds)
        return lower_fail(l, JOULE_FAILED,
                          "no schedule was found that takes at most %.6g s: the fastest one is expected to "
                          "take %.6g s",
                          p->max_seconds, s->after.seconds);
    return true;
}

/* Notes the numbers of cores of launches that use fewer than they could, and puts them into the chosen
 * order. */
static bool apply(struct description *d, const struct schedule *s)
{
    for (uint32_t i = 0; i < d->l->launch_count; i++)
        d->l->launches[i].record.cores =
            s->cores[i] < schedule_useful_cores(&d->rates, &d->launches[i]) ? s->cores[i] : 0;
    return lower_reorder(d->l, s->order);
}

/* --- launches that run twice ---------------------------------------------------------------------------- */

/* Repeats launches so that the bound of the bytes is kept, and schedules all launches again. Changes nothing
 * if no copy helps. *d and *schedule are replaced. */
static bool repeat_launches(struct description *d, const struct schedule_wish *wish,
                            struct schedule *schedule, size_t *out_copies)
{
    struct lowering *l = d->l;
    struct rematerialisation r;
    struct schedule_cost before = schedule->before, cores_only = schedule->cores_only;
    bool done = rematerialise(&d->problem, schedule->order, &r) || no_memory(l);
    *out_copies = done ? r.problem.launch_count - l->launch_count : 0;
    if (*out_copies) {
        done = lower_copies(l, &r);
        free_description(d);
        *d = (struct description){.l = l};
        schedule_free(schedule);
        *schedule = (struct schedule){0};
        done = done && describe(d, wish) && (schedule_find(&d->problem, schedule) || no_memory(l));
        schedule->before = before;
        schedule->cores_only = cores_only;
    }
    rematerialisation_free(&r);
    return done;
}

static void fill_facts(const struct description *d, const struct schedule *s, size_t copies,
                       forge_schedule_facts *facts)
{
    *facts = (forge_schedule_facts){.struct_size = sizeof *facts,
                                    .objective = d->problem.objective,
                                    .launches = d->problem.launch_count,
                                    .recomputed = copies,
                                    .device_cores = d->rates.cores,
                                    .min_cores = d->rates.cores,
                                    .given_seconds = s->before.seconds,
                                    .given_joules = s->before.joules,
                                    .cores_seconds = s->cores_only.seconds,
                                    .cores_joules = s->cores_only.joules,
                                    .chosen_seconds = s->after.seconds,
                                    .chosen_joules = s->after.joules,
                                    .given_peak_bytes = s->before.peak_bytes,
                                    .chosen_peak_bytes = s->after.peak_bytes,
                                    .trials = s->trials,
                                    .is_calibrated = d->rates.is_calibrated};
    for (int level = 0; level < RATE_LEVELS; level++) {
        facts->given_bytes[level] = s->before.bytes[level];
        facts->chosen_bytes[level] = s->after.bytes[level];
    }
    for (uint32_t i = 0, rank = 0; i < d->problem.launch_count; i++) {
        uint32_t number = d->l->launches[i].number; /* the launches are in the chosen order now */
        facts->moved += number != PROGRAM_NONE && number != rank;
        rank += number != PROGRAM_NONE;
        facts->limited += s->cores[i] < schedule_useful_cores(&d->rates, &d->launches[i]);
        facts->min_cores = s->cores[i] < facts->min_cores ? s->cores[i] : facts->min_cores;
        facts->max_cores = s->cores[i] > facts->max_cores ? s->cores[i] : facts->max_cores;
    }
}

bool lower_schedule(struct lowering *l, const struct schedule_wish *wish, forge_schedule_facts *out_facts)
{
    struct description d = {.l = l};
    struct schedule schedule = {0};
    size_t copies = 0;
    for (uint32_t i = 0; i < l->launch_count; i++)
        l->launches[i].number = i;
    bool done = describe(&d, wish) && (schedule_find(&d.problem, &schedule) || no_memory(l));
    if (done && schedule.after.peak_bytes > d.problem.max_bytes)
        done = repeat_launches(&d, wish, &schedule, &copies);
    done = done && check_bounds(l, &d.problem, &schedule) && apply(&d, &schedule);
    if (done)
        fill_facts(&d, &schedule, copies, out_facts);
    schedule_free(&schedule);
    free_description(&d);
    return done;
}
