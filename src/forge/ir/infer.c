/* ir/infer.c - see infer.h. */
#include "forge/ir/infer.h"
#include "forge/ir/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct op_row {
    const char *name;
    uint8_t min_inputs, max_inputs;
    size_t attributes_size;
} op_rows[OP_COUNT] = {
#define OP(NAME, name, min_inputs, max_inputs, attributes)                                                   \
    [OP_##NAME] = {#name, min_inputs, max_inputs, sizeof(attributes)},
#include "forge/ir/ops.def"
};

const char *op_name(enum op op)
{
    return (unsigned)op < OP_COUNT ? op_rows[op].name : "unknown";
}

size_t op_attributes_size(enum op op)
{
    return op_rows[op].attributes_size;
}

bool op_takes_inputs(enum op op, size_t count)
{
    return count >= op_rows[op].min_inputs && count <= op_rows[op].max_inputs;
}

const char *unary_name(forge_unary_kind kind)
{
    static const char *const names[] = {
#define UNARY(NAME, text) text,
#include <forge/unary.def>
#undef UNARY
    };
    return (unsigned)kind < FORGE_UNARY_KINDS ? names[kind] : "unknown";
}

const char *binary_name(forge_binary_kind kind)
{
    static const char *const names[] = {
#define BINARY(NAME, text) text,
#include <forge/binary.def>
#undef BINARY
    };
    return (unsigned)kind < FORGE_BINARY_KINDS ? names[kind] : "unknown";
}

const char *reduce_name(forge_reduce_kind kind)
{
    static const char *const names[] = {"sum", "mean", "maximum", "minimum", "product", "argmax"};
    return (unsigned)kind < FORGE_REDUCE_KINDS ? names[kind] : "unknown";
}

const char *scatter_name(forge_scatter_kind kind)
{
    static const char *const names[] = {"set", "add", "max", "min"};
    return (unsigned)kind < FORGE_SCATTER_KINDS ? names[kind] : "unknown";
}

const char *random_name(forge_random_kind kind)
{
    static const char *const names[] = {"uniform", "normal", "bits"};
    return (unsigned)kind < FORGE_RANDOM_KINDS ? names[kind] : "unknown";
}

/* --- errors --------------------------------------------------------------------------------------------- */

bool infer_fail(struct inference *i, const char *format, ...)
{
    char what[160], inputs[200];
    struct text text;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    text_init(&text, inputs, sizeof inputs);
    for (size_t k = 0; k < i->input_count; k++) {
        text_printf(&text, "%s%s", k ? ", " : "", forge_dtype_name(i->inputs[k]->dtype));
        dim_print_shape(&i->graph->dims, &i->inputs[k]->shape, &text);
    }
    snprintf(i->message, sizeof i->message, "%s(%s): %s", op_name(i->op), inputs, what);
    return false;
}

bool infer_add_output(struct inference *i, forge_dtype dtype, const forge_shape *shape)
{
    for (uint32_t k = 0; k < shape->rank; k++)
        if (!dim_is_known(&i->graph->dims, shape->dims[k]))
            return infer_fail(i, "dimension %u of the result is too large or invalid", k);
    i->outputs[i->output_count++] =
        (struct value){.dtype = dtype, .place = i->place, .layout = LAYOUT_PACKED, .shape = *shape};
    return true;
}

static bool has_shape(struct inference *i, forge_dtype dtype, const forge_shape *shape)
{
    if (!forge_dtype_block_bytes(dtype))
        return infer_fail(i, "unknown type %d", (int)dtype);
    if (shape->rank > FORGE_MAX_RANK)
        return infer_fail(i, "rank %u is above %d", shape->rank, FORGE_MAX_RANK);
    return infer_add_output(i, dtype, shape);
}

static bool is_computed(struct inference *i)
{
    for (size_t k = 0; k < i->input_count; k++)
        if (!forge_dtype_is_computed(i->inputs[k]->dtype))
            return infer_fail(i, "operations do not support %s: cast it first",
                              forge_dtype_name(i->inputs[k]->dtype));
    return true;
}

bool shapes_broadcast(const forge_shape *a, const forge_shape *b, forge_shape *out_shape)
{
    forge_shape shape = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (uint32_t k = 1; k <= shape.rank; k++) {
        forge_dim of_a = k <= a->rank ? a->dims[a->rank - k] : 1,
                  of_b = k <= b->rank ? b->dims[b->rank - k] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return false;
        shape.dims[shape.rank - k] = of_a == 1 ? of_b : of_a;
    }
    *out_shape = shape;
    return true;
}

/* --- leaves --------------------------------------------------------------------------------------------- */

bool infer_input(struct inference *i)
{
    const struct input_attributes *a = i->attributes;
    return has_shape(i, a->dtype, &a->shape);
}

bool infer_read(struct inference *i)
{
    const struct read_attributes *a = i->attributes;
    if (a->slot >= i->graph->slot_count)
        return infer_fail(i, "slot %u does not exist", a->slot);
    const struct slot *slot = &i->graph->slots[a->slot];
    return has_shape(i, slot->dtype, &slot->shape);
}

bool infer_constant(struct inference *i)
{
    const struct constant_attributes *a = i->attributes;
    size_t size = forge_dtype_size_bytes(a->dtype, forge_shape_elements(&a->shape));
    if (size != a->size_bytes)
        return infer_fail(i, "%u bytes of elements do not match its shape", a->size_bytes);
    return has_shape(i, a->dtype, &a->shape);
}

bool infer_iota(struct inference *i)
{
    const struct iota_attributes *a = i->attributes;
    if (!forge_dtype_is_computed(a->dtype) || a->dtype == FORGE_BOOL)
        return infer_fail(i, "iota does not support %s", forge_dtype_name(a->dtype));
    if (a->axis >= a->shape.rank)
        return infer_fail(i, "axis %u does not exist in rank %u", a->axis, a->shape.rank);
    return has_shape(i, a->dtype, &a->shape);
}

/* --- element by element --------------------------------------------------------------------------------- */

bool infer_unary(struct inference *i)
{
    const struct kind_attributes *a = i->attributes;
    forge_dtype dtype = i->inputs[0]->dtype;
    if (a->kind >= FORGE_UNARY_KINDS)
        return infer_fail(i, "unknown kind %u", a->kind);
    bool any = a->kind == FORGE_NEG || a->kind == FORGE_ABS || a->kind == FORGE_SIGN ||
               a->kind == FORGE_SQUARE || a->kind == FORGE_RELU;
    if (a->kind == FORGE_NOT ? dtype != FORGE_BOOL : any ? dtype == FORGE_BOOL : !forge_dtype_is_float(dtype))
        return infer_fail(i, "%s does not support %s", unary_name(a->kind), forge_dtype_name(dtype));
    return infer_add_output(i, a->kind == FORGE_IS_NAN ? FORGE_BOOL : dtype, &i->inputs[0]->shape);
}

static bool is_logical(uint32_t kind)
{
    return kind == FORGE_AND || kind == FORGE_OR || kind == FORGE_XOR;
}

bool infer_binary(struct inference *i)
{
    const struct kind_attributes *a = i->attributes;
    forge_dtype dtype = i->inputs[0]->dtype;
    forge_shape shape;
    if (a->kind >= FORGE_BINARY_KINDS)
        return infer_fail(i, "unknown kind %u", a->kind);
    if (i->inputs[1]->dtype != dtype)
        return infer_fail(i, "%s needs two values of one type: cast one", binary_name(a->kind));
    if (!shapes_broadcast(&i->inputs[0]->shape, &i->inputs[1]->shape, &shape))
        return infer_fail(i, "%s: the shapes do not broadcast", binary_name(a->kind));
    bool compares = a->kind >= FORGE_EQ;
    if (is_logical(a->kind) ? forge_dtype_is_float(dtype) : !compares && dtype == FORGE_BOOL)
        return infer_fail(i, "%s does not support %s", binary_name(a->kind), forge_dtype_name(dtype));
    return infer_add_output(i, compares ? FORGE_BOOL : dtype, &shape);
}

/* Infers a select. The inputs condition, a and b are broadcast to the shape of the result. */
bool infer_select(struct inference *i)
{
    forge_shape shape;
    if (i->inputs[0]->dtype != FORGE_BOOL)
        return infer_fail(i, "the condition must be bool");
    if (i->inputs[1]->dtype != i->inputs[2]->dtype)
        return infer_fail(i, "both values must have one type: cast one");
    if (!shapes_broadcast(&i->inputs[1]->shape, &i->inputs[2]->shape, &shape) ||
        !shapes_broadcast(&i->inputs[0]->shape, &shape, &shape))
        return infer_fail(i, "the shapes do not broadcast");
    return infer_add_output(i, i->inputs[1]->dtype, &shape);
}

bool infer_cast(struct inference *i)
{
    const struct cast_attributes *a = i->attributes;
    if (!forge_dtype_block_bytes(a->dtype))
        return infer_fail(i, "unknown type %d", (int)a->dtype);
    return infer_add_output(i, a->dtype, &i->inputs[0]->shape);
}

/* --- across elements ------------------------------------------------------------------------------------ */

/* Infers a reduction. x: any shape. The result has x's shape, in which reduced dimensions are 1 or
 * removed. */
bool infer_reduce(struct inference *i)
{
    const struct reduce_attributes *a = i->attributes;
    const struct value *x = i->inputs[0];
    forge_shape shape = {0};
    if (a->kind >= FORGE_REDUCE_KINDS)
        return infer_fail(i, "unknown kind %u", a->kind);
    if (a->axes >> x->shape.rank)
        return infer_fail(i, "axes 0x%x do not exist in rank %u", a->axes, x->shape.rank);
    if (a->kind == FORGE_ARGMAX && __builtin_popcount(a->axes) != 1)
        return infer_fail(i, "argmax needs exactly one axis");
    if (x->dtype == FORGE_BOOL || (a->kind == FORGE_MEAN && !forge_dtype_is_float(x->dtype)))
        return infer_fail(i, "%s does not support %s", reduce_name(a->kind), forge_dtype_name(x->dtype));
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        bool is_reduced = a->axes >> k & 1;
        if (is_reduced && a->kind >= FORGE_MAXIMUM && a->kind != FORGE_PRODUCT && x->shape.dims[k] == 0)
            return infer_fail(i, "%s needs at least one element", reduce_name(a->kind));
        if (!is_reduced || a->keep_dims)
            shape.dims[shape.rank++] = is_reduced ? 1 : x->shape.dims[k];
    }
    return infer_add_output(i, a->kind == FORGE_ARGMAX ? FORGE_I64 : x->dtype, &shape);
}

