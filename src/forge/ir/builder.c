/* ir/builder.c - see builder.h. */
#include "forge/ir/builder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "forge/ir/infer.h"

#define NO_INDEX UINT32_MAX

bool builder_is_ok(const forge_builder *builder)
{
    return builder && !builder->has_failed;
}

bool builder_take_options(forge_builder *builder, const char *what, const char *type, void *ours,
                          size_t our_size, size_t first_size, const void *given)
{
    joule_status status = abi_read(ours, our_size, first_size, given);
    if (status == JOULE_UNSUPPORTED)
        forge_builder_fail(builder, "%s: %s sets a member that this library does not know", what, type);
    else if (status != JOULE_OK)
        forge_builder_fail(builder, "%s: set struct_size to sizeof(%s)", what, type);
    return builder_is_ok(builder);
}

forge_value builder_fail(forge_builder *builder, joule_status status, const char *message)
{
    if (builder_is_ok(builder)) {
        const char *scope = builder->graph->scopes[builder->scope];
        error_set(&builder->error, status, "%s%s%s", scope, *scope ? ": " : "", message);
        builder->has_failed = true;
    }
    return FORGE_NO_VALUE;
}

void forge_builder_fail(forge_builder *builder, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    builder_fail(builder, JOULE_INVALID, message);
}

static forge_value out_of_memory(forge_builder *builder)
{
    return builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
}

/* --- creation and release ------------------------------------------------------------------------------- */

static forge_graph *graph_new(void)
{
    forge_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return NULL;
    atomic_init(&graph->references, 1);
    if (!ARRAY_ROOM(graph->values, graph->value_capacity, graph->value_count) ||
        !ARRAY_ROOM(graph->scopes, graph->scope_capacity, graph->scope_count) ||
        !ARRAY_ROOM(graph->places, graph->place_capacity, graph->place_count)) {
        forge_graph_free(graph);
        return NULL;
    }
    graph->values[graph->value_count++] = (struct value){0};
    graph->scopes[graph->scope_count++] = "";
    graph->places[graph->place_count++] = NULL;
    return graph;
}

void forge_graph_free(forge_graph *graph)
{
    if (!graph || atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) > 1)
        return;
    for (size_t i = 0; i < graph->body_count; i++)
        forge_graph_free(graph->bodies[i]);
    arena_free(&graph->arena);
    dim_table_free(&graph->dims);
    free(graph->nodes);
    free(graph->values);
    free(graph->edges);
    free(graph->inputs);
    free(graph->outputs);
    free(graph->slots);
    free(graph->scopes);
    free(graph->places);
    free(graph->bodies);
    free(graph);
}

static struct index_key scope_key(const void *graph, uint32_t scope)
{
    return index_name(((const forge_graph *)graph)->scopes[scope]);
}

static struct index_key slot_key(const void *graph, uint32_t slot)
{
    return index_name(((const forge_graph *)graph)->slots[slot].name);
}

static struct index_key input_key(const void *graph, uint32_t input)
{
    return index_name(((const forge_graph *)graph)->inputs[input].name);
}

static struct index_key output_key(const void *graph, uint32_t output)
{
    return index_name(((const forge_graph *)graph)->outputs[output].name);
}

static struct index_key body_key(const void *graph, uint32_t body)
{
    return (struct index_key){&((const forge_graph *)graph)->bodies[body], sizeof(forge_graph *)};
}

forge_builder *builder_new(const struct dim_table *dims)
{
    forge_builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return NULL;
    builder->graph = graph_new();
    builder->scope_index.key_of = scope_key;
    builder->slot_index.key_of = slot_key;
    builder->input_index.key_of = input_key;
    builder->output_index.key_of = output_key;
    builder->body_index.key_of = body_key;
    if (!builder->graph || !index_add(&builder->scope_index, builder->graph, 0) ||
        (dims && !dim_table_copy(&builder->graph->dims, dims))) {
        forge_builder_free(builder);
        return NULL;
    }
    return builder;
}

