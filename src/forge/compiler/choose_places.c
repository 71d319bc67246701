/* compiler/choose_places.c - forge_choose_places: what the nodes of a graph cost on each device, and the
 * graph with the chosen places; see place_choice.h.
 *
 * A part is a node, or a slot's read together with the node that writes the slot. */
#include <forge/placed.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/arena.h"
#include "base/error.h"
#include "forge/compiler/pass.h"
#include "forge/compiler/place_choice.h"
#include "forge/compiler/placed.h"
#include "forge/compiler/schedule.h"
#include "forge/hal/backend.h"
#include "forge/ir/library.h"
#include "forge/ir/operation_cost.h"

struct choosing {
    const forge_graph *graph;
    const forge_place *places;
    struct device_rates rates[MAX_PLACES];
    struct place_problem problem;
    struct place_cost *costs;
    struct place_edge *edges;
    double *bytes;
    uint32_t *part;               /* by node: the node that stands for its part */
    uint8_t *chosen;              /* by part */
    uint8_t *scratch;             /* by value */
    forge_value *copy;            /* by node: its first value in the copy of the graph */
    uint32_t numbers[MAX_PLACES]; /* of the places in the copy */
};

/* --- costs ---------------------------------------------------------------------------------------------- */

/* Returns the cost of one launch on all cores of a device. */
static struct place_cost cost_of_work(forge_device *device, const struct device_rates *rates,
                                      const struct launch *launch, const struct program_cost *cost)
{
    struct schedule_access accesses[PROGRAM_MAX_OPERANDS];
    double distances[PROGRAM_MAX_OPERANDS], bytes[PROGRAM_MAX_OPERANDS], operands = 0;
    size_t count = launch->input_count + launch->output_count;
    struct schedule_launch work = {.flop = cost->flop * (launch->outputs[0].dtype == FORGE_F64 ? 2 : 1),
                                   .work = {.parts = 1},
                                   .read_count = (uint32_t)launch->input_count,
                                   .write_count = (uint32_t)launch->output_count};
    const struct schedule_problem problem = {
        .rates = rates, .accesses = accesses, .launches = &work, .access_count = count, .launch_count = 1};
    device->ops->work(device, launch, cost, &work.work);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = cost_view_bytes(i < launch->input_count ? &launch->inputs[i]
                                                           : &launch->outputs[i - launch->input_count]);
        operands += bytes[i];
    }
    schedule_divide_bytes(bytes, launch->input_count, launch->output_count, cost->read_bytes,
                          cost->written_bytes, bytes);
    for (size_t i = 0; i < count; i++) {
        accesses[i] = (struct schedule_access){.bytes = bytes[i]};
        distances[i] = operands;
    }
    struct schedule_cost sum =
        schedule_launch_cost(&problem, 0, schedule_useful_cores(rates, &work), distances);
    return (struct place_cost){sum.seconds, sum.joules};
}

static struct place_cost cost_of_nodes(const forge_graph *graph, forge_device *device,
                                       const struct device_rates *rates);

/* Returns the cost of a node. Of a composite without a kernel, returns the cost of its body. A node that
 * writes only parts of its first operand counts as in place, as in a schedule. */
