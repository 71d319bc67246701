/* ir/text_parse.c - text as graphs.
 *
 * Owns forge_graph_parse: the grammar, which is what text_print.c writes. Nodes are made by the builder, so text can hold
 * nothing that its rules refuse, and what is written after a colon is only compared with what they say.
 * Newcomers: symbols and sizes come first, then bodies, then the graph; the table of sizes is handed on from each to the
 * next, so that a size is the same number in all of them.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "forge/ir/build.h"
#include "forge/ir/fields.h"
#include "forge/ir/infer.h"
#include "forge/ir/text.h"

enum {
    MAX_NESTING = 32,          /* of bodies */
    MAX_SIZE_COPIES = 1 << 20, /* entries of tables of sizes, over all bodies */
    MAX_INPUTS = 16,
    MAX_PATH = 500 /* of scopes: the builder's own bound */
};

struct body {
    forge_graph *graph;
    unsigned nesting;
};

struct parser {
    struct cursor in;
    struct arena arena;     /* names */
    forge_builder *builder; /* of the body or graph that is being read */
    unsigned nesting;       /* of the bodies that it uses */
    struct dim_table dims;  /* until the next builder is made */
    GRAPH_ARRAY(struct body, bodies, body);
    GRAPH_ARRAY(forge_value, values, value); /* of %1, %2 ...; [0] is none */
};

/* Attributes of any family; a constant's elements lie elsewhere. */
union any_attributes {
#define OP(NAME, name, least, most, attributes) char name[sizeof(attributes)];
#include "forge/ir/ops.def"
    forge_dim aligned;
};

struct statement {
    size_t start;    /* in the text */
    size_t elements; /* where a constant's begin */
    enum op op;
    union any_attributes attributes;
    forge_value inputs[MAX_INPUTS];
    uint32_t input_count;
    struct value types[OP_MAX_OUTPUTS]; /* as written */
    uint32_t label_count, type_count;
    const char *name; /* of a port or slot */
};

static forge_graph *graph_of(struct parser *p)
{
    return p->builder->graph;
}

/* The builder's own message, at this place. */
static bool builder_agrees(struct parser *p, size_t at)
{
    if (!p->builder->has_failed)
        return true;
    if (p->builder->error.status == JOULE_NO_MEMORY)
        return cursor_no_memory(&p->in);
    return cursor_fail_at(&p->in, at, "%s", p->builder->error.message);
}

/* --- sizes and types ---------------------------------------------------------------------------------------- */

static forge_dim parse_dim(struct parser *p, struct dim_table *dims, unsigned nesting);

static forge_dim named_dim(struct parser *p, const struct dim_table *dims)
{
    size_t start = p->in.at;
    const char *name = cursor_name(&p->in, &p->arena, false);
    for (size_t i = 0; name && i < dims->count; i++)
        if (dims->entries[i].kind == DIM_SYMBOL && strcmp(dims->entries[i].name, name) == 0)
            return -(forge_dim)i - 1;
    if (name)
        cursor_fail_at(&p->in, start, "expected a symbol, and there is none '%.40s'", name);
    return DIM_FAILED;
}

/* After "(". */
static forge_dim dim_of_two(struct parser *p, struct dim_table *dims, unsigned nesting)
{
    size_t start = p->in.at;
    if (nesting == 0) {
        cursor_fail_at(&p->in, start, "expected a size that nests less deeply");
        return DIM_FAILED;
    }
    forge_dim a = parse_dim(p, dims, nesting - 1);
    char sign = cursor_next(&p->in);
    if (!cursor_take(&p->in, "*") && !cursor_take(&p->in, "+") && !cursor_take(&p->in, "/")) {
        cursor_expected(&p->in, "'*', '+' or '/'");
        return DIM_FAILED;
    }
    forge_dim b = parse_dim(p, dims, nesting - 1);
    if (!cursor_want(&p->in, ")"))
        return DIM_FAILED;
    forge_dim dim = sign == '*'   ? dim_mul(dims, a, b)
                    : sign == '+' ? dim_add(dims, a, b)
                                  : dim_div(dims, a, b);
    if (dim == DIM_FAILED)
        cursor_fail_at(&p->in, start,
                       "expected a size that is not above 2^48, divided by 0, or all too long");
    return dim;
}

