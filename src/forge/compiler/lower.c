/* compiler/lower.c - lowers nodes to launches and views; see lower.h. */
#include "forge/compiler/lower.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "forge/ir/operation_cost.h"
#include "forge/ir/fields.h"
#include "forge/ir/fused.h"
#include "forge/ir/sized.h"

/* Maximum number of further attempts, each with a smaller bound of the live bytes. */
enum { MAX_TRIES = 4 };

bool lower_fail(struct lowering *l, joule_status status, const char *format, ...)
{
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (l->status == JOULE_OK)
        l->status = error_set(l->error, status, "%s", message);
    return false;
}

static bool no_memory(struct lowering *l)
{
    return lower_fail(l, JOULE_NO_MEMORY, "cannot compile a program: out of memory");
}

uint32_t lower_root(const struct lowering *l, uint32_t buffer)
{
    while (l->buffers[buffer].merged != buffer)
        buffer = l->buffers[buffer].merged;
    return buffer;
}

/* --- pieces of a program -------------------------------------------------------------------------------- */

static struct index_key string_at(const void *lowering, uint32_t offset)
{
    return index_name(((const struct lowering *)lowering)->strings + offset);
}

/* Returns the offset of the string in the program's strings, and adds the string if it is new. Returns 0
 * after an error. */
static uint32_t add_string(struct lowering *l, const char *string)
{
    size_t size = strlen(string) + 1;
    uint32_t known = index_find(&l->string_index, l, index_name(string)), offset = (uint32_t)l->string_count;
    if (known != INDEX_NONE)
        return known;
    if (!array_reserve((void **)&l->strings, &l->string_capacity, l->string_count + size, 1)) {
        no_memory(l);
        return 0;
    }
    memcpy(l->strings + offset, string, size);
    if (!index_add(&l->string_index, l, offset)) {
        no_memory(l);
        return 0;
    }
    l->string_count += size;
    return offset;
}

/* Adds bytes to the program. Returns their offset, which is a multiple of 8, because the bytes are structures
 * of attributes. Returns 0 after an error. */
static uint32_t add_bytes(struct lowering *l, const void *bytes, size_t size)
{
    size_t at = l->byte_count, padded = (size + 7) / 8 * 8;
    if (!array_reserve((void **)&l->bytes, &l->byte_capacity, at + padded, 1)) {
        no_memory(l);
        return 0;
    }
    memcpy(l->bytes + at, bytes, size);
    memset(l->bytes + at + size, 0, padded - size);
    l->byte_count += padded;
    return (uint32_t)at;
}

uint32_t lower_buffer(struct lowering *l, enum buffer_kind kind, const char *name, forge_dtype dtype,
                      const forge_shape *shape)
{
    forge_shape max_shape = dim_max_shape(&l->dims, shape);
    size_t size = forge_dtype_size_bytes(dtype, forge_shape_elements(&max_shape));
    if (size > PROGRAM_MAX_BYTES) {
        char text[200];
        forge_shape_format(&max_shape, text, sizeof text);
        lower_fail(l, JOULE_INVALID, "'%s' is too large: up to %s%s", name, forge_dtype_name(dtype), text);
        return PROGRAM_NONE;
    }
    if (!ARRAY_ROOM(l->buffers, l->buffer_capacity, l->buffer_count)) {
        no_memory(l);
        return PROGRAM_NONE;
    }
    l->buffers[l->buffer_count] = (struct lowered_buffer){.record = {.kind = kind,
                                                                     .name = add_string(l, name),
                                                                     .size_bytes = size,
                                                                     .dtype = dtype,
                                                                     .shape = *shape},
                                                          .merged = (uint32_t)l->buffer_count,
                                                          .writer = PROGRAM_NONE};
    return (uint32_t)l->buffer_count++;
}

/* --- launches ------------------------------------------------------------------------------------------- */

/* Returns the node's attributes with the largest sizes in place of symbols; NULL if out of memory. The result
 * is valid until the next call. */
static const void *attributes_at_largest(struct lowering *l, const struct node *node)
{
    if (!fields_have_symbols((enum op)node->op, node->attributes))
        return node->attributes;
    if (!array_reserve((void **)&l->numbers, &l->number_capacity, node->attributes_size, 1)) {
        no_memory(l);
        return NULL;
    }
    memcpy(l->numbers, node->attributes, node->attributes_size);
    fields_substitute((enum op)node->op, l->numbers, l->largest);
    return l->numbers;
}

