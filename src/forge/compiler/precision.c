/* compiler/precision.c - the pass that computes products in bf16 or f16 (mixed precision).
 *
 * Only f32 values change their type; the pass adds casts where a value is needed in the other type. A value
 * has at most one cast, which all its readers share, so a parameter is cast once in a run. The pass runs
 * before `fold`, which computes casts of constants, and before `fuse`, which joins casts with their
 * neighbours. Inputs, outputs and slots keep their types. So parameters are stored in f32, and optimisers
 * update them in f32.
 *
 * Note: a cast to the narrow type and back changes a value, but a cast to f32 and back does not. So the pass
 * adds no cast of a cast from the narrow type. */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/compiler/pass.h"
#include "forge/ir/fields.h"
#include "forge/ir/library.h"

/* How the type of an operation is chosen. */
enum rule {
    WIDE,   /* f32: sums of many elements, and functions that need range or precision */
    NARROW, /* the narrow type: products, whose kernels accumulate in f32 */
    /* The narrow type if an operand has it and all operands but weak ones have it, as PyTorch promotes. But
     * f32 in the optimiser, and for a value that is only moved or computed elementwise on its way to a slot.
     * So a new value of a parameter is never rounded to the narrow type. */
    FOLLOW,
    /* The type of x, for operations that compute in f32 inside, whatever their operands are. Parameters and
     * statistics stay f32. */
    INSIDE,
};

/* The rule of each operation. The first row that matches applies; without a row, the rule is WIDE. kind NULL:
 * all kinds. The choice agrees with the lists of PyTorch's autocast (docs/compiler.md). */
static const struct row {
    enum op op;
    const char *kind;
    enum rule rule;
} rows[] = {
    {OP_MATMUL, NULL, NARROW},
    {OP_CONV, NULL, NARROW},
    {OP_COMPOSITE, "attention", NARROW},
    {OP_COMPOSITE, "attention.gradient", NARROW},
    {OP_COMPOSITE, "layer_norm", INSIDE},
    {OP_COMPOSITE, "layer_norm.gradient", INSIDE},
    {OP_COMPOSITE, "rms_norm", INSIDE},
    {OP_COMPOSITE, "rms_norm.gradient", INSIDE},
    {OP_COMPOSITE, "batch_norm", INSIDE},
    {OP_COMPOSITE, "batch_norm_training", INSIDE},
    {OP_COMPOSITE, "batch_norm_training.gradient", INSIDE},
    {OP_COMPOSITE, "gelu_back", FOLLOW},
    {OP_UNARY, "neg", FOLLOW},
    {OP_UNARY, "abs", FOLLOW},
    {OP_UNARY, "sign", FOLLOW},
    {OP_UNARY, "floor", FOLLOW},
    {OP_UNARY, "ceil", FOLLOW},
    {OP_UNARY, "round", FOLLOW},
    {OP_UNARY, "relu", FOLLOW},
    {OP_UNARY, "sigmoid", FOLLOW},
    {OP_UNARY, "tanh", FOLLOW},
    {OP_UNARY, "silu", FOLLOW},
    {OP_UNARY, "gelu", FOLLOW},
    {OP_UNARY, "gelu_tanh", FOLLOW},
    {OP_UNARY, "is_nan", FOLLOW},
    {OP_BINARY, "pow", WIDE},
    {OP_BINARY, "mod", WIDE},
    {OP_BINARY, NULL, FOLLOW},
    {OP_SELECT, NULL, FOLLOW},
    {OP_CAST, NULL, FOLLOW},
    {OP_RESHAPE, NULL, FOLLOW},
    {OP_BROADCAST, NULL, FOLLOW},
    {OP_TRANSPOSE, NULL, FOLLOW},
    {OP_SLICE, NULL, FOLLOW},
    {OP_PAD, NULL, FOLLOW},
    {OP_CONCAT, NULL, FOLLOW},
    {OP_GATHER, NULL, FOLLOW},
    {OP_UNFOLD, NULL, FOLLOW},
    {OP_WINDOW, "maximum", FOLLOW},
    {OP_WINDOW, "minimum", FOLLOW},
    {OP_SHARE, NULL, FOLLOW},
    {OP_TRANSFER, NULL, FOLLOW},
    {OP_STOP_GRADIENT, NULL, FOLLOW},
};