static forge_dim parse_dim(struct parser *p, struct dim_table *dims, unsigned nesting)
{
    uint64_t number;
    char next = cursor_next(&p->in);
    if (next >= '0' && next <= '9')
        return cursor_number(&p->in, DIM_MAX_NUMBER, &number) ? (forge_dim)number : DIM_FAILED;
    if (cursor_take(&p->in, "("))
        return dim_of_two(p, dims, nesting);
    return named_dim(p, dims);
}

/* A sum of as many terms as one may have nests as deeply. */
static bool parse_size(struct parser *p, struct dim_table *dims, forge_dim *out)
{
    *out = parse_dim(p, dims, DIM_MAX_LEAVES);
    return p->in.status == JOULE_OK;
}

static bool parse_dtype(struct parser *p, forge_dtype *out)
{
    char name[16];
    size_t start = (cursor_next(&p->in), p->in.at);
    *out = cursor_identifier(&p->in, name, sizeof name) ? forge_dtype_from_name(name) : FORGE_DTYPE_NONE;
    if (*out != FORGE_DTYPE_NONE)
        return true;
    p->in.at = start;
    return cursor_expected(&p->in, "a type such as f32[2,3]");
}

/* "f32[2,B]". */
static bool parse_type(struct parser *p, forge_dtype *out_dtype, forge_shape *out_shape)
{
    *out_shape = (forge_shape){0};
    if (!parse_dtype(p, out_dtype) || !cursor_want(&p->in, "["))
        return false;
    while (!cursor_take(&p->in, "]")) {
        if (out_shape->rank && !cursor_want(&p->in, ","))
            return false;
        if (out_shape->rank == FORGE_MAX_RANK)
            return cursor_expected(&p->in, "8 dimensions at most");
        if (!parse_size(p, &graph_of(p)->dims, &out_shape->dims[out_shape->rank]))
            return false;
        out_shape->rank++;
    }
    return true;
}

/* --- values ------------------------------------------------------------------------------------------------- */

/* A value of an earlier line. */
static bool parse_value(struct parser *p, forge_value *out)
{
    uint64_t label;
    size_t start = (cursor_next(&p->in), p->in.at);
    if (!cursor_want(&p->in, "%") || !cursor_number(&p->in, UINT32_MAX, &label))
        return false;
    if (label == 0 || label >= p->value_count)
        return cursor_fail_at(&p->in, start, "expected a value of a line before, and found %%%u",
                              (unsigned)label);
    *out = p->values[label];
    return true;
}

/* "%5, %6 =". Values are numbered as they come. */
static bool parse_labels(struct parser *p, struct statement *s)
{
    uint64_t label;
    do {
        size_t start = (cursor_next(&p->in), p->in.at), own = p->value_count + s->label_count;
        if (!cursor_want(&p->in, "%") || !cursor_number(&p->in, UINT32_MAX, &label))
            return false;
        if (label != own)
            return cursor_fail_at(&p->in, start, "expected %%%zu, as values are numbered in order", own);
        if (++s->label_count > OP_MAX_OUTPUTS)
            return cursor_fail_at(&p->in, start, "expected %d values at most", OP_MAX_OUTPUTS);
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
            return cursor_expected(&p->in, "16 inputs at most");
        if (!parse_value(p, &s->inputs[s->input_count++]))
            return false;
    }
    return true;
}

/* --- attributes --------------------------------------------------------------------------------------------- */

static bool parse_kind(struct parser *p, const struct field *field, uint32_t *out)
{
    char name[32];
    size_t start = p->in.at;
    if (cursor_identifier(&p->in, name, sizeof name))
        for (*out = 0; *out < field->limit; ++*out)
            if (strcmp(field->kind_name(*out), name) == 0)
                return true;
    p->in.at = start;
    return cursor_expected(&p->in, "a kind of the operation before it");
}

/* "unary.relu". */
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
            cursor_fail_at(&p->in, start, "expected a name below 32 bytes");
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

/* One of a list of sizes, steps or numbers, or of a set of axes. */
static bool parse_item(struct parser *p, const struct field *field, void *out, uint32_t i)
{
    uint64_t number;
    if (field->kind == FIELD_DIMS)
        return parse_size(p, &graph_of(p)->dims, (forge_dim *)out + i);
    if (field->kind == FIELD_STEPS)
        return parse_step(p, (int64_t *)out + i);
    if (!cursor_number(&p->in, field->kind == FIELD_AXES ? FORGE_MAX_RANK - 1 : UINT32_MAX, &number))
        return false;
    if (field->kind == FIELD_AXES)
        *(uint32_t *)out |= 1u << number;
    else
        ((uint32_t *)out)[i] = (uint32_t)number;
    return true;
}