/* Selects a kernel for the largest sizes. If sizes are symbols, an instance selects a kernel again for its
 * sizes. bindings: first the inputs, then the outputs. Returns false if the device has no kernel (l->status
 * is then JOULE_OK), or after an error. */
static bool select_kernel(struct lowering *l, const struct node *node, const struct program_binding *bindings,
                          size_t input_count, size_t output_count, struct selection *out_selection)
{
    struct view views[PROGRAM_MAX_OPERANDS];
    struct launch work = {.op = (enum op)node->op,
                          .attributes = attributes_at_largest(l, node),
                          .inputs = views,
                          .input_count = input_count,
                          .outputs = views + input_count,
                          .output_count = output_count};
    for (size_t i = 0; i < input_count + output_count; i++)
        views[i] = binding_at_largest(l, &bindings[i]);
    return l->status == JOULE_OK && l->device->ops->select(l->device, &work, out_selection) == JOULE_OK;
}

/* Adds the attributes of a launch to the program, without the pointer to the body of a composite. Returns
 * their offset. */
static uint32_t add_attributes(struct lowering *l, const struct node *node)
{
    if (node->op != OP_COMPOSITE)
        return add_bytes(l, node->attributes, node->attributes_size);
    struct composite_attributes attributes = *(const struct composite_attributes *)node->attributes;
    attributes.body = NULL;
    return add_bytes(l, &attributes, sizeof attributes);
}

/* Adds an origin of the launch, or adds to its weight if the launch already has it. */
static bool add_origin(struct lowering *l, struct program_launch *launch, uint32_t scope, double weight)
{
    for (uint32_t i = launch->first_origin; i < l->origin_count; i++)
        if (l->origins[i].scope == scope) {
            l->origins[i].weight += weight;
            return true;
        }
    if (!ARRAY_ROOM(l->origins, l->origin_capacity, l->origin_count))
        return no_memory(l);
    l->origins[l->origin_count++] = (struct program_origin){.scope = scope, .weight = weight};
    launch->origin_count++;
    return true;
}

/* Returns the work of an operation of a body at the largest sizes: its FLOP, at least one for each
 * element. */
static double work_of(const struct lowering *l, const forge_graph *body, const struct node *node)
{
    struct body_costs costs = {.values = l->largest, .value_count = l->graph->dims.count};
    forge_shape shape = dim_max_shape(&l->dims, &body->values[node->output].shape);
    double elements = (double)forge_shape_elements(&shape) + 1;
    return fmax(elements, cost_of_node(body, node, &costs).flop); /* the cost may be NaN */
}

/* Adds the scopes of a composite's operations as the origins of its launch, if it replaces other
 * operations. */
static bool add_origins(struct lowering *l, const struct node *node, struct program_launch *launch)
{
    const struct composite_attributes *composite = node->op == OP_COMPOSITE ? node->attributes : NULL;
    launch->first_origin = (uint32_t)l->origin_count;
    if (!composite || (!fused_is(composite) && composite->body->scope_count < 2))
        return true;
    for (size_t n = 0; n < composite->body->node_count; n++) {
        const struct node *inner = &composite->body->nodes[n];
        if (inner->op == OP_INPUT)
            continue;
        uint32_t scope = add_string(l, composite->body->scopes[inner->scope]);
        if (!add_origin(l, launch, scope, work_of(l, composite->body, inner)))
            return false;
    }
    return true;
}

/* Adds a launch for `node`, and makes it the writer of the outputs' buffers. bindings: first the inputs, then
 * the outputs. */