static struct place_cost cost_on(const forge_graph *graph, const struct node *node, forge_device *device,
                                 const struct device_rates *rates)
{
    static const int64_t no_symbols[1];
    struct view views[PROGRAM_MAX_OPERANDS];
    struct selection selection;
    const struct composite_attributes *composite = node->op == OP_COMPOSITE ? node->attributes : NULL;
    size_t inputs = node->input_count;
    struct launch launch = {.op = (enum op)node->op,
                            .attributes = node->attributes,
                            .inputs = views,
                            .input_count = inputs,
                            .outputs = views + inputs,
                            .output_count = node->output_count};
    if (inputs + (node->op == OP_IOTA) == 0 || node_is_view(node) || node->op == OP_TRANSFER)
        return (struct place_cost){0};
    for (size_t i = 0; i < inputs + node->output_count; i++) {
        const struct value *value =
            &graph
                 ->values[i < inputs ? node_input(graph, node, i) : node->output + (forge_value)(i - inputs)];
        views[i] = view_packed(value->dtype, &views[i], value->shape);
    }
    if (device->ops->select(device, &launch, &selection) != JOULE_OK)
        return composite ? cost_of_nodes(composite->body, device, rates)
                         : (struct place_cost){INFINITY, INFINITY};
    if (library_copies_rest((enum op)node->op, node->attributes) && in_place_may(selection.in_place, 0, 0))
        views[inputs].data = views[0].data; /* costs of launches recognise an in-place launch by this */
    struct program_cost cost =
        composite ? cost_of_composite(&launch, composite->body, no_symbols, 0) : cost_of_launch(&launch);
    return cost_of_work(device, rates, &launch, &cost);
}

static struct place_cost cost_of_nodes(const forge_graph *graph, forge_device *device,
                                       const struct device_rates *rates)
{
    struct place_cost sum = {0};
    for (size_t n = 0; n < graph->node_count; n++) {
        struct place_cost cost = cost_on(graph, &graph->nodes[n], device, rates);
        sum.seconds += cost.seconds;
        sum.joules += cost.joules;
    }
    return sum;
}

/* Sets the costs of a transfer: both devices move each byte between memory and the other one, one after the
 * other. */
static void set_transfer(struct choosing *c, size_t i, size_t k)
{
    const size_t ends[] = {i, k};
    struct place_cost *start = &c->problem.start[i][k], *per_byte = &c->problem.per_byte[i][k];
    bool is_needed = c->places[i].device != c->places[k].device;
    for (int end = 0; is_needed && end < 2; end++) {
        const struct device_rates *r = &c->rates[ends[end]];
        double watts = r->static_watts + r->core_watts;
        double seconds =
            1 / fmin(r->cores * r->core_bytes_per_s[RATE_MEMORY], r->total_bytes_per_s[RATE_MEMORY]);
        start->seconds += r->launch_s;
        start->joules += r->launch_s * watts;
        per_byte->seconds += seconds;
        per_byte->joules += r->byte_joules[RATE_MEMORY] + seconds * watts;
    }
}

/* --- parts ---------------------------------------------------------------------------------------------- */

static uint32_t part_of(const struct choosing *c, forge_value value)
{
    return c->part[c->graph->values[value].node];
}

/* Joins the node that writes a slot with the read of the slot: a slot has one place. */
static void join_slots(struct choosing *c)
{
    for (uint32_t n = 0; n < c->graph->node_count; n++)
        c->part[n] = n;
    for (size_t i = 0; i < c->graph->slot_count; i++) {
        const struct slot *slot = &c->graph->slots[i];
        if (!slot->read || !slot->write)
            continue;
        uint32_t from = part_of(c, slot->write), to = part_of(c, slot->read);
        for (uint32_t n = 0; n < c->graph->node_count; n++)
            c->part[n] = c->part[n] == from ? to : c->part[n];
    }
}

static void add_edge(struct choosing *c, forge_value value, uint32_t to)
{
    uint32_t from = part_of(c, value);
    enum op op = (enum op)graph_producer(c->graph, value)->op;
    if (from != to && op != OP_CONSTANT && op != OP_INPUT) /* both are on all places */
        c->edges[c->problem.edge_count++] = (struct place_edge){value, from, to};
}

static void add_edges(struct choosing *c)
{
    const forge_graph *graph = c->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++)
            add_edge(c, node_input(graph, &graph->nodes[n], i), c->part[n]);
    for (forge_value v = 1; v < graph->value_count; v++)
        c->bytes[v] = (double)forge_dtype_size_bytes(graph->values[v].dtype,
                                                     forge_shape_elements(&graph->values[v].shape));
}

/* Returns the index of the place in the caller's list; `count` if it is missing there. */
static size_t find_place(const struct choosing *c, const char *name)
{
    size_t i = 0;
    while (i < c->problem.place_count && !placed_is_name(c->places[i].name, name))
        i++;
    return i;
}

