/* ir/text_parse_node.c - parses the line of one node; see text_parse.h.
 *
 * Note: the lists in fields.c describe the attributes of each operation; text_print.c uses the same lists.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/ir/fields.h"
#include "forge/ir/layout.h"
#include "forge/ir/infer.h"
#include "forge/ir/text_parse.h"

enum { MAX_INPUTS = 16 };

/* Attributes of any operation, without the elements of a constant. */
union any_attributes {
#define OP(NAME, name, min_inputs, max_inputs, attributes) char name[sizeof(attributes)];
#include "forge/ir/ops.def"
    forge_dim aligned;
};

/* The parsed parts of one line. */
struct statement {
    size_t start;    /* offset in the text */
    size_t elements; /* offset of a constant's elements in the text */
    enum op op;
    union any_attributes attributes;
    forge_value inputs[MAX_INPUTS];
    uint32_t input_count;
    struct value types[OP_MAX_OUTPUTS]; /* types as written in the text */
    uint32_t label_count, type_count;
    const char *name; /* name of an input or a slot */
};

/* --- values --------------------------------------------------------------------------------------------- */

/* Parses "%5, %6 =". Values must be numbered in order. */
static bool parse_labels(struct parser *p, struct statement *s)
{
    uint64_t label;
    do {
        size_t start = (cursor_next(&p->in), p->in.at), own = p->value_count + s->label_count;
        if (!cursor_want(&p->in, "%") || !cursor_number(&p->in, UINT32_MAX, &label))
            return false;
        if (label != own)
            return cursor_fail_at(&p->in, start, "expected %%%zu: values are numbered in order", own);
        if (++s->label_count > OP_MAX_OUTPUTS)
            return cursor_fail_at(&p->in, start, "expected at most %d values", OP_MAX_OUTPUTS);
    } while (cursor_take(&p->in, ","));
    return cursor_want(&p->in, "=");
}

static bool parse_inputs(struct parser *p, struct statement *s)
{
    if (!cursor_take(&p->in, "("))
        return true;
    while (!cursor_take(&p->in, ")")) {
        if (s->input_count && !cursor_want(&p->in, ","))
            return false;
        if (s->input_count == MAX_INPUTS)
            return cursor_expected(&p->in, "at most 16 inputs");
        if (!parse_value(p, &s->inputs[s->input_count++]))
            return false;
    }
    return true;
}

/* --- attributes ----------------------------------------------------------------------------------------- */

static bool parse_kind(struct parser *p, const struct field *field, uint32_t *out)
{
    char name[32];
    size_t start = p->in.at;
    if (cursor_identifier(&p->in, name, sizeof name))
        for (*out = 0; *out < field->limit; ++*out)
            if (strcmp(field->kind_name(*out), name) == 0)
                return true;
    p->in.at = start;
    return cursor_expected(&p->in, "a kind of this operation");
}

/* Parses an operation with its kind, for example "unary.relu". */
static bool parse_family(struct parser *p, struct statement *s)
{
    char name[32];
    size_t start = (cursor_next(&p->in), p->in.at);
    bool is_name = cursor_identifier(&p->in, name, sizeof name);
    for (s->op = 0; is_name && s->op < OP_COUNT && strcmp(op_name(s->op), name) != 0;)
        s->op++;
    if (!is_name || s->op == OP_COUNT) {
        p->in.at = start;
        return cursor_expected(&p->in, "an operation");
    }
    for (const struct field *field = op_fields(s->op); field->kind != FIELD_END; field++) {
        void *at = (char *)&s->attributes + field->offset;
        if (field->kind == FIELD_KIND && (!cursor_want(&p->in, ".") || !parse_kind(p, field, at)))
            return false;
        if (field->kind != FIELD_NAME)
            continue;
        const char *word = cursor_want(&p->in, ".") ? cursor_name(&p->in, &p->arena, false) : NULL;
        if (word && !string_copy(at, sizeof(((struct composite_attributes *)0)->name), word))
            cursor_fail_at(&p->in, start, "expected a name of at most 31 bytes");
        if (p->in.status != JOULE_OK)
            return false;
    }
    return true;
}