static bool add_launch(struct lowering *l, const struct node *node, const struct program_binding *bindings,
                       size_t input_count, size_t output_count)
{
    size_t count = input_count + output_count;
    struct selection selection;
    if (!select_kernel(l, node, bindings, input_count, output_count, &selection))
        return lower_fail(l, JOULE_UNSUPPORTED, "the device %s has no kernel for %s of %s",
                          l->device->ops->name, op_name((enum op)node->op),
                          forge_dtype_name((forge_dtype)bindings[0].dtype));
    const struct composite_attributes *composite = node->op == OP_COMPOSITE ? node->attributes : NULL;
    struct lowered_launch launch = {.in_place = selection.in_place,
                                    .body = composite ? composite->body : NULL,
                                    .record = {.op = node->op,
                                               .kernel = add_string(l, selection.kernel),
                                               .first_binding = (uint32_t)l->binding_count,
                                               .input_count = (uint16_t)input_count,
                                               .output_count = (uint16_t)output_count,
                                               .attributes = add_attributes(l, node),
                                               .attributes_size = node->attributes_size,
                                               .scope = add_string(l, l->graph->scopes[node->scope]),
                                               .phase = node->phase}};
    if (!add_origins(l, node, &launch.record))
        return false;
    if (!ARRAY_ROOM(l->launches, l->launch_capacity, l->launch_count) ||
        !array_reserve((void **)&l->bindings, &l->binding_capacity, l->binding_count + count,
                       sizeof *l->bindings))
        return no_memory(l);
    for (size_t i = 0; i < count; i++) {
        l->bindings[l->binding_count++] = bindings[i];
        l->buffers[bindings[i].buffer].last = (uint32_t)l->launch_count;
        if (i >= input_count)
            l->buffers[bindings[i].buffer].writer = (uint32_t)l->launch_count;
    }
    l->launches[l->launch_count++] = launch;
    return l->status == JOULE_OK;
}