/* "[0,2]". */
static bool parse_list(struct parser *p, const struct field *field, void *out)
{
    uint32_t most = field->kind == FIELD_AXES ? FORGE_MAX_RANK : field->limit;
    if (!cursor_want(&p->in, "["))
        return false;
    for (uint32_t i = 0; !cursor_take(&p->in, "]"); i++) {
        if (i == most)
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
        return cursor_fail_at(&p->in, start, "expected a body from above, and found $%u", (unsigned)number);
    const struct body *body = &p->bodies[number];
    if (p->nesting < body->nesting + 1)
        p->nesting = body->nesting + 1;
    if (p->nesting > MAX_NESTING)
        return cursor_fail_at(&p->in, start, "expected bodies that nest at most %d deep", MAX_NESTING);
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

/* "name=value", where it is there. */
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
    case FIELD_STEPS:
    case FIELD_DIMS:
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

/* ": f32[2], f32[3]", and the attributes that say the same. */
static bool parse_types(struct parser *p, struct statement *s)
{
    if (!cursor_want(&p->in, ":"))
        return false;
    do {
        struct value *type = &s->types[s->type_count];
        if (s->type_count == s->label_count)
            return cursor_expected(&p->in, "as many types as values");
        if (!parse_type(p, &type->dtype, &type->shape))
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

/* "@mlp/fc1 backward". */
static bool parse_provenance(struct parser *p)
{
    p->builder->scope = 0;
    p->builder->phase = FORGE_PHASE_FORWARD;
    if (cursor_take(&p->in, "@")) {
        size_t start = p->in.at;
        const char *path = cursor_name(&p->in, &p->arena, true);
        if (!path)
            return false;
        if (strlen(path) > MAX_PATH)
            return cursor_fail_at(&p->in, start, "expected a scope of at most %d bytes", MAX_PATH);
        p->builder->scope = builder_scope(p->builder, path);
    }
    for (int phase = FORGE_PHASE_BACKWARD; phase <= FORGE_PHASE_DATA; phase++)
        if (cursor_take(&p->in, forge_phase_name((forge_phase)phase)))
            p->builder->phase = (forge_phase)phase;
    return true;
}

/* --- constants ---------------------------------------------------------------------------------------------- */

/* Blocks, as pairs of digits. */
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

/* Memory is asked for what the text can hold. */
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

/* --- nodes -------------------------------------------------------------------------------------------------- */

static uint32_t find_slot(struct parser *p, const char *name)
{
    const forge_graph *graph = graph_of(p);
    uint32_t i = 0;
    while (i < graph->slot_count && strcmp(graph->slots[i].name, name) != 0)
        i++;
    return i;
}

static forge_value emit(struct parser *p, struct statement *s)
{
    uint32_t slot;
    switch (s->op) {
    case OP_INPUT:
        return forge_input(p->builder, s->name, s->types[0].dtype, s->types[0].shape);
    case OP_READ:
        slot = find_slot(p, s->name);
        if (slot < graph_of(p)->slot_count)
            return forge_read(p->builder, slot);
        cursor_fail_at(&p->in, s->start, "expected a slot from above, and there is none '%.40s'", s->name);
        return FORGE_NO_VALUE;
    case OP_CONSTANT:
        return emit_constant(p, s);
    default:
        return builder_emit(p->builder, s->op, &s->attributes, op_attributes_size(s->op), s->inputs,
                            s->input_count);
    }
}

/* What is written is what the operation gives. */
static bool agrees(struct parser *p, const struct statement *s, forge_value value)
{
    const forge_graph *graph = graph_of(p);
    const struct node *node = graph_producer(graph, value);
    char made[200];
    struct text text;
    text_init(&text, made, sizeof made);
    bool is_same = node->output_count == s->type_count;
    for (uint32_t i = 0; i < node->output_count; i++) {
        const struct value *own = &graph->values[node->output + i];
        is_same &= i < s->type_count && own->dtype == s->types[i].dtype &&
                   forge_shape_equal(&own->shape, &s->types[i].shape);
        text_printf(&text, "%s%s", i ? ", " : "", forge_dtype_name(own->dtype));
        dim_print_shape(&graph->dims, &own->shape, &text);
    }
    return is_same ||
           cursor_fail_at(&p->in, s->start, "expected the type %s, which %s gives", made, op_name(s->op));
}

static bool parse_node(struct parser *p)
{
    struct statement s = {.start = p->in.at};
    if (!parse_labels(p, &s) || !parse_family(p, &s) || !parse_inputs(p, &s))
        return false;
    for (const struct field *field = op_fields(s.op); field->kind != FIELD_END; field++)
        if (!parse_field(p, &s, field))
            return false;
    if (!parse_types(p, &s) || !parse_provenance(p))
        return false;
    forge_value value = emit(p, &s);
    if (p->in.status != JOULE_OK || !builder_agrees(p, s.start) || !agrees(p, &s, value))
        return false;
    for (uint32_t i = 0; i < s.type_count; i++) {
        if (!ARRAY_ROOM(p->values, p->value_capacity, p->value_count))
            return cursor_no_memory(&p->in);
        p->values[p->value_count++] = value + i;
    }
    return true;
}

/* --- slots, outputs, writes --------------------------------------------------------------------------------- */

static bool parse_init(struct parser *p, forge_init *out)
{
    static const char *const kinds[] = {"constant", "uniform", "normal"};
    uint32_t kind = 0;
    while (kind < 3 && !cursor_take(&p->in, kinds[kind]))
        kind++;
    if (kind == 3)
        return cursor_expected(&p->in, "constant, uniform or normal");
    *out = (forge_init){.kind = (forge_init_kind)kind};
    return cursor_want(&p->in, "(") && cursor_element(&p->in, FORGE_F64, &out->a) &&
           (!cursor_take(&p->in, ",") || cursor_element(&p->in, FORGE_F64, &out->b)) &&
           cursor_want(&p->in, ")");
}

/* slot "w" : f32[2] = normal(0, 0.1) parameter */
static bool parse_slot(struct parser *p, size_t start)
{
    forge_dtype dtype;
    forge_shape shape;
    forge_init init;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, ":") || !parse_type(p, &dtype, &shape) || !cursor_want(&p->in, "=") ||
        !parse_init(p, &init))
        return false;
    if (find_slot(p, name) < graph_of(p)->slot_count)
        return cursor_fail_at(&p->in, start, "expected another name: there is a slot '%.40s' already", name);
    forge_slot slot = forge_state(p->builder, name, dtype, shape, init);
    if (!builder_agrees(p, start))
        return false;
    graph_of(p)->slots[slot].is_parameter = cursor_take(&p->in, "parameter");
    return true;
}

/* output "y" = %3 */
static bool parse_output(struct parser *p, size_t start)
{
    forge_value value;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, "=") || !parse_value(p, &value))
        return false;
    forge_output(p->builder, name, value);
    return builder_agrees(p, start);
}