static bool parse_step(struct parser *p, int64_t *out)
{
    uint64_t number;
    bool is_negative = cursor_take(&p->in, "-");
    if (!cursor_number(&p->in, DIM_MAX_NUMBER, &number))
        return false;
    *out = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

/* Parses item i of a list, or one axis of a set of axes. */
static bool parse_item(struct parser *p, const struct field *field, void *out, uint32_t i)
{
    uint64_t number;
    if (field->kind == FIELD_DIMS)
        return parse_size(p, &graph_of(p)->dims, (forge_dim *)out + i);
    if (field->kind == FIELD_STEPS)
        return parse_step(p, (int64_t *)out + i);
    if (field->kind == FIELD_REALS)
        return cursor_element(&p->in, FORGE_F64, (double *)out + i);
    if (!cursor_number(&p->in, field->kind == FIELD_AXES ? FORGE_MAX_RANK - 1 : UINT32_MAX, &number))
        return false;
    if (field->kind == FIELD_AXES)
        *(uint32_t *)out |= 1u << number;
    else
        ((uint32_t *)out)[i] = (uint32_t)number;
    return true;
}

/* Parses "[0,2]". */
static bool parse_list(struct parser *p, const struct field *field, void *out)
{
    uint32_t max = field->kind == FIELD_AXES ? FORGE_MAX_RANK : field->limit;
    if (!cursor_want(&p->in, "["))
        return false;
    for (uint32_t i = 0; !cursor_take(&p->in, "]"); i++) {
        if (i == max)
            return cursor_expected(&p->in, "']'");
        if ((i && !cursor_want(&p->in, ",")) || !parse_item(p, field, out, i))
            return false;
    }
    return true;
}

static bool parse_body_number(struct parser *p, const forge_graph **out)
{
    uint64_t number;
    size_t start = (cursor_next(&p->in), p->in.at);
    if (!cursor_want(&p->in, "$") || !cursor_number(&p->in, UINT32_MAX, &number))
        return false;
    if (number >= p->body_count)
        return cursor_fail_at(&p->in, start, "expected an earlier body, and found $%u", (unsigned)number);
    const struct body *body = &p->bodies[number];
    if (p->nesting < body->nesting + 1)
        p->nesting = body->nesting + 1;
    if (p->nesting > MAX_NESTING)
        return cursor_fail_at(&p->in, start, "expected bodies that nest at most %d levels deep", MAX_NESTING);
    *out = body->graph;
    return builder_share_body(p->builder, body->graph) || cursor_no_memory(&p->in);
}

static bool skip_elements(struct parser *p, struct statement *s)
{
    if (!cursor_want(&p->in, "{"))
        return false;
    s->elements = p->in.at;
    while (p->in.at < p->in.length && p->in.text[p->in.at] != '}' && p->in.text[p->in.at] != '\n')
        p->in.at++;
    return cursor_want(&p->in, "}");
}

/* Parses "name=value" if the name is next. */
static bool parse_named(struct parser *p, const struct field *field, void *at)
{
    uint64_t number;
    if (!cursor_take(&p->in, field->name))
        return true;
    if (!cursor_want(&p->in, "="))
        return false;
    switch (field->kind) {
    case FIELD_NUMBER:
        if (!cursor_number(&p->in, UINT32_MAX, &number))
            return false;
        *(uint32_t *)at = (uint32_t)number;
        return true;
    case FIELD_REAL:
        return cursor_element(&p->in, FORGE_F64, at);
    case FIELD_DTYPE:
    case FIELD_ACCUMULATE:
        return parse_dtype(p, at);
    default:
        return parse_list(p, field, at);
    }
}

static bool parse_field(struct parser *p, struct statement *s, const struct field *field)
{
    void *at = (char *)&s->attributes + field->offset;
    switch (field->kind) {
    case FIELD_FLAG:
        if (cursor_take(&p->in, field->name))
            *(uint32_t *)at |= field->limit;
        return true;
    case FIELD_ACCUMULATE:
        if (s->input_count)
            *(forge_dtype *)at = graph_of(p)->values[s->inputs[0]].dtype;
        return parse_named(p, field, at);
    case FIELD_NUMBER:
    case FIELD_REAL:
    case FIELD_AXES:
    case FIELD_NUMBERS:
    case FIELD_WORDS:
    case FIELD_STEPS:
    case FIELD_DIMS:
    case FIELD_REALS:
    case FIELD_DTYPE:
        return parse_named(p, field, at);
    case FIELD_BODY:
        return cursor_want(&p->in, field->name) && cursor_want(&p->in, "=") && parse_body_number(p, at);
    case FIELD_ELEMENTS:
        return skip_elements(p, s);
    case FIELD_PORT:
    case FIELD_SLOT:
        s->name = cursor_name(&p->in, &p->arena, false);
        return s->name != NULL;
    case FIELD_KIND:
    case FIELD_NAME:
    case FIELD_RESULT_DTYPE:
    case FIELD_RESULT_SHAPE:
    case FIELD_END:
        break;
    }
    return true;
}

/* Parses "as blocks" if "as" is next. */
static bool parse_layout(struct parser *p, uint32_t *out_layout)
{
    *out_layout = LAYOUT_PACKED;
    if (!cursor_take(&p->in, "as"))
        return true;
    for (uint32_t i = 1; i < LAYOUT_COUNT; i++)
        if (cursor_take(&p->in, layout_name((enum value_layout)i))) {
            *out_layout = i;
            return true;
        }
    return cursor_expected(&p->in, "a layout");
}

/* Parses ": f32[2] as blocks, f32[3]", and sets the attributes that contain the same type or shape. */
static bool parse_types(struct parser *p, struct statement *s)
{
    if (!cursor_want(&p->in, ":"))
        return false;
    do {
        struct value *type = &s->types[s->type_count];
        if (s->type_count == s->label_count)
            return cursor_expected(&p->in, "as many types as values");
        if (!parse_type(p, &type->dtype, &type->shape) || !parse_layout(p, &type->layout))
            return false;
        s->type_count++;
    } while (cursor_take(&p->in, ","));
    if (s->type_count < s->label_count)
        return cursor_expected(&p->in, "as many types as values");
    for (const struct field *field = op_fields(s->op); field->kind != FIELD_END; field++) {
        void *at = (char *)&s->attributes + field->offset;
        if (field->kind == FIELD_RESULT_DTYPE)
            memcpy(at, &s->types[0].dtype, sizeof s->types[0].dtype);
        if (field->kind == FIELD_RESULT_SHAPE)
            memcpy(at, &s->types[0].shape, sizeof s->types[0].shape);
    }
    return true;
}

/* Parses "on gpu0" if "on" is next. */
static bool parse_place(struct parser *p)
{
    p->builder->place = 0;
    if (!cursor_take(&p->in, "on"))
        return true;
    size_t start = (cursor_next(&p->in), p->in.at);
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name)
        return false;
    p->builder->place = builder_add_place(p->builder, name);
    return builder_check(p, start);
}