forge_builder *forge_builder_new(void)
{
    return builder_new(NULL);
}

void forge_builder_free(forge_builder *builder)
{
    if (!builder)
        return;
    forge_graph_free(builder->graph);
    index_free(&builder->scope_index);
    index_free(&builder->slot_index);
    index_free(&builder->input_index);
    index_free(&builder->output_index);
    index_free(&builder->body_index);
    free(builder->parameters);
    free(builder->interned);
    free(builder->regions);
    free(builder);
}

/* --- values --------------------------------------------------------------------------------------------- */

forge_shape forge_value_shape(const forge_builder *builder, forge_value value)
{
    return builder && value < builder->graph->value_count ? builder->graph->values[value].shape
                                                          : (forge_shape){0};
}

forge_dtype forge_value_dtype(const forge_builder *builder, forge_value value)
{
    return builder && value < builder->graph->value_count ? builder->graph->values[value].dtype
                                                          : FORGE_DTYPE_NONE;
}

/* --- interning ------------------------------------------------------------------------------------------ */

/* The key of a node in the hash table. Nodes with equal keys are equal. */
struct key {
    enum op op;
    uint32_t recompute_region, place;
    const void *attributes;
    size_t size;
    const forge_value *inputs;
    size_t count;
};

static uint64_t hash_key(const struct key *key)
{
    uint64_t hash = hash_bytes(HASH_START, &key->op, sizeof key->op);
    hash = hash_bytes(hash, &key->recompute_region, sizeof key->recompute_region);
    hash = hash_bytes(hash, &key->place, sizeof key->place);
    hash = hash_bytes(hash, key->attributes, key->size);
    hash = hash_bytes(hash, key->inputs, key->count * sizeof *key->inputs);
    return hash ^ hash >> 29; /* mixes high bits into the low bits, which select the table's entry */
}

static struct key key_of(const forge_graph *graph, const struct node *node)
{
    return (struct key){.op = (enum op)node->op,
                        .recompute_region = node->recompute_region,
                        .place = node_place(graph, node),
                        .attributes = node->attributes,
                        .size = node->attributes_size,
                        .inputs = node->input_count ? graph->edges + node->first_input : NULL,
                        .count = node->input_count};
}

static bool is_same_key(const struct key *a, const struct key *b)
{
    return a->op == b->op && a->recompute_region == b->recompute_region && a->place == b->place &&
           a->count == b->count && a->size == b->size && memcmp(a->attributes, b->attributes, a->size) == 0 &&
           (a->count == 0 || memcmp(a->inputs, b->inputs, a->count * sizeof *a->inputs) == 0);
}

/* Adds the node to the hash table, which must have a free entry. */
static void intern(forge_builder *builder, uint32_t node)
{
    struct key key = key_of(builder->graph, &builder->graph->nodes[node]);
    size_t mask = builder->interned_size - 1, at = hash_key(&key) & mask;
    while (builder->interned[at])
        at = (at + 1) & mask;
    builder->interned[at] = node + 1;
}

/* Ensures that the table has a free entry for one more node, and is at most half full. Returns false if out
 * of memory. */
static bool grow_table(forge_builder *builder)
{
    size_t nodes = builder->graph->node_count;
    if ((nodes + 1) * 2 <= builder->interned_size)
        return true;
    size_t size = builder->interned_size ? builder->interned_size * 2 : 64;
    uint32_t *table = calloc(size, sizeof *table);
    if (!table)
        return false;
    free(builder->interned);
    builder->interned = table;
    builder->interned_size = size;
    for (uint32_t i = 0; i < nodes; i++)
        intern(builder, i);
    return true;
}