/* write "w" = %3 in_place */
static bool parse_write(struct parser *p, size_t start)
{
    forge_value value;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, "=") || !parse_value(p, &value))
        return false;
    uint32_t slot = find_slot(p, name);
    if (slot == graph_of(p)->slot_count)
        return cursor_fail_at(&p->in, start, "expected a slot from above, and there is none '%.40s'", name);
    forge_write(p->builder, slot, value, cursor_take(&p->in, "in_place"));
    return builder_agrees(p, start);
}

/* --- all ---------------------------------------------------------------------------------------------------- */

/* Of a graph or body, up to something else. */
static bool parse_lines(struct parser *p)
{
    for (bool goes_on = true; goes_on;) {
        cursor_take_lines(&p->in);
        size_t start = p->in.at;
        if (cursor_next(&p->in) == '%')
            goes_on = parse_node(p);
        else if (cursor_take(&p->in, "slot"))
            goes_on = parse_slot(p, start);
        else if (cursor_take(&p->in, "output"))
            goes_on = parse_output(p, start);
        else if (cursor_take(&p->in, "write"))
            goes_on = parse_write(p, start);
        else
            break;
        if (goes_on && !cursor_take_lines(&p->in))
            goes_on = cursor_expected(&p->in, "the end of the line");
    }
    return p->in.status == JOULE_OK;
}

