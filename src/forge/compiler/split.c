/* compiler/split.c - splits a placed graph into segments; see placed.h.
 *
 * Note: an input, a constant or a read of a slot is copied into each segment that uses it, so these values
 * belong to no segment. Transfers become edges.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "forge/compiler/placed.h"

#define NONE UINT32_MAX

/* State of placed_split. */
struct splitting {
    const forge_graph *graph; /* the placed graph */
    forge_placed *placed;
    uint32_t *device_of; /* one for each place: the index of its device */
    uint32_t *segment;   /* one for each value: the segment that computes it, or NONE */
    forge_value *id;     /* one for each value: its id in the builder of that segment */
    uint32_t *last_user; /* one for each slot: the last segment that uses the slot; 0 if no segment uses it */
    joule_status status;
    joule_error *error;
};

static bool fail(struct splitting *s, joule_status status, const char *message)
{
    if (s->status == JOULE_OK)
        s->status = error_set(s->error, status, "%s", message);
    return false;
}

static bool no_memory(struct splitting *s)
{
    return fail(s, JOULE_NO_MEMORY, "cannot compile a placed program: out of memory");
}

/* --- devices -------------------------------------------------------------------------------------------- */

/* Returns the index of a device in the placed program, and adds the device if it is new. Returns NONE if
 * there are too many devices. */
static uint32_t device_number(forge_placed *placed, forge_device *device)
{
    uint32_t i = 0;
    while (i < placed->device_count && placed->devices[i] != device)
        i++;
    if (i == FORGE_MAX_PLACED_DEVICES)
        return NONE;
    placed->devices[i] = device;
    placed->device_count += i == placed->device_count;
    return i;
}

static bool find_devices(struct splitting *s, const forge_place *places, size_t count)
{
    char message[100], name[PLACE_TEXT];
    if (count == 0)
        return fail(s, JOULE_INVALID, "no device is given");
    for (uint32_t p = 0; p < s->graph->place_count; p++)
        s->device_of[p] = p ? NONE : 0; /* place 0 defaults to the first device */
    for (size_t i = 0; i < count; i++) {
        uint32_t device = device_number(s->placed, places[i].device);
        if (device == NONE)
            return fail(s, JOULE_INVALID, "a placed program can have at most 8 devices");
        for (size_t k = 0; k < i; k++)
            if (placed_is_name(places[k].name, places[i].name))
                return fail(s, JOULE_INVALID, "a place is given twice");
        for (uint32_t p = 0; p < s->graph->place_count; p++)
            if (placed_is_name(s->graph->places[p], places[i].name))
                s->device_of[p] = device;
    }
    for (forge_value v = 1; v < s->graph->value_count; v++)
        if (s->device_of[s->graph->values[v].place] == NONE) {
            snprintf(message, sizeof message, "no device is given for the place %s",
                     place_text(s->graph, s->graph->values[v].place, name));
            return fail(s, JOULE_INVALID, message);
        }
    return true;
}

static forge_builder *builder_of(const struct splitting *s, size_t segment)
{
    return s->placed->segments[segment].builder;
}

static uint32_t device_of(const struct splitting *s, forge_value value)
{
    return s->device_of[s->graph->values[value].place];
}

/* --- segments ------------------------------------------------------------------------------------------- */

static uint32_t new_segment(struct splitting *s, uint32_t device)
{
    forge_placed *placed = s->placed;
    if (!ARRAY_ROOM(placed->segments, placed->segment_capacity, placed->segment_count)) {
        no_memory(s);
        return NONE;
    }
    placed->segments[placed->segment_count] = (struct placed_segment){
        .device = device, .position = placed->segment_counts[device]++, .builder = forge_builder_new()};
    return (uint32_t)placed->segment_count++;
}

/* Returns the first segment of a device whose index is at least `first`. Adds a segment at the end if there
 * is none. Returns NONE if out of memory. */