/* The work on one graph. Arrays are indexed by values of the old graph. */
struct precision {
    const forge_graph *graph;
    forge_device *device; /* NULL: composites keep their types */
    forge_dtype narrow;
    forge_builder *builder;
    forge_value *map;   /* the value in the new graph: f32 or narrow if it was f32 */
    forge_value *other; /* the same in the other type; FORGE_NO_VALUE until it is needed */
    /* Constants, slots, masks, single numbers, and what is computed from them. Their type does not decide the
     * type of an operation: a bias in f32 does not turn a narrow product into f32. */
    bool *is_weak;
    bool *is_kept; /* on its way to a slot; see FOLLOW */
};

static enum rule rule_of(const struct node *node)
{
    const char *kind = fields_kind((enum op)node->op, node->attributes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == node->op && (!rows[i].kind || strcmp(rows[i].kind, kind) == 0))
            return rows[i].rule;
    return WIDE;
}

static bool was_f32(const struct precision *p, forge_value value)
{
    return p->graph->values[value].dtype == FORGE_F32;
}

static bool is_narrow(const struct precision *p, forge_value value)
{
    return was_f32(p, value) && forge_value_dtype(p->builder, p->map[value]) == p->narrow;
}

/* --- casts ---------------------------------------------------------------------------------------------- */

enum { MAX_VIEWS = 8 }; /* views through which a cast moves */

static forge_value in_type(struct precision *p, forge_value value, forge_dtype dtype, int views);

/* Returns the cast of an f32 value of the new graph to the narrow type. Of a view, the source is cast,
 * because other views may have the same source. */
static forge_value narrowed(struct precision *p, forge_value value, int views)
{
    const struct node *node = graph_producer(p->graph, value);
    bool moves = node->op == OP_RESHAPE || node->op == OP_TRANSPOSE || node->op == OP_BROADCAST ||
                 node->op == OP_STOP_GRADIENT;
    if (moves && views < MAX_VIEWS) {
        forge_value source = in_type(p, node_input(p->graph, node, 0), p->narrow, views + 1);
        return builder_emit(p->builder, (enum op)node->op, node->attributes, node->attributes_size, &source,
                            1);
    }
    forge_value x = node->op == OP_CAST ? p->map[node_input(p->graph, node, 0)] : FORGE_NO_VALUE;
    forge_dtype from = forge_value_dtype(p->builder, x);
    bool is_exact = x && (from == p->narrow || from == FORGE_BOOL || from == FORGE_U8);
    return forge_cast(p->builder, p->narrow, is_exact ? x : p->map[value]);
}

/* Returns the cast of a narrow value of the new graph to f32. Of a reshape, the source is cast, which may
 * be a product that the cast can join. The cast of a gradient for the optimiser belongs to the backward
 * pass for the same reason. */
static forge_value widened(struct precision *p, forge_value value, int views)
{
    forge_builder *b = p->builder;
    const struct node *node = graph_producer(p->graph, value);
    if (node->op == OP_RESHAPE && views < MAX_VIEWS) {
        forge_value source = in_type(p, node_input(p->graph, node, 0), FORGE_F32, views + 1);
        return builder_emit(b, OP_RESHAPE, node->attributes, node->attributes_size, &source, 1);
    }
    forge_phase phase = b->phase;
    uint32_t region = b->recompute_region;
    if (phase == FORGE_PHASE_OPTIMISER) {
        b->phase = (forge_phase)node->phase;
        b->recompute_region = node->recompute_region;
    }
    forge_value wide = forge_cast(b, FORGE_F32, p->map[value]);
    b->phase = phase;
    b->recompute_region = region;
    return wide;
}

/* Returns a value of the new graph for an f32 value of the old graph: f32 or narrow. Other values keep their
 * types. New nodes get the builder's scope and phase. */
static forge_value in_type(struct precision *p, forge_value value, forge_dtype dtype, int views)
{
    if (!was_f32(p, value) || forge_value_dtype(p->builder, p->map[value]) == dtype)
        return p->map[value];
    if (!p->other[value] && builder_is_ok(p->builder)) {
        uint32_t place = p->builder->place; /* a transfer reads a value of another place */
        p->builder->place = p->builder->graph->values[p->map[value]].place;
        p->other[value] = dtype == FORGE_F32 ? widened(p, value, views) : narrowed(p, value, views);
        p->builder->place = place;
    }
    return p->other[value];
}