/* A graph or body from here on. */
static bool parse_graph(struct parser *p, const char *end, forge_graph **out)
{
    joule_error error;
    size_t start = p->in.at;
    p->nesting = 0;
    p->value_count = 0;
    p->builder = builder_new(&p->dims);
    if (!p->builder || !ARRAY_ROOM(p->values, p->value_capacity, p->value_count))
        return cursor_no_memory(&p->in);
    p->values[p->value_count++] = FORGE_NO_VALUE;
    if (!parse_lines(p))
        return false;
    if (end ? !cursor_want(&p->in, end) : p->in.at < p->in.length)
        return cursor_expected(&p->in, "a value (%1 = ...), slot, output or write");
    forge_builder *builder = p->builder;
    p->builder = NULL;
    if (forge_builder_finish(builder, out, &error) != JOULE_OK)
        return error.status == JOULE_NO_MEMORY ? cursor_no_memory(&p->in)
                                               : cursor_fail_at(&p->in, start, "%s", error.message);
    return true;
}

/* body $0 { ... } */
static bool parse_body(struct parser *p)
{
    uint64_t number;
    size_t start = p->in.at;
    forge_graph *body = NULL;
    if (!cursor_want(&p->in, "$") || !cursor_number(&p->in, UINT32_MAX, &number) || !cursor_want(&p->in, "{"))
        return false;
    if (number != p->body_count)
        return cursor_fail_at(&p->in, start, "expected $%zu, as bodies are numbered in order", p->body_count);
    if ((p->body_count + 1) * p->dims.count > MAX_SIZE_COPIES)
        return cursor_fail_at(&p->in, start, "expected fewer bodies with so many sizes");
    if (!ARRAY_ROOM(p->bodies, p->body_capacity, p->body_count))
        return cursor_no_memory(&p->in);
    if (!parse_graph(p, "}", &body))
        return false;
    p->bodies[p->body_count++] = (struct body){body, p->nesting};
    dim_table_free(&p->dims);
    return dim_table_copy(&p->dims, &body->dims) || cursor_no_memory(&p->in);
}

/* symbol B : 1..64 by 8 */
static bool parse_symbol(struct parser *p)
{
    uint64_t min, max, multiple = 1;
    size_t start = p->in.at;
    const char *name = cursor_name(&p->in, &p->arena, false);
    if (!name || !cursor_want(&p->in, ":") || !cursor_number(&p->in, DIM_MAX_NUMBER, &min) ||
        !cursor_want(&p->in, "..") || !cursor_number(&p->in, DIM_MAX_NUMBER, &max) ||
        (cursor_take(&p->in, "by") && !cursor_number(&p->in, INT64_MAX, &multiple)))
        return false;
    if (dim_symbol(&p->dims, name, (int64_t)min, (int64_t)max, (int64_t)multiple) != DIM_FAILED)
        return true;
    return cursor_fail_at(
        &p->in, start,
        "expected a new symbol of at most 31 bytes, its least and greatest number and what it is "
        "a multiple of");
}

static bool parse_all(struct parser *p, forge_graph **out)
{
    cursor_take_lines(&p->in);
    bool goes_on = cursor_want(&p->in, "forge") && cursor_want(&p->in, "graph") && cursor_want(&p->in, "1");
    forge_dim size;
    while (goes_on) {
        if (!cursor_take_lines(&p->in))
            goes_on = cursor_expected(&p->in, "the end of the line");
        else if (cursor_take(&p->in, "symbol"))
            goes_on = parse_symbol(p);
        else if (cursor_take(&p->in, "size"))
            goes_on = parse_size(p, &p->dims, &size);
        else if (cursor_take(&p->in, "body"))
            goes_on = parse_body(p);
        else
            return parse_graph(p, NULL, out);
    }
    return false;
}

joule_status forge_graph_parse(const char *text, size_t length, forge_graph **out_graph,
                               joule_error *out_error)
{
    struct parser p = {.in = {.text = text, .length = length, .error = out_error}};
    forge_graph *graph = NULL;
    if (parse_all(&p, &graph))
        *out_graph = graph;
    for (size_t i = 0; i < p.body_count; i++)
        forge_graph_free(p.bodies[i].graph);
    forge_builder_free(p.builder);
    dim_table_free(&p.dims);
    arena_free(&p.arena);
    free(p.bodies);
    free(p.values);
    return p.in.status;
}
