/* ir/sized_check.c - checks that a program stays within its memory at given sizes; see sized.h.
 *
 * Note: infer.c computes the types and shapes that a launch's outputs must have. So a new operation needs no
 * code in this file. The checks allocate no memory.
 */
#include "base/error.h"
#include "forge/ir/fields.h"
#include "forge/ir/infer.h"
#include "forge/ir/sized.h"

/* State of one check: the sized program, and the first error. */
struct check {
    const struct sized *sized;
    const forge_program *program;
    joule_error *error;
    joule_status status;
};

/* Sets the error. Evaluates to false. */
#define invalid(c, ...) set_invalid(c, error_set((c)->error, JOULE_INVALID, __VA_ARGS__))

static bool set_invalid(struct check *c, joule_status status)
{
    c->status = status;
    return false;
}

/* --- views ---------------------------------------------------------------------------------------------- */

/* Computes the lowest and the highest position of the view's elements, relative to the element with all
 * indices 0, in elements. Returns false on overflow. Strides of dimensions of size 1 must not overflow
 * either, because later arithmetic uses them. */
static bool compute_extent(const struct view *view, int64_t *out_first, int64_t *out_last)
{
    *out_first = *out_last = 0;
    for (uint32_t i = 0; i < view->shape.rank; i++) {
        int64_t stride = view->strides[i], dim = view->shape.dims[i], span;
        if (__builtin_mul_overflow(stride, dim, &span) || span > DIM_MAX_NUMBER || span < -DIM_MAX_NUMBER)
            return false;
        if (dim > 1)
            *(stride < 0 ? out_first : out_last) += span - stride;
    }
    return true;
}

/* The bytes of a buffer that a view touches: [first, end), counted from the start of the buffer. */
struct range {
    int64_t first, end;
};

static bool range_of(const struct view *view, uint64_t offset_bytes, struct range *out)
{
    int64_t offset = (int64_t)offset_bytes, first, last;
    int64_t size = (int64_t)forge_dtype_block_bytes(view->dtype);
    size_t elements = forge_shape_elements(&view->shape);
    uint64_t packed_bytes = forge_dtype_size_bytes(view->dtype, elements);
    if (elements == SIZE_MAX || packed_bytes > PROGRAM_MAX_BYTES || !compute_extent(view, &first, &last) ||
        offset_bytes > PROGRAM_MAX_BYTES)
        return false;
    *out = (struct range){offset, offset};
    if (packed_bytes == 0)
        return true;
    if (forge_dtype_block_elements(view->dtype) != 1) { /* an element of a block format has no address */
        out->end += (int64_t)packed_bytes;
        return offset == 0 && view_is_packed(view);
    }
    out->first += first * size;
    out->end += (last + 1) * size;
    return true;
}

/* A view of a launch, with its buffer and the bytes that it touches. */
struct buffer_view {
    const struct program_buffer *buffer;
    struct view view;
    struct range range;
};

static uint64_t size_of(const struct check *c, const struct program_buffer *buffer)
{
    forge_shape shape = dim_substitute_shape(&buffer->shape, c->sized->values);
    return forge_dtype_size_bytes((forge_dtype)buffer->dtype, forge_shape_elements(&shape));
}

static bool find_view(struct check *c, size_t i, struct buffer_view *out)
{
    const struct program_binding *binding = &program_bindings(c->program)[i];
    uint64_t offset, size;
    *out = (struct buffer_view){.buffer = &program_buffers(c->program)[binding->buffer]};
    out->view = sized_view(c->sized, binding, &offset);
    size = size_of(c, out->buffer);
    if (!range_of(&out->view, offset, &out->range) || out->range.first < 0 ||
        (uint64_t)out->range.end > size || size > out->buffer->size_bytes)
        return invalid(c, "view %zu lies outside its buffer", i);
    return true;
}

/* --- launches ------------------------------------------------------------------------------------------- */

static bool are_packed(const struct buffer_view *views, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (!view_is_packed(&views[k].view))
            return false;
    return true;
}

/* Checks that the outputs have the types and shapes that infer.c computes from the inputs. Skips composites,
 * because program_check has checked them for all sizes. */