/* Returns the index of an equal node, or NO_INDEX. */
static uint32_t find_node(const forge_builder *builder, const struct key *key)
{
    size_t mask = builder->interned_size - 1;
    for (size_t at = hash_key(key) & mask; builder->interned[at]; at = (at + 1) & mask) {
        uint32_t node = builder->interned[at] - 1;
        struct key other = key_of(builder->graph, &builder->graph->nodes[node]);
        if (is_same_key(key, &other))
            return node;
    }
    return NO_INDEX;
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

/* Ensures capacity for one more node with these numbers of inputs and outputs. Returns false if out of
 * memory. */
static bool reserve(forge_builder *builder, size_t inputs, size_t outputs)
{
    forge_graph *g = builder->graph;
    return grow_table(builder) && ARRAY_ROOM(g->nodes, g->node_capacity, g->node_count) &&
           array_reserve((void **)&g->edges, &g->edge_capacity, g->edge_count + inputs, sizeof *g->edges) &&
           array_reserve((void **)&g->values, &g->value_capacity, g->value_count + outputs,
                         sizeof *g->values) &&
           g->value_count + outputs < UINT32_MAX && g->edge_count + inputs < UINT32_MAX;
}

/* Returns a copy of `bytes` in the arena, or NULL if out of memory. */
static void *copy_bytes(struct arena *arena, const void *bytes, size_t size)
{
    void *copy = arena_alloc(arena, size);
    return copy ? memcpy(copy, bytes, size) : NULL;
}

/* Adds a node with the inferred outputs. Returns its first output. If out of memory, fails the builder and
 * returns FORGE_NO_VALUE. */
static forge_value append(forge_builder *builder, const struct inference *inferred, const struct key *key)
{
    forge_graph *graph = builder->graph;
    struct node node = {.op = (uint8_t)inferred->op,
                        .phase = (uint8_t)builder->phase,
                        .input_count = (uint8_t)inferred->input_count,
                        .output_count = (uint8_t)inferred->output_count,
                        .first_input = (uint32_t)graph->edge_count,
                        .output = (forge_value)graph->value_count,
                        .scope = builder->scope,
                        .recompute_region = key->recompute_region,
                        .attributes_size = (uint32_t)key->size};
    if (!reserve(builder, inferred->input_count, inferred->output_count) ||
        !(node.attributes = copy_bytes(&graph->arena, key->attributes, key->size)))
        return out_of_memory(builder);
    for (size_t i = 0; i < inferred->input_count; i++)
        graph->edges[graph->edge_count++] = key->inputs[i];
    for (size_t i = 0; i < inferred->output_count; i++) {
        graph->values[graph->value_count] = inferred->outputs[i];
        graph->values[graph->value_count++].node = (uint32_t)graph->node_count;
    }
    graph->nodes[graph->node_count++] = node;
    intern(builder, (uint32_t)graph->node_count - 1);
    return node.output;
}

forge_value builder_emit(forge_builder *builder, enum op op, const void *attributes, size_t size,
                         const forge_value *inputs, size_t count)
{
    if (!builder_is_ok(builder))
        return FORGE_NO_VALUE;
    forge_graph *graph = builder->graph;
    struct inference inference = {
        .graph = graph, .op = op, .attributes = attributes, .place = builder->place, .input_count = count};
    if (!op_takes_inputs(op, count)) {
        forge_builder_fail(builder, "%s does not take %zu inputs", op_name(op), count);
        return FORGE_NO_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        if (inputs[i] == FORGE_NO_VALUE || inputs[i] >= graph->value_count) {
            forge_builder_fail(builder, "%s: input %zu is not a value of this builder", op_name(op), i);
            return FORGE_NO_VALUE;
        }
        inference.inputs[i] = &graph->values[inputs[i]];
    }
    /* Leaves have the same value in every region, so all regions share one node. */
    bool is_leaf = op == OP_INPUT || op == OP_READ || op == OP_CONSTANT;
    uint32_t region = is_leaf ? 0 : builder->recompute_region;
    struct key key = {op, region, builder->place, attributes, size, inputs, count};
    uint32_t known = builder->interned_size ? find_node(builder, &key) : NO_INDEX;
    if (known != NO_INDEX)
        return graph->nodes[known].output;
    if (!infer(&inference))
        return builder_fail(builder, JOULE_INVALID, inference.message);
    return append(builder, &inference, &key);
}

/* --- finishing ------------------------------------------------------------------------------------------ */

static void mark_needed(const forge_graph *graph, forge_value value, bool *is_needed)
{
    if (value)
        is_needed[graph->values[value].node] = true;
}

/* Returns an array, [graph->node_count], that is true for each node that an output or a write needs; NULL if
 * out of memory. The caller frees it. Unused inputs count as needed, because they are part of the graph's
 * interface. */
static bool *find_needed(const forge_graph *graph)
{
    bool *is_needed = calloc(graph->node_count + 1, sizeof *is_needed);
    if (!is_needed)
        return NULL;
    for (size_t i = 0; i < graph->output_count; i++)
        mark_needed(graph, graph->outputs[i].value, is_needed);
    for (size_t i = 0; i < graph->slot_count; i++)
        mark_needed(graph, graph->slots[i].write, is_needed);
    for (size_t n = graph->node_count; n-- > 0;) {
        is_needed[n] |= graph->nodes[n].op == OP_INPUT;
        for (size_t i = 0; is_needed[n] && i < graph->nodes[n].input_count; i++)
            mark_needed(graph, node_input(graph, &graph->nodes[n], i), is_needed);
    }
    return is_needed;
}

/* Removes the nodes that are not needed, and renumbers the others, their values and their edges in the same
 * order. map: [old value count], gets the new ids. */
static void remove_others(forge_graph *graph, const bool *is_needed, forge_value *map)
{
    size_t nodes = 0, values = 1, edges = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        struct node node = graph->nodes[n];
        if (!is_needed[n])
            continue;
        for (size_t i = 0; i < node.input_count; i++)
            graph->edges[edges + i] = map[graph->edges[node.first_input + i]];
        for (size_t i = 0; i < node.output_count; i++) {
            map[node.output + i] = (forge_value)(values + i);
            graph->values[values + i] = graph->values[node.output + i];
            graph->values[values + i].node = (uint32_t)nodes;
        }
        node.first_input = (uint32_t)edges;
        node.output = (forge_value)values;
        edges += node.input_count;
        values += node.output_count;
        graph->nodes[nodes++] = node;
    }
    graph->node_count = nodes;
    graph->value_count = values;
    graph->edge_count = edges;
}