/* Adds the cost of each node to its part. A node with a place can run only there. */
static joule_status add_costs(struct choosing *c, joule_error *error)
{
    size_t count = c->problem.place_count;
    joule_status status = JOULE_OK;
    for (uint32_t n = 0; status == JOULE_OK && n < c->graph->node_count; n++) {
        const struct node *node = &c->graph->nodes[n];
        const char *name = c->graph->places[node_place(c->graph, node)];
        size_t fixed = name ? find_place(c, name) : count;
        if (name && fixed == count) {
            status = error_set(error, JOULE_INVALID, "no device is given for the place '%s'", name);
            break;
        }
        bool can_run = false;
        for (size_t i = 0; i < count; i++) {
            struct place_cost cost = {INFINITY, INFINITY};
            if (!name || i == fixed)
                cost = cost_on(c->graph, node, c->places[i].device, &c->rates[i]);
            can_run |= isfinite(cost.seconds);
            c->costs[c->part[n] * count + i].seconds += cost.seconds;
            c->costs[c->part[n] * count + i].joules += cost.joules;
        }
        if (!can_run)
            status = error_set(error, JOULE_UNSUPPORTED, "no device has a kernel for %s in '%s'",
                               op_name((enum op)node->op), c->graph->scopes[node->scope]);
    }
    return status;
}

/* --- the graph ------------------------------------------------------------------------------------------ */

static bool copy_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                      forge_value *map, void *context)
{
    struct choosing *c = context;
    if (node == graph->nodes)
        for (size_t i = 0; i < c->problem.place_count; i++)
            c->numbers[i] = builder_add_place(builder, c->places[i].name);
    if (!builder_copy_node(builder, graph, node, map))
        return false;
    c->copy[node - graph->nodes] = map[node->output];
    return true;
}

/* Copies the graph with the chosen places. The copy has the same nodes, because a finished graph has no dead
 * and no equal ones. */
static joule_status make_graph(struct choosing *c, forge_graph **out_graph, joule_error *error)
{
    forge_graph *graph = NULL;
    joule_status status = pass_each_node(c->graph, copy_node, c, &graph, error);
    for (uint32_t n = 0; status == JOULE_OK && n < c->graph->node_count; n++)
        for (size_t k = 0; k < c->graph->nodes[n].output_count; k++)
            graph->values[c->copy[n] + k].place = c->numbers[c->chosen[c->part[n]]];
    *out_graph = graph;
    return status;
}

/* Returns the best costs with all parts that can run there on one place, and the others where they are. */
static struct place_cost best_single(struct choosing *c, uint8_t *places, size_t *out_moved)
{
    struct place_cost best = {NAN, NAN};
    double least = INFINITY;
    const struct place_problem *p = &c->problem;
    *out_moved = 0;
    for (uint8_t place = 0; place < p->place_count; place++) {
        size_t moved = 0;
        for (size_t i = 0; i < p->part_count; i++) {
            bool can_run = isfinite(p->costs[i * p->place_count + place].seconds);
            places[i] = can_run ? place : c->chosen[i];
        }
        for (size_t n = 0; n < c->graph->node_count; n++)
            moved += places[c->part[n]] != c->chosen[c->part[n]];
        struct place_cost cost = place_sum_of(p, places, c->scratch).cost;
        double score = place_score(p, cost);
        if (!(score < least))
            continue;
        least = score;
        best = cost;
        *out_moved = moved;
    }
    return best;
}

static void fill_facts(struct choosing *c, uint8_t *places, forge_places_facts *out)
{
    forge_places_facts facts = {.struct_size = sizeof facts, .objective = c->problem.objective};
    struct place_sum sum = place_sum_of(&c->problem, c->chosen, c->scratch);
    struct place_cost single = best_single(c, places, &facts.moved);
    facts.single_seconds = single.seconds;
    facts.single_joules = single.joules;
    facts.chosen_seconds = sum.cost.seconds;
    facts.chosen_joules = sum.cost.joules;
    facts.transfer_count = sum.transfers;
    facts.transfer_bytes = sum.transfer_bytes;
    abi_write(out, &facts, sizeof facts);
}