static bool check_outputs(struct check *c, size_t i, const struct buffer_view *views)
{
    const struct program_launch *launch = &program_launches(c->program)[i];
    const struct buffer_view *outputs = views + launch->input_count;
    forge_graph no_graph = {0};
    struct value values[UINT8_MAX];
    struct inference inference = {.graph = &no_graph,
                                  .op = (enum op)launch->op,
                                  .attributes = c->sized->attributes[i],
                                  .input_count = launch->input_count};
    if (!are_packed(outputs, launch->output_count))
        return invalid(c, "an output of launch %zu is not packed", i);
    if (launch->op == OP_COMPOSITE)
        return true;
    for (size_t k = 0; k < launch->input_count; k++) {
        values[k] = (struct value){.dtype = views[k].view.dtype, .shape = views[k].view.shape};
        inference.inputs[k] = &values[k];
    }
    bool is_valid = infer(&inference);
    dim_table_free(&no_graph.dims);
    if (!is_valid)
        return invalid(c, "launch %zu, %s", i, inference.message);
    is_valid = inference.output_count == launch->output_count;
    for (size_t k = 0; is_valid && k < launch->output_count; k++)
        is_valid = outputs[k].view.dtype == inference.outputs[k].dtype &&
                   forge_shape_equal(&outputs[k].view.shape, &inference.outputs[k].shape);
    return is_valid || invalid(c, "the outputs of launch %zu are not those of %s", i, op_name(inference.op));
}

static bool same_view(const struct view *a, const struct view *b)
{
    return a->dtype == b->dtype && forge_shape_equal(&a->shape, &b->shape) && view_is_packed(a) &&
           view_is_packed(b);
}

/* Returns true if the output `a` and the operand `b` share no byte, or if they are views of exactly the same
 * elements. */
static bool can_coexist(const struct buffer_view *a, const struct buffer_view *b)
{
    bool are_in_arena = a->buffer->kind == BUFFER_ARENA && b->buffer->kind == BUFFER_ARENA;
    struct range x = a->range, y = b->range;
    if (!are_in_arena && a->buffer != b->buffer)
        return true;
    int64_t from_a = are_in_arena ? (int64_t)a->buffer->offset_bytes : 0,
            from_b = are_in_arena ? (int64_t)b->buffer->offset_bytes : 0;
    if (x.first + from_a >= y.end + from_b || y.first + from_b >= x.end + from_a)
        return true;
    return x.first + from_a == y.first + from_b && same_view(&a->view, &b->view);
}

static bool check_overlap(struct check *c, size_t i, const struct buffer_view *views, size_t inputs,
                          size_t count)
{
    for (size_t out = inputs; out < count; out++) {
        uint32_t kind = views[out].buffer->kind;
        if (kind == BUFFER_INPUT || kind == BUFFER_CONSTANT)
            return invalid(c, "launch %zu writes an input or a constant", i);
        for (size_t k = 0; k < out; k++)
            if (!can_coexist(&views[out], &views[k]))
                return invalid(c, "launch %zu writes memory that it also reads", i);
    }
    return true;
}

static bool check_launch(struct check *c, size_t i)
{
    const struct program_launch *launch = &program_launches(c->program)[i];
    size_t inputs = launch->input_count, count = inputs + launch->output_count;
    struct buffer_view views[PROGRAM_MAX_OPERANDS];
    if (count > PROGRAM_MAX_OPERANDS)
        return invalid(c, "launch %zu has %zu operands", i, count);
    for (size_t k = 0; k < count; k++)
        if (!find_view(c, launch->first_binding + k, &views[k]))
            return false;
    return check_outputs(c, i, views) && check_overlap(c, i, views, inputs, count);
}

joule_status sized_check(const struct sized *sized, bool all, joule_error *out_error)
{
    struct check c = {.sized = sized, .program = sized->program, .error = out_error};
    for (size_t i = 0; i < c.program->launches.count; i++)
        if ((all || sized->has_symbols[i]) && !check_launch(&c, i))
            break;
    return c.status;
}
