/* ir/text_print.c - prints graphs as text that text_parse.c reads.
 *
 * Note: the text is printed twice, the first time only to measure its length. All symbols and sizes come
 * first, in the order of the dim table, because the canonical order of sums and products depends on this
 * order.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/index.h"
#include "forge/ir/fields.h"
#include "forge/ir/layout.h"
#include "forge/ir/text.h"

/* State of the printer: the output, and the bodies to print. */
struct printer {
    struct text text;
    GRAPH_ARRAY(const forge_graph *, bodies, body); /* a body comes after all bodies that it uses */
    struct index body_index;
};

static struct index_key body_key(const void *printer, uint32_t body)
{
    return (struct index_key){&((const struct printer *)printer)->bodies[body], sizeof(forge_graph *)};
}

/* Returns the number of the body, or INDEX_NONE if the body is not in the list yet. */
static uint32_t body_number(const struct printer *p, const forge_graph *body)
{
    return index_find(&p->body_index, p, (struct index_key){&body, sizeof body});
}

/* Adds every body of the graph once, after the bodies that it uses. Returns false if out of memory. */
static bool find_bodies(struct printer *p, const forge_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op != OP_COMPOSITE)
            continue;
        const forge_graph *body = ((const struct composite_attributes *)graph->nodes[n].attributes)->body;
        if (body_number(p, body) != INDEX_NONE)
            continue;
        if (!find_bodies(p, body) || !ARRAY_ROOM(p->bodies, p->body_capacity, p->body_count))
            return false;
        p->bodies[p->body_count++] = body;
        if (!index_add(&p->body_index, p, (uint32_t)p->body_count - 1))
            return false;
    }
    return true;
}

/* --- attributes ----------------------------------------------------------------------------------------- */

static void print_elements(struct text *text, const struct constant_attributes *a)
{
    size_t elements = forge_shape_elements(&a->shape), size = forge_dtype_block_bytes(a->dtype);
    text_add(text, " {");
    if (forge_dtype_block_elements(a->dtype) > 1)
        for (size_t i = 0; i < a->size_bytes; i++)
            text_printf(text, "%02x", a->bytes[i]);
    else
        for (size_t i = 0; i < elements; i++) {
            text_add(text, i ? ", " : "");
            text_add_element(text, a->dtype, a->bytes + i * size);
        }
    text_add(text, "}");
}

static void print_axes(struct text *text, const char *name, uint32_t axes)
{
    const char *separator = "[";
    if (axes)
        text_printf(text, " %s=", name);
    for (uint32_t i = 0; i < FORGE_MAX_RANK; i++)
        if (axes >> i & 1) {
            text_printf(text, "%s%u", separator, i);
            separator = ",";
        }
    text_add(text, axes ? "]" : "");
}

static uint32_t list_length(const forge_graph *graph, const struct node *node, const struct field *field,
                            const void *at)
{
    static const char zeros[sizeof(forge_dim)];
    bool is_short = field->kind == FIELD_NUMBERS || field->kind == FIELD_WORDS;
    size_t item = is_short ? sizeof(uint32_t) : sizeof(forge_dim);
    uint32_t rank = node->input_count ? graph->values[node_input(graph, node, 0)].shape.rank : 0;
    uint32_t spatial = field->limit == 3 && rank > 2 ? rank - 2 : 0;
    uint32_t natural = field->limit == FORGE_MAX_RANK ? rank : spatial, length = field->limit;
    while (length && memcmp((const char *)at + (length - 1) * item, zeros, item) == 0)
        length--;
    return length && length < natural ? natural : length;
}

static void print_list(struct text *text, const forge_graph *graph, const struct node *node,
                       const struct field *field, const void *at)
{
    uint32_t length = list_length(graph, node, field, at);
    for (uint32_t i = 0; i < length; i++) {
        if (i == 0)
            text_printf(text, " %s=[", field->name);
        else
            text_add(text, ",");
        if (field->kind == FIELD_DIMS)
            dim_print(&graph->dims, ((const forge_dim *)at)[i], text);
        else if (field->kind == FIELD_REALS)
            text_add_element(text, FORGE_F64, (const double *)at + i);
        else if (field->kind == FIELD_STEPS)
            text_printf(text, "%lld", (long long)((const int64_t *)at)[i]);
        else
            text_printf(text, "%u", ((const uint32_t *)at)[i]);
    }
    text_add(text, length ? "]" : "");
}