static uint32_t segment_from(struct splitting *s, uint32_t device, size_t first)
{
    for (size_t i = first; i < s->placed->segment_count; i++)
        if (s->placed->segments[i].device == device)
            return (uint32_t)i;
    return new_segment(s, device);
}

/* --- values --------------------------------------------------------------------------------------------- */

/* Returns the value from which `value` was copied by transfers, or `value` itself. */
static forge_value source_of(const forge_graph *graph, forge_value value)
{
    while (graph_producer(graph, value)->op == OP_TRANSFER)
        value = node_input(graph, graph_producer(graph, value), 0);
    return value;
}

static forge_value input_of(forge_builder *b, const char *name, const struct value *like)
{
    forge_value known = builder_is_ok(b) ? builder_find_input(b, name) : FORGE_NO_VALUE;
    return known ? known : forge_input(b, name, like->dtype, like->shape);
}

static forge_slot slot_of(struct splitting *s, uint32_t segment, uint32_t number)
{
    const struct slot *slot = &s->graph->slots[number];
    forge_builder *b = builder_of(s, segment);
    forge_slot own = forge_state(b, slot->name, slot->dtype, slot->shape, slot->init);
    if (builder_is_ok(b) && slot->is_parameter)
        builder_mark_parameter(b, own);
    if (s->last_user[number] < segment)
        s->last_user[number] = segment;
    return own;
}

static forge_value value_in_segment(struct splitting *s, uint32_t segment, forge_value value);

/* Adds an edge that transfers a value to `segment` from the segment that computes the value. The old value of
 * a slot is transferred from the first segment of the slot's device. Returns the id of the value in the
 * builder of `segment`, or FORGE_NO_VALUE after an error. */
static forge_value add_edge(struct splitting *s, uint32_t segment, forge_value value)
{
    forge_placed *placed = s->placed;
    const struct value *like = &s->graph->values[value];
    uint32_t from = s->segment[value] == NONE ? segment_from(s, device_of(s, value), 0) : s->segment[value];
    struct placed_edge edge = {from, segment, "",
                               forge_dtype_size_bytes(like->dtype, forge_shape_elements(&like->shape))};
    snprintf(edge.name, sizeof edge.name, "%%%u", value);
    forge_builder *b = builder_of(s, segment);
    if (builder_is_ok(b) && builder_find_input(b, edge.name))
        return input_of(b, edge.name, like);
    if (from == NONE || !ARRAY_ROOM(placed->edges, placed->edge_capacity, placed->edge_count)) {
        no_memory(s);
        return FORGE_NO_VALUE;
    }
    placed->edges[placed->edge_count++] = edge;
    forge_builder *source = builder_of(s, from);
    if (builder_is_ok(source) && !builder_find_output(source, edge.name))
        forge_output(source, edge.name, value_in_segment(s, from, value));
    return input_of(b, edge.name, like);
}

/* Returns the id of a value in the builder of `segment`. Adds the value or an edge if the builder does not
 * have the value yet. */
static forge_value value_in_segment(struct splitting *s, uint32_t segment, forge_value value)
{
    forge_builder *b = builder_of(s, segment);
    value = source_of(s->graph, value);
    const struct node *node = graph_producer(s->graph, value);
    const struct input_attributes *input = node->attributes;
    const struct read_attributes *read = node->attributes;
    if (s->segment[value] == segment)
        return s->id[value];
    if (node->op == OP_INPUT)
        return input_of(b, s->graph->inputs[input->index].name, &s->graph->values[value]);
    if (node->op == OP_CONSTANT)
        return builder_emit(b, OP_CONSTANT, node->attributes, node->attributes_size, NULL, 0);
    if (node->op == OP_READ && device_of(s, value) == s->placed->segments[segment].device)
        return forge_read(b, slot_of(s, segment, read->slot));
    return add_edge(s, segment, value);
}

static bool is_leaf(const struct node *node)
{
    return node->op == OP_INPUT || node->op == OP_READ || node->op == OP_CONSTANT;
}