static bool remove_unneeded(forge_graph *graph)
{
    bool *is_needed = find_needed(graph);
    forge_value *map = calloc(graph->value_count, sizeof *map);
    bool done = is_needed && map;
    if (done) {
        remove_others(graph, is_needed, map);
        for (size_t i = 0; i < graph->input_count; i++)
            graph->inputs[i].value = map[graph->inputs[i].value];
        for (size_t i = 0; i < graph->output_count; i++)
            graph->outputs[i].value = map[graph->outputs[i].value];
        for (size_t i = 0; i < graph->slot_count; i++) {
            graph->slots[i].read = map[graph->slots[i].read];
            graph->slots[i].write = map[graph->slots[i].write];
        }
    }
    free(is_needed);
    free(map);
    return done;
}

joule_status forge_builder_finish(forge_builder *builder, forge_graph **out_graph, joule_error *out_error)
{
    if (!builder)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot build a graph: out of memory");
    if (!builder->has_failed && builder->graph->output_count == 0) {
        bool writes = false;
        for (size_t i = 0; i < builder->graph->slot_count; i++)
            writes |= builder->graph->slots[i].write != FORGE_NO_VALUE;
        if (!writes)
            forge_builder_fail(builder, "a graph needs an output (forge_output) or a write (forge_write)");
    }
    if (!builder->has_failed && !remove_unneeded(builder->graph))
        out_of_memory(builder);
    joule_status status = JOULE_OK;
    if (builder->has_failed) {
        status = error_set(out_error, builder->error.status, "%s", builder->error.message);
    } else {
        *out_graph = builder->graph;
        builder->graph = NULL;
    }
    forge_builder_free(builder);
    return status;
}

size_t forge_graph_nodes(const forge_graph *graph)
{
    return graph->node_count;
}