bool lower_copy(struct lowering *l, const struct program_binding *from, uint32_t buffer,
                const struct node *on_behalf)
{
    struct shape_attributes attributes = {from->shape};
    struct node node = {.op = OP_RESHAPE,
                        .attributes = &attributes,
                        .attributes_size = sizeof attributes,
                        .scope = on_behalf ? on_behalf->scope : 0,
                        .phase = on_behalf ? on_behalf->phase : 0};
    struct program_binding bindings[] = {*from,
                                         binding_packed(l, buffer, (forge_dtype)from->dtype, &from->shape)};
    return add_launch(l, &node, bindings, 1, 1);
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

static uint32_t leaf_buffer(struct lowering *l, const struct node *node, const struct value *value)
{
    const struct input_attributes *input = node->attributes;
    const struct read_attributes *read = node->attributes;
    const struct constant_attributes *constant = node->attributes;
    uint32_t buffer;
    switch (node->op) {
    case OP_INPUT:
        return lower_buffer(l, BUFFER_INPUT, l->graph->inputs[input->index].name, value->dtype,
                            &value->shape);
    case OP_READ:
        return l->slot_buffers[read->slot];
    default:
        buffer = lower_buffer(l, BUFFER_CONSTANT, "", value->dtype, &value->shape);
        if (buffer != PROGRAM_NONE)
            l->buffers[buffer].elements = constant->bytes;
        return buffer;
    }
}

/* Copies the operands of a composite into packed buffers if the kernel does not support their strides. Every
 * kernel of a composite supports packed operands. */
static bool pack_operands(struct lowering *l, const struct node *node, struct program_binding *bindings)
{
    struct selection selection;
    if (node->op != OP_COMPOSITE ||
        select_kernel(l, node, bindings, node->input_count, node->output_count, &selection))
        return true;
    for (size_t i = 0; i < node->input_count; i++) {
        if (binding_is_packed(l, &bindings[i]))
            continue;
        uint32_t buffer =
            lower_buffer(l, BUFFER_ARENA, "", (forge_dtype)bindings[i].dtype, &bindings[i].shape);
        if (buffer == PROGRAM_NONE || !lower_copy(l, &bindings[i], buffer, node))
            return false;
        bindings[i] = binding_packed(l, buffer, (forge_dtype)bindings[i].dtype, &bindings[i].shape);
    }
    return true;
}

/* Adds buffers for the node's outputs, and the launch that computes them. */
static bool compute(struct lowering *l, const struct node *node)
{
    struct program_binding bindings[PROGRAM_MAX_OPERANDS];
    for (size_t i = 0; i < node->input_count; i++)
        bindings[i] = l->value_bindings[node_input(l->graph, node, i)];
    for (size_t i = 0; i < node->output_count; i++) {
        const struct value *value = &l->graph->values[node->output + i];
        uint32_t buffer = lower_buffer(l, BUFFER_ARENA, "", value->dtype, &value->shape);
        if (buffer == PROGRAM_NONE)
            return false;
        l->buffers[buffer].is_result = l->needs_own[node->output + i];
        l->value_bindings[node->output + i] = binding_packed(l, buffer, value->dtype, &value->shape);
        bindings[node->input_count + i] = l->value_bindings[node->output + i];
    }
    return pack_operands(l, node, bindings) &&
           add_launch(l, node, bindings, node->input_count, node->output_count);
}

static bool place_leaf(struct lowering *l, const struct node *node, forge_value v)
{
    const struct value *value = &l->graph->values[v];
    uint32_t buffer = leaf_buffer(l, node, value);
    if (buffer == PROGRAM_NONE)
        return false;
    l->value_bindings[v] = binding_packed(l, buffer, value->dtype, &value->shape);
    if (!l->needs_own[v])
        return true;
    uint32_t own = lower_buffer(l, BUFFER_ARENA, "", value->dtype, &value->shape);
    if (own == PROGRAM_NONE || !lower_copy(l, &l->value_bindings[v], own, node))
        return false;
    l->buffers[own].is_result = true;
    l->value_bindings[v].buffer = own;
    return true;
}

static bool refuse_collective(struct lowering *l, const struct collective_attributes *a)
{
    return lower_fail(l, JOULE_UNSUPPORTED,
                      "%s over '%s', a group of %u: communication between processes is not supported; only "
                      "groups of one can be compiled",
                      collective_name((forge_collective_kind)a->kind), a->group, a->size);
}

static bool lower_node(struct lowering *l, const struct node *node)
{
    forge_value v = node->output;
    struct program_binding view;
    if (!node_is_local(node))
        return refuse_collective(l, node->attributes);
    if (node->op == OP_INPUT || node->op == OP_READ || node->op == OP_CONSTANT)
        return place_leaf(l, node, v);
    if (node->input_count == 1 && !l->needs_own[v] &&
        binding_view(l, node, &l->value_bindings[node_input(l->graph, node, 0)], &l->graph->values[v],
                     &view)) {
        l->value_bindings[v] = view;
        return l->status == JOULE_OK;
    }
    return compute(l, node);
}

static bool place_slots(struct lowering *l)
{
    for (size_t i = 0; i < l->graph->slot_count; i++) {
        const struct slot *slot = &l->graph->slots[i];
        if (dim_shape_has_symbols(&slot->shape))
            return lower_fail(l, JOULE_INVALID,
                              "slot '%s' has a symbolic size: a slot's size must not change between runs",
                              slot->name);
        uint32_t buffer = lower_buffer(l, BUFFER_STATE, slot->name, slot->dtype, &slot->shape);
        if (buffer == PROGRAM_NONE)
            return false;
        struct program_buffer *record = &l->buffers[buffer].record;
        record->init_kind = slot->init.kind;
        record->init_a = slot->init.a;
        record->init_b = slot->init.b;
        l->slot_buffers[i] = buffer;
    }
    return true;
}

bool lower_nodes(struct lowering *l)
{
    const forge_graph *graph = l->graph;
    l->value_bindings = calloc(graph->value_count, sizeof *l->value_bindings);
    l->needs_own = calloc(graph->value_count, sizeof *l->needs_own);
    l->slot_buffers = calloc(graph->slot_count + 1, sizeof *l->slot_buffers);
    l->needs_copy = calloc(graph->slot_count + 1, sizeof *l->needs_copy);
    l->largest = calloc(graph->dims.count + 1, sizeof *l->largest);
    if (!l->value_bindings || !l->needs_own || !l->slot_buffers || !l->needs_copy || !l->largest ||
        !dim_table_copy(&l->dims, &graph->dims))
        return no_memory(l);
    dim_set_max(&graph->dims, l->largest);
    if (!dim_evaluate(&graph->dims, l->largest))
        return lower_fail(l, JOULE_INVALID, "a size is too large if the symbols have their largest values");
    for (size_t i = 0; i < graph->output_count; i++)
        l->needs_own[graph->outputs[i].value] = true;
    for (size_t i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].write && graph->slots[i].write != graph->slots[i].read)
            l->needs_own[graph->slots[i].write] = true;
    add_string(l, "");
    if (!place_slots(l))
        return false;
    for (size_t n = 0; n < graph->node_count; n++)
        if (!lower_node(l, &graph->nodes[n]))
            return false;
    return true;
}

/* Computes the cost of each launch at the largest sizes. The cost depends on whether the launch works in
 * place, so this step comes last. The cost functions recognise an in-place launch by equal addresses, so all
 * views of one buffer get the same address here. */