/* Returns the shape; if is_transposed, with its last two dimensions exchanged. */
static forge_shape transpose_last(const forge_shape *shape, bool is_transposed)
{
    forge_shape result = *shape;
    if (is_transposed) {
        result.dims[shape->rank - 2] = shape->dims[shape->rank - 1];
        result.dims[shape->rank - 1] = shape->dims[shape->rank - 2];
    }
    return result;
}

/* Returns the shape without its last two dimensions. */
static forge_shape leading(const forge_shape *shape)
{
    forge_shape result = *shape;
    result.rank -= 2;
    result.dims[result.rank] = result.dims[result.rank + 1] = 0;
    return result;
}

/* Infers a matmul. a: [..., rows, depth]; b: [..., depth, columns]. FORGE_TRANSPOSE_A and FORGE_TRANSPOSE_B
 * exchange the last two dimensions of a and of b. The leading dimensions broadcast. Result:
 * [..., rows, columns]. */
bool infer_matmul(struct inference *i)
{
    const struct matmul_attributes *attributes = i->attributes;
    const struct value *a = i->inputs[0], *b = i->inputs[1];
    if (a->dtype != b->dtype || a->dtype == FORGE_BOOL)
        return infer_fail(i, "both inputs must have the same numeric type");
    if (a->shape.rank < 2 || b->shape.rank < 2)
        return infer_fail(
            i, "both inputs need at least two dimensions: reshape a vector to a matrix of one row");
    forge_shape left = transpose_last(&a->shape, attributes->flags & FORGE_TRANSPOSE_A);
    forge_shape right = transpose_last(&b->shape, attributes->flags & FORGE_TRANSPOSE_B);
    if (left.dims[left.rank - 1] != right.dims[right.rank - 2])
        return infer_fail(i, "the inner dimensions differ%s",
                          attributes->flags ? " (after the transposes)" : "");
    forge_shape of_a = leading(&left), of_b = leading(&right), shape;
    if (!shapes_broadcast(&of_a, &of_b, &shape))
        return infer_fail(i, "the leading dimensions do not broadcast");
    shape.dims[shape.rank++] = left.dims[left.rank - 2];
    shape.dims[shape.rank++] = right.dims[right.rank - 1];
    return infer_add_output(i, a->dtype, &shape);
}