/* Returns JOULE_INVALID if the graph, the places or the objective cannot be used. */
static joule_status check(const forge_graph *graph, const forge_place *places, size_t count,
                          forge_minimise objective, const forge_places_facts *facts, joule_error *error)
{
    if (facts && !abi_has_room(facts, SIZE_UP_TO(forge_places_facts, transfer_bytes)))
        return error_set(error, JOULE_INVALID,
                         "forge_places_facts: set struct_size to sizeof(forge_places_facts)");
    if (graph->dims.count)
        return error_set(
            error, JOULE_INVALID,
            "places cannot be chosen for symbolic sizes: give them numbers with forge_graph_bind");
    if (count == 0 || count > MAX_PLACES)
        return error_set(error, JOULE_INVALID, "1 to %d places can be chosen from, not %zu", MAX_PLACES,
                         count);
    if (objective < FORGE_MINIMISE_ENERGY || objective > FORGE_MINIMISE_EDP)
        return error_set(error, JOULE_INVALID, "the objective of a choice of places is invalid");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (placed_is_name(places[i].name, places[k].name))
                return error_set(error, JOULE_INVALID, "a place is given twice");
    return JOULE_OK;
}

static joule_status choose(struct choosing *c, struct arena *arena, forge_graph **out_graph,
                           forge_places_facts *out_facts, joule_error *error)
{
    size_t nodes = c->graph->node_count + 1, count = c->problem.place_count;
    size_t edges = c->graph->edge_count + 1;
    uint8_t *places = arena_alloc(arena, nodes);
    c->part = arena_alloc(arena, nodes * sizeof *c->part);
    c->chosen = arena_alloc(arena, nodes);
    c->copy = arena_alloc(arena, nodes * sizeof *c->copy);
    c->costs = arena_alloc(arena, nodes * count * sizeof *c->costs);
    c->edges = arena_alloc(arena, edges * sizeof *c->edges);
    c->bytes = arena_alloc(arena, (c->graph->value_count + 1) * sizeof *c->bytes);
    c->scratch = arena_alloc(arena, c->graph->value_count + 1);
    if (!places || !c->part || !c->chosen || !c->copy || !c->costs || !c->edges || !c->bytes || !c->scratch)
        return error_set(error, JOULE_NO_MEMORY, "cannot choose places: out of memory");
    memset(c->costs, 0, nodes * count * sizeof *c->costs);
    c->problem.costs = c->costs;
    c->problem.edges = c->edges;
    c->problem.bytes = c->bytes;
    c->problem.part_count = c->graph->node_count;
    c->problem.value_count = c->graph->value_count;
    join_slots(c);
    add_edges(c);
    joule_status status = add_costs(c, error);
    if (status == JOULE_OK && !place_choose(&c->problem, c->chosen))
        status = error_set(error, JOULE_NO_MEMORY, "cannot choose places: out of memory");
    if (status == JOULE_OK && out_facts)
        fill_facts(c, places, out_facts);
    return status == JOULE_OK ? make_graph(c, out_graph, error) : status;
}

joule_status forge_choose_places(const forge_graph *graph, const forge_place *places, size_t count,
                                 forge_minimise objective, forge_graph **out_graph,
                                 forge_places_facts *out_facts, joule_error *out_error)
{
    struct choosing c = {.graph = graph, .places = places};
    struct arena arena = {0};
    joule_status status = check(graph, places, count, objective, out_facts, out_error);
    c.problem.place_count = count;
    c.problem.objective = objective;
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        status = places[i].device->ops->rates(places[i].device, &c.rates[i], out_error);
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        for (size_t k = 0; k < count; k++)
            set_transfer(&c, i, k);
    if (status == JOULE_OK)
        status = choose(&c, &arena, out_graph, out_facts, out_error);
    arena_free(&arena);
    return status;
}