/* Parses "@mlp/fc1 backward again 2": scope, phase and number of the recompute region. Each part is
 * optional. */
static bool parse_provenance(struct parser *p)
{
    uint64_t again = 0;
    p->builder->scope = 0;
    p->builder->phase = FORGE_PHASE_FORWARD;
    if (cursor_take(&p->in, "@")) {
        size_t start = p->in.at;
        const char *path = cursor_name(&p->in, &p->arena, true);
        if (!path)
            return false;
        if (strlen(path) > BUILDER_MAX_SCOPE)
            return cursor_fail_at(&p->in, start, "expected a scope of at most %d bytes", BUILDER_MAX_SCOPE);
        p->builder->scope = builder_add_scope(p->builder, path);
    }
    for (int phase = FORGE_PHASE_BACKWARD; phase <= FORGE_PHASE_DATA; phase++)
        if (cursor_take(&p->in, forge_phase_name((forge_phase)phase)))
            p->builder->phase = (forge_phase)phase;
    if (cursor_take(&p->in, "again") && !cursor_number(&p->in, UINT32_MAX, &again))
        return false;
    p->builder->recompute_region = (uint32_t)again;
    return true;
}

/* --- constants ------------------------------------------------------------------------------------------ */

/* Parses the bytes of a constant of a block format, two hexadecimal digits each. */
static bool parse_blocks(struct cursor *in, struct constant_attributes *a)
{
    for (size_t i = 0; i < a->size_bytes; i++) {
        char pair[5] = {'0', 'x', in->text[in->at + 2 * i], in->text[in->at + 2 * i + 1]};
        if (!element_from_text(FORGE_U8, pair, &a->bytes[i]))
            return cursor_fail_at(in, in->at + 2 * i, "expected two hexadecimal digits");
    }
    return true;
}

static bool parse_elements(struct cursor *in, struct constant_attributes *a, size_t elements)
{
    size_t size = forge_dtype_block_bytes(a->dtype);
    for (size_t i = 0; i < elements; i++)
        if ((i && !cursor_want(in, ",")) || !cursor_element(in, a->dtype, a->bytes + i * size))
            return false;
    return cursor_want(in, "}");
}