/* Returns true for +0, which is left out of the text. Unlike +0, -0 is printed. */
static bool is_plain_zero(const void *number)
{
    uint64_t bits;
    memcpy(&bits, number, sizeof bits);
    return bits == 0;
}

static void print_real(struct text *text, const char *name, const void *at)
{
    if (is_plain_zero(at))
        return;
    text_printf(text, " %s=", name);
    text_add_element(text, FORGE_F64, at);
}

static void print_field(struct printer *p, const forge_graph *graph, const struct node *node,
                        const struct field *field)
{
    const void *at = (const char *)node->attributes + field->offset;
    struct text *text = &p->text;
    uint32_t number = 0;
    if (field->kind != FIELD_ELEMENTS)
        memcpy(&number, at, sizeof number);
    switch (field->kind) {
    case FIELD_NUMBER:
        if (number)
            text_printf(text, " %s=%u", field->name, number);
        return;
    case FIELD_FLAG:
        if (number & field->limit)
            text_printf(text, " %s", field->name);
        return;
    case FIELD_AXES:
        print_axes(text, field->name, number);
        return;
    case FIELD_REAL:
        print_real(text, field->name, at);
        return;
    case FIELD_NUMBERS:
    case FIELD_WORDS:
    case FIELD_STEPS:
    case FIELD_DIMS:
    case FIELD_REALS:
        print_list(text, graph, node, field, at);
        return;
    case FIELD_ACCUMULATE:
        if (number == graph->values[node_input(graph, node, 0)].dtype)
            return;
        /* fall through */
    case FIELD_DTYPE:
        text_printf(text, " %s=%s", field->name, forge_dtype_name((forge_dtype)number));
        return;
    case FIELD_ELEMENTS:
        print_elements(text, node->attributes);
        return;
    case FIELD_PORT:
    case FIELD_SLOT:
        text_add(text, " ");
        text_add_quoted(text,
                        field->kind == FIELD_PORT ? graph->inputs[number].name : graph->slots[number].name);
        return;
    case FIELD_BODY:
        text_printf(text, " %s=$%u", field->name, body_number(p, *(const forge_graph *const *)at));
        return;
    case FIELD_KIND:
    case FIELD_NAME: /* already printed, before the inputs */
    case FIELD_RESULT_DTYPE:
    case FIELD_RESULT_SHAPE: /* printed as part of the result's type */
    case FIELD_END:
        return;
    }
}

/* --- lines ---------------------------------------------------------------------------------------------- */

static void print_type(struct text *text, const forge_graph *graph, forge_dtype dtype,
                       const forge_shape *shape)
{
    text_add(text, forge_dtype_name(dtype));
    dim_print_shape(&graph->dims, shape, text);
}

/* Prints an operation with its kind, for example "unary.relu". */
static void print_family(struct text *text, const struct node *node)
{
    text_add(text, op_name((enum op)node->op));
    for (const struct field *field = op_fields((enum op)node->op); field->kind != FIELD_END; field++) {
        const void *at = (const char *)node->attributes + field->offset;
        if (field->kind == FIELD_KIND)
            text_printf(text, ".%s", field->kind_name(*(const uint32_t *)at));
        if (field->kind == FIELD_NAME) {
            text_add(text, ".");
            text_add_word(text, at);
        }
    }
}