/* --- rules ---------------------------------------------------------------------------------------------- */

/* Returns true if the values of the node are weak if all its f32 operands are. */
static bool keeps_weakness(const struct node *node)
{
    return node_is_elementwise(node) || node_is_view(node) || node->op == OP_CONSTANT ||
           node->op == OP_READ || node->op == OP_IOTA;
}

static void set_weak(struct precision *p, const struct node *node)
{
    bool is_weak = keeps_weakness(node);
    for (size_t i = 0; i < node->input_count; i++) {
        forge_value input = node_input(p->graph, node, i);
        is_weak &= !was_f32(p, input) || p->is_weak[input];
    }
    for (size_t i = 0; i < node->output_count; i++)
        p->is_weak[node->output + i] = is_weak || p->graph->values[node->output + i].shape.rank == 0;
}

/* Marks the values on their way to slots. */
static void mark_kept(struct precision *p)
{
    const forge_graph *graph = p->graph;
    for (size_t i = 0; i < graph->slot_count; i++)
        p->is_kept[graph->slots[i].write] = true;
    for (size_t n = graph->node_count; n-- > 0;) {
        const struct node *node = &graph->nodes[n];
        if (p->is_kept[node->output] && rule_of(node) == FOLLOW)
            for (size_t i = 0; i < node->input_count; i++)
                p->is_kept[node_input(graph, node, i)] = true;
    }
}

static bool follows_narrow(const struct precision *p, const struct node *node)
{
    bool has_narrow = false, has_wide = false;
    for (size_t i = 0; i < node->input_count; i++) {
        forge_value input = node_input(p->graph, node, i);
        if (was_f32(p, input) && !p->is_weak[input])
            *(is_narrow(p, input) ? &has_narrow : &has_wide) = true;
    }
    return has_narrow && !has_wide && !p->is_kept[node->output];
}

/* Returns true if the node is computed in the narrow type, as far as its operands decide. */
static bool wants_narrow(const struct precision *p, const struct node *node)
{
    if (node->phase == FORGE_PHASE_OPTIMISER || node->input_count == 0)
        return false;
    switch (rule_of(node)) {
    case NARROW: /* kernels for narrow types sum in f32 */
        return was_f32(p, node_input(p->graph, node, 0)) && node_has_usual_sums(p->graph, node);
    case FOLLOW:
        return follows_narrow(p, node);
    case INSIDE:
        return is_narrow(p, node_input(p->graph, node, 0));
    default:
        return false;
    }
}

/* Returns true if input i of a node with the rule INSIDE has the type of x: x itself, and the gradient of the
 * first result. */
static bool is_like_x(const struct node *node, size_t i)
{
    const struct composite_attributes *a = node->attributes;
    size_t given = (size_t)__builtin_popcount(a->given);
    return i == 0 || (a->given & 1 && i == node->input_count - given);
}

/* --- the new graph -------------------------------------------------------------------------------------- */

static void put_outputs(struct precision *p, const struct node *node, forge_value first)
{
    for (size_t i = 0; first && i < node->output_count; i++)
        p->map[node->output + i] = first + (forge_value)i;
}

/* Adds a composite of the library with these inputs. Returns its first value, or FORGE_NO_VALUE if the device
 * has no kernel for these types, or if the builder has failed. */
static forge_value add_composite(struct precision *p, const struct node *node, const forge_value *inputs)
{
    forge_builder *b = p->builder;
    struct composite_attributes attributes = *(const struct composite_attributes *)node->attributes;
    const struct value *values[UINT8_MAX];
    if (!p->device || !composite_has_kernel(p->graph, node, p->device))
        return FORGE_NO_VALUE;
    for (size_t i = 0; i < node->input_count; i++)
        values[i] = &b->graph->values[inputs[i]];
    forge_graph *body = composite_body(&attributes, values, node->input_count, &b->graph->dims);
    attributes.body = body;
    if (!body || !builder_adopt_body(b, body))
        return FORGE_NO_VALUE;
    forge_value first =
        builder_emit(b, OP_COMPOSITE, &attributes, sizeof attributes, inputs, node->input_count);
    return first && composite_kernel_takes(b->graph, graph_producer(b->graph, first), p->device)
               ? first
               : FORGE_NO_VALUE;
}