static bool count_costs(struct lowering *l, forge_program *program)
{
    struct sized sized;
    struct view views[PROGRAM_MAX_OPERANDS];
    const struct program_buffer *buffers = program_buffers(program);
    struct program_launch *launches = (struct program_launch *)program_launches(program);
    bool done = sized_init(&sized, program) && sized_fill(&sized);
    for (size_t i = 0; done && i < program->launches.count; i++) {
        const struct program_binding *bindings = &program_bindings(program)[launches[i].first_binding];
        for (size_t k = 0; k < (size_t)launches[i].input_count + launches[i].output_count; k++) {
            uint64_t offset;
            views[k] = sized_view(&sized, &bindings[k], &offset);
            views[k].data = (void *)&buffers[bindings[k].buffer];
        }
        struct launch work = sized_launch(&sized, i, views);
        const forge_graph *body = l->launches[i].body;
        launches[i].cost =
            body ? cost_of_composite(&work, body, l->largest, l->graph->dims.count) : cost_of_launch(&work);
    }
    sized_free(&sized);
    return done || no_memory(l);
}

static void lowering_free(struct lowering *l)
{
    free(l->buffers);
    free(l->bindings);
    free(l->launches);
    free(l->origins);
    free(l->strings);
    index_free(&l->string_index);
    free(l->bytes);
    free(l->numbers);
    free(l->largest);
    dim_table_free(&l->dims);
    free(l->value_bindings);
    free(l->needs_own);
    free(l->slot_buffers);
    free(l->needs_copy);
    free(l->reads);
}

/* Sets *out_excess to the bytes by which the arena exceeds the bound, although the live bytes do not: there
 * are gaps between buffers, or launches do not work in place as the schedule assumed. Returns false if there
 * are any. */
static bool check_arena(struct lowering *l, const struct schedule_wish *wish, uint64_t *out_excess)
{
    *out_excess = 0;
    if (!wish->max_arena_bytes || l->arena_bytes <= wish->max_arena_bytes)
        return true;
    *out_excess = l->arena_bytes - wish->max_arena_bytes;
    return lower_fail(
        l, JOULE_FAILED,
        "cannot plan the arena within %llu bytes: it needs %llu, of which %llu are live at once",
        (unsigned long long)wish->max_arena_bytes, (unsigned long long)l->arena_bytes,
        (unsigned long long)l->arena_bound_bytes);
}

/* max_live_bytes: bound of the bytes that are live at once. */
static joule_status lower_once(const forge_graph *graph, forge_device *device,
                               const struct schedule_wish *wish, uint64_t max_live_bytes,
                               uint64_t *out_excess, forge_program **out_program,
                               forge_schedule_facts *out_facts, joule_error *out_error)
{
    struct lowering l = {
        .string_index = {.key_of = string_at}, .graph = graph, .device = device, .error = out_error};
    struct schedule_wish of_schedule = {wish->objective, wish->max_seconds, max_live_bytes};
    forge_program *program = NULL;
    bool has_wish = wish->objective != FORGE_MINIMISE_NONE;
    *out_excess = 0;
    if (lower_nodes(&l) && (!has_wish || lower_schedule(&l, &of_schedule, out_facts)) && lower_merge(&l))
        l.status = lower_pack(&l, &program);
    if (l.status == JOULE_OK && program && check_arena(&l, wish, out_excess) && count_costs(&l, program)) {
        program->hash = program_hash(program);
        *out_program = program;
    } else {
        free(program);
    }
    lowering_free(&l);
    return l.status;
}

joule_status lower(const forge_graph *graph, forge_device *device, const struct schedule_wish *wish,
                   forge_program **out_program, forge_schedule_facts *out_facts, joule_error *out_error)
{
    uint64_t excess, live_bytes = wish->max_arena_bytes;
    joule_error error = {0};
    joule_status status =
        lower_once(graph, device, wish, live_bytes, &excess, out_program, out_facts, &error);
    for (int i = 0; i < MAX_TRIES && excess && excess < live_bytes; i++) {
        live_bytes -= excess;
        if (lower_once(graph, device, wish, live_bytes, &excess, out_program, out_facts, NULL) == JOULE_OK)
            return JOULE_OK;
    }
    return status == JOULE_OK ? status : error_set(out_error, status, "%s", error.message);
}