/* Adds the constant and returns its value. Before it allocates memory, it checks that the text is long enough
 * for this number of elements. */
static forge_value emit_constant(struct parser *p, const struct statement *s)
{
    const struct constant_attributes *head = (const void *)&s->attributes;
    struct cursor *in = &p->in;
    size_t after = in->at, elements = forge_shape_elements(&head->shape),
           bytes = forge_dtype_size_bytes(head->dtype, elements);
    bool is_blocks = forge_dtype_block_elements(head->dtype) > 1;
    const char *close = memchr(in->text + s->elements, '}', in->length - s->elements);
    size_t room = (size_t)(close - in->text) - s->elements;
    if (elements == SIZE_MAX || (is_blocks ? bytes != room / 2 || room % 2 : elements > room) ||
        bytes > UINT32_MAX / 2) {
        cursor_fail_at(in, s->elements, "expected as many elements as the type has");
        return FORGE_NO_VALUE;
    }
    struct constant_attributes *a = calloc(1, sizeof *a + bytes);
    if (!a) {
        cursor_no_memory(in);
        return FORGE_NO_VALUE;
    }
    *a = (struct constant_attributes){
        .dtype = head->dtype, .size_bytes = (uint32_t)bytes, .shape = head->shape};
    in->at = s->elements;
    forge_value value = FORGE_NO_VALUE;
    if (is_blocks ? parse_blocks(in, a) : parse_elements(in, a, elements))
        value = builder_emit(p->builder, OP_CONSTANT, a, sizeof *a + bytes, NULL, 0);
    in->at = after;
    free(a);
    return value;
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

static forge_value emit_node(struct parser *p, struct statement *s)
{
    uint32_t slot;
    switch (s->op) {
    case OP_INPUT:
        return forge_input(p->builder, s->name, s->types[0].dtype, s->types[0].shape);
    case OP_READ:
        slot = builder_find_slot(p->builder, s->name);
        if (slot != INDEX_NONE)
            return forge_read(p->builder, slot);
        cursor_fail_at(&p->in, s->start, "expected a slot of an earlier line, and '%.40s' is not one",
                       s->name);
        return FORGE_NO_VALUE;
    case OP_CONSTANT:
        return emit_constant(p, s);
    default:
        return builder_emit(p->builder, s->op, &s->attributes, op_attributes_size(s->op), s->inputs,
                            s->input_count);
    }
}

/* Records an error unless the node has the types and the place that the text states. */
static bool check_types(struct parser *p, const struct statement *s, forge_value value)
{
    const forge_graph *graph = graph_of(p);
    const struct node *node = graph_producer(graph, value);
    char inferred[200];
    struct text text;
    text_init(&text, inferred, sizeof inferred);
    bool is_same = node->output_count == s->type_count;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const struct value *own = &graph->values[node->output + i];
        is_same &= i < s->type_count && own->dtype == s->types[i].dtype &&
                   own->layout == s->types[i].layout && forge_shape_equal(&own->shape, &s->types[i].shape);
        text_printf(&text, "%s%s", i ? ", " : "", forge_dtype_name(own->dtype));
        dim_print_shape(&graph->dims, &own->shape, &text);
        if (own->layout != LAYOUT_PACKED)
            text_printf(&text, " as %s", layout_name((enum value_layout)own->layout));
    }
    if (is_same && node_place(graph, node) != p->builder->place)
        return cursor_fail_at(&p->in, s->start, "expected the place of the slot's earlier read");
    return is_same || cursor_fail_at(&p->in, s->start, "expected the type %s, the result of %s", inferred,
                                     op_name(s->op));
}

bool parse_node(struct parser *p)
{
    struct statement s = {.start = p->in.at};
    if (!parse_labels(p, &s) || !parse_family(p, &s) || !parse_inputs(p, &s))
        return false;
    for (const struct field *field = op_fields(s.op); field->kind != FIELD_END; field++)
        if (!parse_field(p, &s, field))
            return false;
    if (!parse_types(p, &s) || !parse_place(p) || !parse_provenance(p))
        return false;
    forge_value value = emit_node(p, &s);
    if (p->in.status != JOULE_OK || !builder_check(p, s.start) || !check_types(p, &s, value))
        return false;
    for (uint32_t i = 0; i < s.type_count; i++) {
        if (!ARRAY_ROOM(p->values, p->value_capacity, p->value_count))
            return cursor_no_memory(&p->in);
        p->values[p->value_count++] = value + i;
    }
    return true;
}