/* Adds the node with narrow operands. Returns false if it must be f32. */
static bool add_narrow(struct precision *p, const struct node *node)
{
    forge_value inputs[UINT8_MAX], first;
    bool is_inside = rule_of(node) == INSIDE;
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = in_type(p, node_input(p->graph, node, i),
                            is_inside && !is_like_x(node, i) ? FORGE_F32 : p->narrow, 0);
    if (!builder_is_ok(p->builder))
        return false;
    if (node->op == OP_COMPOSITE)
        first = add_composite(p, node, inputs);
    else
        first = builder_emit(p->builder, (enum op)node->op, node->attributes, node->attributes_size, inputs,
                             node->input_count);
    put_outputs(p, node, first);
    return first != FORGE_NO_VALUE;
}

/* Adds the node with f32 operands. */
static bool add_wide(struct precision *p, const struct node *node)
{
    forge_value wide[UINT8_MAX], saved[UINT8_MAX];
    for (size_t i = 0; i < node->input_count; i++)
        wide[i] = in_type(p, node_input(p->graph, node, i), FORGE_F32, 0);
    for (size_t i = 0; i < node->input_count; i++) {
        saved[i] = p->map[node_input(p->graph, node, i)];
        p->map[node_input(p->graph, node, i)] = wide[i];
    }
    bool is_ok = builder_is_ok(p->builder) && builder_copy_node(p->builder, p->graph, node, p->map);
    for (size_t i = node->input_count; i-- > 0;)
        p->map[node_input(p->graph, node, i)] = saved[i];
    return is_ok;
}

static bool add_node(struct precision *p, const struct node *node)
{
    set_weak(p, node);
    builder_set_provenance(p->builder, p->graph, node);
    const struct cast_attributes *cast = node->attributes;
    if (node->op == OP_CAST && cast->dtype == p->narrow && was_f32(p, node_input(p->graph, node, 0))) {
        p->map[node->output] = in_type(p, node_input(p->graph, node, 0), p->narrow, 0);
        return builder_is_ok(p->builder);
    }
    bool is_cast = node->op == OP_CAST; /* its result has the type that it names */
    return (wants_narrow(p, node) && !is_cast && add_narrow(p, node)) || add_wide(p, node);
}

/* Sets the values of outputs and slots to f32 values. Their casts get the scope of what they cast. */
static void widen_ports(struct precision *p)
{
    const forge_graph *graph = p->graph;
    for (size_t i = 0; i < graph->output_count + graph->slot_count; i++) {
        forge_value value =
            i < graph->output_count ? graph->outputs[i].value : graph->slots[i - graph->output_count].write;
        if (value == FORGE_NO_VALUE || !builder_is_ok(p->builder))
            continue;
        builder_set_provenance(p->builder, graph, graph_producer(graph, value));
        p->map[value] = in_type(p, value, FORGE_F32, 0);
    }
}

static void build(struct precision *p)
{
    bool is_ok = builder_begin_copy(p->builder, p->graph, p->map);
    mark_kept(p);
    for (size_t n = 0; is_ok && n < p->graph->node_count; n++)
        is_ok = add_node(p, &p->graph->nodes[n]);
    widen_ports(p);
    if (is_ok)
        builder_end_copy(p->builder, p->graph, p->map);
}

joule_status pass_precision(const forge_graph *graph, forge_device *device, void *context,
                            forge_graph **out_graph, joule_error *out_error)
{
    const forge_compile_options *options = context;
    if (!options || options->precision == FORGE_PRECISION_F32) {
        *out_graph = graph_retain(graph);
        return JOULE_OK;
    }
    struct precision p = {.graph = graph,
                          .device = device,
                          .narrow = options->precision == FORGE_PRECISION_F16 ? FORGE_F16 : FORGE_BF16,
                          .builder = builder_new(&graph->dims),
                          .map = calloc(graph->value_count, sizeof *p.map),
                          .other = calloc(graph->value_count, sizeof *p.other),
                          .is_weak = calloc(graph->value_count, sizeof *p.is_weak),
                          .is_kept = calloc(graph->value_count, sizeof *p.is_kept)};
    if (p.builder && p.map && p.other && p.is_weak && p.is_kept)
        build(&p);
    else
        builder_fail(p.builder, JOULE_NO_MEMORY, "out of memory");
    free(p.map);
    free(p.other);
    free(p.is_weak);
    free(p.is_kept);
    return forge_builder_finish(p.builder, out_graph, out_error);
}