static void print_node(struct printer *p, const forge_graph *graph, const struct node *node)
{
    struct text *text = &p->text;
    for (uint32_t i = 0; i < node->output_count; i++)
        text_printf(text, "%s%%%u", i ? ", " : "", node->output + i);
    text_add(text, " = ");
    print_family(text, node);
    for (uint32_t i = 0; i < node->input_count; i++)
        text_printf(text, "%s%%%u", i ? ", " : "(", node_input(graph, node, i));
    text_add(text, node->input_count ? ")" : "");
    for (const struct field *field = op_fields((enum op)node->op); field->kind != FIELD_END; field++)
        print_field(p, graph, node, field);
    for (uint32_t i = 0; i < node->output_count; i++) {
        const struct value *value = &graph->values[node->output + i];
        text_add(text, i ? ", " : " : ");
        print_type(text, graph, value->dtype, &value->shape);
        if (value->layout != LAYOUT_PACKED)
            text_printf(text, " as %s", layout_name((enum value_layout)value->layout));
    }
    if (node_place(graph, node)) {
        text_add(text, " on ");
        text_add_word(text, graph->places[node_place(graph, node)]);
    }
    if (node->scope) {
        text_add(text, " @");
        text_add_path(text, graph->scopes[node->scope]);
    }
    if (node->phase != FORGE_PHASE_FORWARD)
        text_printf(text, " %s", forge_phase_name((forge_phase)node->phase));
    if (node->recompute_region)
        text_printf(text, " again %u", node->recompute_region);
}

static void print_slot(struct text *text, const forge_graph *graph, const struct slot *slot)
{
    static const char *const inits[] = {"constant", "uniform", "normal"};
    text_add(text, "slot ");
    text_add_quoted(text, slot->name);
    text_add(text, " : ");
    print_type(text, graph, slot->dtype, &slot->shape);
    text_printf(text, " = %s(", inits[slot->init.kind]);
    text_add_element(text, FORGE_F64, &slot->init.a);
    if (slot->init.kind != FORGE_INIT_CONSTANT || !is_plain_zero(&slot->init.b)) {
        text_add(text, ", ");
        text_add_element(text, FORGE_F64, &slot->init.b);
    }
    text_add(text, slot->is_parameter ? ") parameter\n" : ")\n");
}

static void print_graph(struct printer *p, const forge_graph *graph, const char *indent)
{
    struct text *text = &p->text;
    for (size_t i = 0; i < graph->slot_count; i++) {
        text_add(text, indent);
        print_slot(text, graph, &graph->slots[i]);
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        text_add(text, indent);
        print_node(p, graph, &graph->nodes[n]);
        text_add(text, "\n");
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        text_printf(text, "%soutput ", indent);
        text_add_quoted(text, graph->outputs[i].name);
        text_printf(text, " = %%%u\n", graph->outputs[i].value);
    }
    for (size_t i = 0; i < graph->slot_count; i++) {
        const struct slot *slot = &graph->slots[i];
        if (!slot->write)
            continue;
        text_printf(text, "%swrite ", indent);
        text_add_quoted(text, slot->name);
        text_printf(text, " = %%%u%s\n", slot->write, slot->in_place ? " in_place" : "");
    }
}

static void print_sizes(struct text *text, const struct dim_table *dims)
{
    for (size_t i = 0; i < dims->count; i++) {
        const struct dim *dim = &dims->entries[i];
        bool is_symbol = dim->kind == DIM_SYMBOL;
        text_add(text, is_symbol ? "symbol " : "size ");
        dim_print(dims, -(forge_dim)i - 1, text);
        if (is_symbol)
            text_printf(text, " : %lld..%lld", (long long)dim->min, (long long)dim->max);
        if (is_symbol && dim->multiple != 1)
            text_printf(text, " by %lld", (long long)dim->multiple);
        text_add(text, "\n");
    }
}

static void print_all(struct printer *p, const forge_graph *graph)
{
    text_add(&p->text, "forge graph 1\n");
    print_sizes(&p->text, &graph->dims);
    for (size_t i = 0; i < p->body_count; i++) {
        text_printf(&p->text, "body $%zu {\n", i);
        print_graph(p, p->bodies[i], "  ");
        text_add(&p->text, "}\n");
    }
    print_graph(p, graph, "");
}

joule_status forge_graph_print(const forge_graph *graph, char **out_text, joule_error *out_error)
{
    struct printer p = {.body_index.key_of = body_key};
    char *text = NULL;
    if (find_bodies(&p, graph)) {
        print_all(&p, graph);
        size_t size = p.text.length + 1;
        text = malloc(size);
        if (text) {
            text_init(&p.text, text, size);
            print_all(&p, graph);
        }
    }
    free(p.bodies);
    index_free(&p.body_index);
    if (!text)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot print a graph: out of memory");
    *out_text = text;
    return JOULE_OK;
}