/* --- all ------------------------------------------------------------------------------------------------ */

bool infer_composite(struct inference *i)
{
    const struct composite_attributes *a = i->attributes;
    if (a->body && a->body->place_count > 1)
        return infer_fail(i, "%s: the body must not name places, because it runs on the composite's place",
                          a->name);
    if (!a->body || a->body->input_count != i->input_count || a->body->output_count == 0 ||
        a->body->output_count > OP_MAX_OUTPUTS)
        return infer_fail(i, "%s: the body has a different number of inputs or outputs", a->name);
    for (size_t k = 0; k < i->input_count; k++) {
        const struct value *inner = &a->body->values[a->body->inputs[k].value];
        if (inner->dtype != i->inputs[k]->dtype || !forge_shape_equal(&inner->shape, &i->inputs[k]->shape))
            return infer_fail(i, "%s: input %zu has a different type or shape in the body", a->name, k);
    }
    for (size_t k = 0; k < a->body->output_count; k++) {
        const struct value *inner = &a->body->values[a->body->outputs[k].value];
        if (!infer_add_output(i, inner->dtype, &inner->shape))
            return false;
    }
    return true;
}

static bool (*const rules[OP_COUNT])(struct inference *) = {
#define OP(NAME, name, min_inputs, max_inputs, attributes) [OP_##NAME] = infer_##name,
#include "forge/ir/ops.def"
};

static bool check_places(struct inference *i)
{
    char own[PLACE_TEXT], other[PLACE_TEXT];
    for (size_t k = 0; i->graph->is_placed && k < i->input_count; k++)
        if (i->inputs[k]->place != i->place)
            return infer_fail(
                i, "the operation runs on %s, but operand %zu is stored on %s: a transfer is missing",
                place_text(i->graph, i->place, own), k, place_text(i->graph, i->inputs[k]->place, other));
    return true;
}

bool infer(struct inference *i)
{
    i->output_count = 0;
    i->message[0] = '\0';
    bool takes_storage = i->op == OP_CAST || i->op == OP_COMPOSITE;
    return (i->op == OP_TRANSFER || check_places(i)) && (takes_storage || is_computed(i)) &&
           rules[i->op](i) && infer_layouts(i);
}