static bool is_read(const struct splitting *s, forge_value value)
{
    return graph_producer(s->graph, value)->op == OP_READ;
}

/* If `value` is transferred from a slot on another device, ensures that the other device has a segment in
 * which the slot is read. */
static bool add_transfer(struct splitting *s, forge_value value)
{
    forge_value source = source_of(s->graph, value);
    if (is_read(s, source) && device_of(s, source) != device_of(s, value))
        segment_from(s, device_of(s, source), 0);
    return s->status == JOULE_OK;
}

/* Returns the segment for a node: the last segment if it runs on the node's device, otherwise a new segment.
 * Returns NONE if out of memory. */
static uint32_t segment_of(struct splitting *s, const struct node *node)
{
    size_t count = s->placed->segment_count;
    uint32_t device = device_of(s, node->output);
    return count && s->placed->segments[count - 1].device == device ? (uint32_t)count - 1
                                                                    : new_segment(s, device);
}

static bool add_node(struct splitting *s, const struct node *node)
{
    forge_value inputs[UINT8_MAX];
    if (is_leaf(node))
        return true;
    if (node->op == OP_TRANSFER)
        return add_transfer(s, node->output);
    uint32_t segment = segment_of(s, node);
    if (segment == NONE)
        return false;
    forge_builder *b = builder_of(s, segment);
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = value_in_segment(s, segment, node_input(s->graph, node, i));
    if (!builder_is_ok(b))
        return s->status == JOULE_OK; /* the error is reported when the segment is finished */
    builder_set_provenance(b, s->graph, node);
    b->place = 0; /* a segment has one device */
    if (node->op == OP_COMPOSITE &&
        !builder_share_body(b, ((const struct composite_attributes *)node->attributes)->body))
        return no_memory(s);
    forge_value value = builder_emit(b, (enum op)node->op, node->attributes, node->attributes_size, inputs,
                                     node->input_count);
    for (uint32_t i = 0; i < node->output_count; i++) {
        s->segment[node->output + i] = segment;
        s->id[node->output + i] = value + i;
    }
    return s->status == JOULE_OK;
}

/* --- outputs and writes --------------------------------------------------------------------------------- */

/* Returns the segment that computes the value. If no segment computes it, returns the first segment of its
 * device. */
static uint32_t find_home(struct splitting *s, forge_value value)
{
    return s->segment[value] == NONE ? segment_from(s, device_of(s, value), 0) : s->segment[value];
}

static bool add_outputs(struct splitting *s)
{
    for (size_t i = 0; i < s->graph->output_count; i++) {
        forge_value value = source_of(s->graph, s->graph->outputs[i].value);
        uint32_t segment = find_home(s, value);
        if (segment == NONE)
            return false;
        forge_output(builder_of(s, segment), s->graph->outputs[i].name, value_in_segment(s, segment, value));
    }
    return s->status == JOULE_OK;
}

/* Returns the first segment in which a write on `device` can use `value`. If `value` is the old value of a
 * slot, this is the last segment of the device, so that the copy comes after all other readers. */
static uint32_t first_available(struct splitting *s, uint32_t device, forge_value value)
{
    if (!is_read(s, value))
        return s->segment[value] == NONE ? 0 : s->segment[value];
    uint32_t first = device_of(s, value) == device ? 0 : find_home(s, value);
    for (uint32_t i = first; i < s->placed->segment_count; i++)
        first = s->placed->segments[i].device == device ? i : first;
    return first;
}

/* Returns the segment that writes the slot. The segment is on the slot's device, not before any reader of the
 * slot, and not before `value` is available. */
static uint32_t segment_of_write(struct splitting *s, const struct slot *slot, forge_value value)
{
    uint32_t device = device_of(s, slot->write), first = s->last_user[slot - s->graph->slots],
             available = first_available(s, device, value);
    return segment_from(s, device, available > first ? available : first);
}

