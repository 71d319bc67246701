/* compiler/pass.c - runs the passes in order; see pass.h.
 *
 * Note: a pass may have bugs, especially a caller's pass. So the graph is verified after each pass. It must
 * have the same inputs, outputs and slots as the graph before the pass.
 */
#include "forge/compiler/pass.h"

#include <math.h>
#include <string.h>
#include "base/abi.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "forge/hal/expected.h"
#include "forge/ir/operation_cost.h"

/* The built-in passes, in the order in which they run. */
static const forge_pass builtins[] = {
    {.name = "expand", .run = pass_expand},       {.name = "transfer", .run = pass_transfer},
    {.name = "recognise", .run = pass_recognise}, {.name = "precision", .run = pass_precision},
    {.name = "fold", .run = pass_fold},           {.name = "regroup", .run = pass_regroup},
    {.name = "fuse", .run = pass_fuse},           {.name = "layout", .run = pass_layout},
    {.name = "order", .run = pass_order},
};
enum { BUILTIN_COUNT = sizeof builtins / sizeof *builtins, MAX_PASSES = BUILTIN_COUNT + 62 };

const char *forge_pass_name_at(size_t i)
{
    return i < BUILTIN_COUNT ? builtins[i].name : NULL;
}

/* --- the order ------------------------------------------------------------------------------------------ */

/* The passes of one compilation, in the order in which they run. */
struct order {
    const forge_pass *passes[MAX_PASSES];
    size_t count;
};

/* Returns the position of the pass with this name, or order->count if there is none. */
static size_t find_pass(const struct order *order, const char *name)
{
    size_t i = 0;
    while (i < order->count && strcmp(order->passes[i]->name, name) != 0)
        i++;
    return i;
}

static bool is_builtin(const forge_pass *pass)
{
    for (size_t i = 0; i < BUILTIN_COUNT; i++)
        if (pass == &builtins[i])
            return true;
    return false;
}

/* Inserts a caller's pass after the pass with the name pass->after (NULL: at the start), and after all
 * callers' passes that follow that pass. Returns JOULE_INVALID if the pass is invalid. */
static joule_status add_pass(struct order *order, const forge_pass *pass, joule_error *error)
{
    if (!pass->name || !pass->run)
        return error_set(error, JOULE_INVALID, "a pass needs a name and a function");
    if (find_pass(order, pass->name) < order->count)
        return error_set(error, JOULE_INVALID, "two passes have the name '%s'", pass->name);
    size_t at = pass->after ? find_pass(order, pass->after) + 1 : 0;
    if (at > order->count)
        return error_set(error, JOULE_INVALID, "pass %s cannot run after '%s': unknown pass", pass->name,
                         pass->after);
    if (order->count == MAX_PASSES)
        return error_set(error, JOULE_INVALID, "at most %d passes are supported", MAX_PASSES);
    while (at < order->count && !is_builtin(order->passes[at]))
        at++;
    memmove(&order->passes[at + 1], &order->passes[at], (order->count - at) * sizeof *order->passes);
    order->passes[at] = pass;
    order->count++;
    return JOULE_OK;
}

/* Removes the passes that `skip` names, separated by commas. Returns JOULE_INVALID if there is no such
 * pass. */
static joule_status skip_passes(struct order *order, const char *skip, joule_error *error)
{
    while (skip && *skip) {
        char name[64];
        size_t length = strcspn(skip, ",");
        string_print(name, sizeof name, "%.*s", (int)length, skip);
        size_t at = find_pass(order, name);
        if (at == order->count)
            return error_set(error, JOULE_INVALID, "cannot skip '%s': unknown pass", name);
        order->count--;
        memmove(&order->passes[at], &order->passes[at + 1], (order->count - at) * sizeof *order->passes);
        skip += length + (skip[length] == ',');
    }
    return JOULE_OK;
}

static joule_status make_order(struct order *order, const forge_compile_options *options, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (order->count = 0; order->count < BUILTIN_COUNT; order->count++)
        order->passes[order->count] = &builtins[order->count];
    for (size_t i = 0; status == JOULE_OK && i < options->pass_count; i++)
        status = add_pass(order, &options->passes[i], error);
    if (status == JOULE_OK)
        status = skip_passes(order, options->skip, error);
    if (status != JOULE_OK || !options->stop_after)
        return status;
    size_t last = find_pass(order, options->stop_after);
    if (last == order->count)
        return error_set(error, JOULE_INVALID, "cannot stop after '%s': unknown pass", options->stop_after);
    order->count = last + 1;
    return JOULE_OK;
}

/* --- one pass ------------------------------------------------------------------------------------------- */

static bool same_ports(const forge_graph *a, const struct port *ports, size_t count, const forge_graph *b,
                       const struct port *others, size_t other_count)
{
    for (size_t i = 0; i < count && count == other_count; i++) {
        const struct value *x = &a->values[ports[i].value], *y = &b->values[others[i].value];
        if (strcmp(ports[i].name, others[i].name) != 0 || x->dtype != y->dtype ||
            !forge_shape_equal(&x->shape, &y->shape))
            return false;
    }
    return count == other_count;
}