static bool add_write(struct splitting *s, const struct slot *slot)
{
    char message[400];
    forge_value value = source_of(s->graph, slot->write);
    uint32_t segment = segment_of_write(s, slot, value);
    if (segment == NONE)
        return false;
    bool is_there = s->segment[value] == segment ||
                    (is_read(s, value) && device_of(s, value) == device_of(s, slot->write));
    if (slot->in_place && !is_there) {
        snprintf(message, sizeof message,
                 "slot '%.300s' cannot be written in place: another segment computes its value", slot->name);
        return fail(s, JOULE_FAILED, message);
    }
    forge_builder *b = builder_of(s, segment);
    forge_value own = value_in_segment(s, segment, value);
    forge_write(b, slot_of(s, segment, (uint32_t)(slot - s->graph->slots)), own, slot->in_place);
    return s->status == JOULE_OK;
}

/* Returns the round of add_writes in which the write of a slot is added. Writes that copy the old value of
 * another slot come first, because they are readers of that slot. Round 0: the other slot is on another
 * device, so a segment may be added for the read. Round 1: the other slot is on the same device. Round 2: all
 * other values. */
static unsigned round_of(const struct splitting *s, const struct slot *slot)
{
    forge_value value = source_of(s->graph, slot->write);
    return !is_read(s, value) ? 2 : device_of(s, value) == device_of(s, slot->write);
}

static bool add_writes(struct splitting *s)
{
    for (unsigned round = 0; round < 3; round++)
        for (size_t i = 0; i < s->graph->slot_count; i++) {
            const struct slot *slot = &s->graph->slots[i];
            if (slot->write && round_of(s, slot) == round && !add_write(s, slot))
                return false;
        }
    return true;
}

static bool is_used(const struct splitting *s, const char *input)
{
    for (size_t i = 0; i < s->placed->segment_count; i++)
        if (builder_is_ok(builder_of(s, i)) && builder_find_input(builder_of(s, i), input))
            return true;
    return false;
}

/* Adds inputs that no node uses to the first segment, so that callers can set them. */
static void add_inputs(struct splitting *s)
{
    for (size_t i = 0; i < s->graph->input_count; i++)
        if (!is_used(s, s->graph->inputs[i].name))
            input_of(builder_of(s, 0), s->graph->inputs[i].name,
                     &s->graph->values[s->graph->inputs[i].value]);
}

/* --- all ------------------------------------------------------------------------------------------------ */

static bool allocate(struct splitting *s)
{
    s->device_of = calloc(s->graph->place_count, sizeof *s->device_of);
    s->segment = malloc(s->graph->value_count * sizeof *s->segment);
    s->id = calloc(s->graph->value_count, sizeof *s->id);
    s->last_user = calloc(s->graph->slot_count + 1, sizeof *s->last_user);
    if (!s->device_of || !s->segment || !s->id || !s->last_user)
        return no_memory(s);
    for (size_t v = 0; v < s->graph->value_count; v++)
        s->segment[v] = NONE;
    return true;
}

static void finish(struct splitting *s)
{
    joule_error error = {0};
    for (size_t i = 0; i < s->placed->segment_count; i++) {
        joule_status status = s->status;
        if (status != JOULE_OK)
            forge_builder_free(builder_of(s, i));
        else
            status = forge_builder_finish(builder_of(s, i), &s->placed->segments[i].graph, &error);
        if (status != JOULE_OK)
            fail(s, status, error.message);
    }
    free(s->device_of);
    free(s->segment);
    free(s->id);
    free(s->last_user);
}

joule_status placed_split(const forge_graph *graph, const forge_place *places, size_t count,
                          forge_placed *placed, joule_error *out_error)
{
    struct splitting s = {.graph = graph, .placed = placed, .error = out_error};
    bool is_ok = allocate(&s) && find_devices(&s, places, count);
    for (size_t n = 0; is_ok && n < graph->node_count; n++)
        is_ok = add_node(&s, &graph->nodes[n]);
    if (is_ok && add_outputs(&s) && add_writes(&s))
        add_inputs(&s);
    finish(&s);
    return s.status;
}