static bool same_slots(const forge_graph *a, const forge_graph *b)
{
    for (size_t i = 0; i < a->slot_count && a->slot_count == b->slot_count; i++) {
        const struct slot *x = &a->slots[i], *y = &b->slots[i];
        if (strcmp(x->name, y->name) != 0 || x->dtype != y->dtype ||
            !forge_shape_equal(&x->shape, &y->shape) || !x->write != !y->write ||
            (x->write && x->in_place != y->in_place) || x->is_parameter != y->is_parameter)
            return false;
    }
    return a->slot_count == b->slot_count;
}

static joule_status check(const forge_graph *before, const forge_graph *after, joule_error *error)
{
    if (!after)
        return error_set(error, JOULE_FAILED, "the pass returned no graph");
    if (!same_ports(before, before->inputs, before->input_count, after, after->inputs, after->input_count))
        return error_set(error, JOULE_FAILED, "the pass changed the graph's inputs");
    if (!same_ports(before, before->outputs, before->output_count, after, after->outputs,
                    after->output_count))
        return error_set(error, JOULE_FAILED, "the pass changed the graph's outputs");
    if (!same_slots(before, after))
        return error_set(error, JOULE_FAILED, "the pass changed the graph's slots");
    return graph_verify(after, error);
}

/* options: the context of the library's own passes. */
static joule_status run_one(const forge_pass *pass, const forge_graph *graph, forge_device *device,
                            forge_compile_options *options, forge_graph **out_graph, double *out_seconds,
                            joule_error *out_error)
{
    joule_error error = {0};
    *out_graph = NULL;
    int64_t start_ns = clock_now_ns();
    joule_status status =
        pass->run(graph, device, is_builtin(pass) ? options : pass->context, out_graph, &error);
    *out_seconds = clock_seconds(clock_now_ns() - start_ns);
    if (status == JOULE_OK)
        status = check(graph, *out_graph, &error);
    if (status == JOULE_OK)
        return status;
    forge_graph_free(*out_graph);
    return error_set(out_error, status, "pass %s: %s", pass->name, error.message);
}

static joule_quantity joules_of(struct program_cost cost)
{
    double joules = cost_joules(cost);
    return expected_quantity(joules, COST_JOULES_LOG_SD,
                             isnan(joules) ? JOULE_CLASS_NONE : JOULE_CLASS_MODELLED);
}

static void report_pass(const forge_compile_options *options, const char *name, double seconds,
                        const forge_graph *before, const forge_graph *after)
{
    if (!options->notify)
        return;
    struct program_cost cost_before = cost_of_graph(before), cost_after = cost_of_graph(after);
    forge_pass_facts facts = {.struct_size = sizeof facts,
                              .name = name,
                              .seconds = seconds,
                              .nodes_before = before->node_count,
                              .nodes_after = after->node_count,
                              .flop_before = cost_before.flop,
                              .flop_after = cost_after.flop,
                              .bytes_before = cost_before.read_bytes + cost_before.written_bytes,
                              .bytes_after = cost_after.read_bytes + cost_after.written_bytes,
                              .joules_before = joules_of(cost_before),
                              .joules_after = joules_of(cost_after)};
    options->notify(&facts, after, options->notify_context);
}

joule_status compile_options_read(const forge_compile_options *options, forge_compile_options *out,
                                  joule_error *out_error)
{
    *out = (forge_compile_options){.struct_size = sizeof *out};
    joule_status status =
        options ? abi_read(out, sizeof *out, SIZE_UP_TO(forge_compile_options, notify_context), options)
                : JOULE_OK;
    return status == JOULE_OK
               ? status
               : error_set(out_error, status,
                           "forge_compile_options: set struct_size to sizeof(forge_compile_options)");
}

joule_status forge_passes_run(const forge_graph *graph, forge_device *device,
                              const forge_compile_options *options, forge_graph **out_graph,
                              joule_error *out_error)
{
    forge_compile_options o;
    struct order order;
    joule_status status = compile_options_read(options, &o, out_error);
    if (status == JOULE_OK && (unsigned)o.precision > FORGE_PRECISION_F16)
        status = error_set(out_error, JOULE_INVALID, "cannot run the passes: unknown precision %u",
                           (unsigned)o.precision);
    if (status != JOULE_OK)
        return status;
    status = make_order(&order, &o, out_error);
    forge_graph *current = graph_retain(graph);
    for (size_t i = 0; status == JOULE_OK && i < order.count; i++) {
        forge_graph *next;
        double seconds;
        status = run_one(order.passes[i], current, device, &o, &next, &seconds, out_error);
        if (status != JOULE_OK)
            break;
        report_pass(&o, order.passes[i]->name, seconds, current, next);
        forge_graph_free(current);
        current = next;
    }
    if (status == JOULE_OK)
        *out_graph = current;
    else
        forge_graph_free(current);
    return status;
}
