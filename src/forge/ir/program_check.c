/* ir/program_check.c - whether bytes are a program that may be run.
 *
 * Owns program_check and the hash that finds accidents. Newcomers: the hash keeps nobody out who means harm; everything an
 * instance or a kernel relies on is checked by itself, and what a launch is to look like is asked of infer.c, so that a new
 * family is checked as soon as it has a rule and its fields.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/ir/fields.h"
#include "forge/ir/infer.h"
#include "forge/ir/library.h"
#include "forge/ir/program.h"

#define MOST_BYTES (UINT64_C(1) << 48) /* of anything that is asked for */

struct check {
    const forge_program *program;
    joule_error *error;
    joule_status status;
};

__attribute__((format(printf, 2, 3))) static bool wrong(struct check *c, const char *format, ...)
{
    char what[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    c->status = error_set(c->error, JOULE_INVALID, "this is no program that can be trusted: %s", what);
    return false;
}

/* Words, as sizes are multiples of them. */
uint64_t program_hash(const forge_program *program)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), word;
    for (size_t at = offsetof(forge_program, hash) + sizeof program->hash;
         at + sizeof word <= program->size_bytes; at += sizeof word) {
        memcpy(&word, (const char *)program + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
        hash ^= hash >> 32;
    }
    return hash;
}

/* --- the whole ---------------------------------------------------------------------------------------------- */

static bool lies_inside(const struct check *c, struct program_array array, size_t item)
{
    uint64_t size = c->program->size_bytes;
    return array.offset % PROGRAM_ALIGNMENT == 0 && array.offset >= sizeof *c->program &&
           array.offset <= size && array.count <= (size - array.offset) / item;
}

static bool check_head(struct check *c, size_t size)
{
    const forge_program *p = c->program;
    if (size < sizeof *p || p->magic != PROGRAM_MAGIC)
        return wrong(c, "it does not begin as one");
    if (p->version != PROGRAM_VERSION) {
        c->status = error_set(c->error, JOULE_UNSUPPORTED,
                              "the program has version %u, and this library reads %u: compile it again",
                              p->version, PROGRAM_VERSION);
        return false;
    }
    if (p->size_bytes != size || size % PROGRAM_ALIGNMENT)
        return wrong(c, "it has %zu bytes and says %llu", size, (unsigned long long)p->size_bytes);
    if (p->hash != program_hash(p))
        return wrong(c, "it is damaged: its hash is another one");
    if (!lies_inside(c, p->buffers, sizeof(struct program_buffer)) ||
        !lies_inside(c, p->bindings, sizeof(struct program_binding)) ||
        !lies_inside(c, p->launches, sizeof(struct program_launch)) || !lies_inside(c, p->strings, 1) ||
        !lies_inside(c, p->bytes, 1) || !lies_inside(c, p->constants, 1))
        return wrong(c, "a part lies outside it");
    if (p->strings.count == 0 || program_string(p, 0)[p->strings.count - 1] != '\0')
        return wrong(c, "its strings do not end");
    return true;
}

static bool is_string(const struct check *c, uint32_t offset)
{
    return offset < c->program->strings.count;
}

/* All sizes are numbers; out_size_bytes: of packed elements. */
static bool is_shape(uint32_t dtype, const forge_shape *shape, uint64_t *out_size_bytes)
{
    size_t elements = forge_shape_elements(shape);
    if (!forge_dtype_block_bytes((forge_dtype)dtype) || elements == SIZE_MAX || shape->reserved)
        return false;
    for (uint32_t i = 0; i < FORGE_MAX_RANK; i++)
        if (i < shape->rank ? shape->dims[i] > DIM_MAX_NUMBER : shape->dims[i] != 0)
            return false;
    *out_size_bytes = forge_dtype_size_bytes((forge_dtype)dtype, elements);
    return *out_size_bytes <= MOST_BYTES;
}

/* --- buffers ------------------------------------------------------------------------------------------------ */

static bool is_named(const struct program_buffer *buffer)
{
    return buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_OUTPUT || buffer->kind == BUFFER_STATE;
}

static bool check_buffer(struct check *c, size_t i)
{
    const struct program_buffer *buffer = &program_buffers(c->program)[i];
    uint64_t size,
        space = buffer->kind == BUFFER_ARENA ? c->program->arena_bytes : c->program->constants.count;
    if (buffer->kind > BUFFER_ARENA || !is_string(c, buffer->name))
        return wrong(c, "buffer %zu has no kind or name", i);
    if (!is_shape(buffer->dtype, &buffer->shape, &size) || buffer->size_bytes != size)
        return wrong(c, "buffer %zu has not the size of its type and shape", i);
    if (buffer->init_kind > FORGE_INIT_NORMAL)
        return wrong(c, "buffer %zu has no beginning", i);
    if (!is_named(buffer) && (buffer->offset_bytes % PROGRAM_ALIGNMENT || buffer->offset_bytes > space ||
                              size > space - buffer->offset_bytes))
        return wrong(c, "buffer %zu lies outside", i);
    return true;
}

static int by_name(const void *left, const void *right, void *program)
{
    const struct program_buffer *a = *(const struct program_buffer *const *)left,
                                *b = *(const struct program_buffer *const *)right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->name == b->name ? 0
                              : strcmp(program_string(program, a->name), program_string(program, b->name));
}

/* Two of one name would be one memory. */
static bool check_names(struct check *c)
{
    const struct program_buffer *buffers = program_buffers(c->program);
    const struct program_buffer **named = calloc(c->program->buffers.count + 1, sizeof *named);
    size_t count = 0;
    if (!named) {
        c->status = error_set(c->error, JOULE_NO_MEMORY, "memory for checking a program is used up");
        return false;
    }
    for (size_t i = 0; i < c->program->buffers.count; i++)
        if (is_named(&buffers[i]))
            named[count++] = &buffers[i];
    qsort_r(named, count, sizeof *named, by_name, (void *)c->program);
    for (size_t i = 1; i < count && c->status == JOULE_OK; i++)
        if (by_name(&named[i - 1], &named[i], (void *)c->program) == 0)
            wrong(c, "two buffers have the name '%.40s'", program_string(c->program, named[i]->name));
    free(named);
    return c->status == JOULE_OK;
}

static bool check_buffers(struct check *c)
{
    uint64_t end = 0;
    for (size_t i = 0; i < c->program->buffers.count; i++) {
        const struct program_buffer *buffer = &program_buffers(c->program)[i];
        if (!check_buffer(c, i))
            return false;
        if (buffer->kind == BUFFER_ARENA && buffer->offset_bytes + buffer->size_bytes > end)
            end = buffer->offset_bytes + buffer->size_bytes;
    }
    end = (end + PROGRAM_ALIGNMENT - 1) / PROGRAM_ALIGNMENT * PROGRAM_ALIGNMENT;
    if (c->program->arena_bytes != end || c->program->arena_bound_bytes > end)
        return wrong(c, "its arena has not the size that its buffers need");
    return check_names(c);
}

/* --- bindings ----------------------------------------------------------------------------------------------- */

/* The bytes from the first that can be touched to behind the last, from the buffer's start. */
struct range {
    int64_t first, end;
};

static bool is_packed(const struct program_binding *binding)
{
    int64_t stride = 1;
    for (uint32_t i = binding->shape.rank; i-- > 0; stride *= binding->shape.dims[i])
        if (binding->shape.dims[i] != 1 && binding->strides[i] != stride)
            return false;
    return true;
}

/* False where something overflows. Strides of dimensions that nobody moves along must be harmless to arithmetic, too. */
static bool reach(const struct program_binding *binding, int64_t *out_first, int64_t *out_last)
{
    *out_first = *out_last = 0;
    for (uint32_t i = 0; i < binding->shape.rank; i++) {
        int64_t stride = binding->strides[i], dim = binding->shape.dims[i], way;
        if (stride > DIM_MAX_NUMBER || stride < -DIM_MAX_NUMBER ||
            __builtin_mul_overflow(stride, dim, &way) || way > DIM_MAX_NUMBER || way < -DIM_MAX_NUMBER)
            return false;
        if (dim > 1)
            *(stride < 0 ? out_first : out_last) += way - stride;
    }
    return true;
}

static bool range_of(const struct program_binding *binding, struct range *out)
{
    int64_t offset = (int64_t)binding->offset_bytes, first, last;
    size_t size = forge_dtype_block_bytes((forge_dtype)binding->dtype);
    bool has_address = forge_dtype_block_elements((forge_dtype)binding->dtype) == 1;
    uint64_t packed_bytes;
    if (!is_shape(binding->dtype, &binding->shape, &packed_bytes) || !reach(binding, &first, &last) ||
        binding->offset_bytes > MOST_BYTES || offset % (int64_t)(has_address ? size : 1))
        return false;
    *out = (struct range){offset, offset};
    if (packed_bytes == 0)
        return true;
    if (!has_address) {
        out->end += (int64_t)packed_bytes;
        return is_packed(binding);
    }
    out->first += first * (int64_t)size;
    out->end += (last + 1) * (int64_t)size;
    return true;
}

static bool check_binding(struct check *c, size_t i)
{
    const struct program_binding *binding = &program_bindings(c->program)[i];
    struct range range;
    if (binding->buffer >= c->program->buffers.count || !range_of(binding, &range) || range.first < 0 ||
        (uint64_t)range.end > program_buffers(c->program)[binding->buffer].size_bytes)
        return wrong(c, "view %zu does not lie in its buffer", i);
    return true;
}

/* --- launches ----------------------------------------------------------------------------------------------- */

static bool is_launched(uint32_t op)
{
    static const bool launched[OP_COUNT] = {
#define LEAF(...)
#define OP(NAME, name, least, most, attributes) [OP_##NAME] = true,
#include "forge/ir/ops.def"
    };
    return op < OP_COUNT && launched[op];
}

static bool check_pointers(struct check *c, size_t i)
{
    const struct program_launch *launch = &program_launches(c->program)[i];
    uint64_t bindings = c->program->bindings.count, bytes = c->program->bytes.count;
    if (!is_launched(launch->op))
        return wrong(c, "launch %zu has no operation", i);
    if (!is_string(c, launch->kernel) || !is_string(c, launch->scope) || launch->phase > FORGE_PHASE_DATA)
        return wrong(c, "launch %zu has no kernel, scope or phase", i);
    if ((uint64_t)launch->first_binding + launch->input_count + launch->output_count > bindings ||
        !op_takes_inputs((enum op)launch->op, launch->input_count))
        return wrong(c, "launch %zu has not the operands of %s", i, op_name((enum op)launch->op));
    if (launch->attributes % 8 || (uint64_t)launch->attributes + launch->attributes_size > bytes)
        return wrong(c, "launch %zu has no attributes", i);
    if (!(launch->cost.flop >= 0 && isfinite(launch->cost.flop)) ||
        !(launch->cost.read_bytes >= 0 && isfinite(launch->cost.read_bytes)) ||
        !(launch->cost.written_bytes >= 0 && isfinite(launch->cost.written_bytes)))
        return wrong(c, "launch %zu has no cost", i);
    return true;
}

/* A composite has no body here: the library says what it would make. */
static bool infer_launch(struct inference *inference)
{
    if (inference->op != OP_COMPOSITE)
        return infer(inference);
    const struct composite_attributes *a = inference->attributes;
    return a->body ? infer_refuse(inference, "its body is an address") : library_infer(inference);
}

/* The operation makes of these inputs what the outputs are. */
static bool check_meaning(struct check *c, size_t i)
{
    const struct program_launch *launch = &program_launches(c->program)[i];
    const struct program_binding *inputs = &program_bindings(c->program)[launch->first_binding],
                                 *outputs = inputs + launch->input_count;
    forge_graph no_graph = {0};
    struct value values[UINT8_MAX];
    struct inference inference = {.graph = &no_graph,
                                  .op = (enum op)launch->op,
                                  .attributes = (const char *)program_at(c->program, c->program->bytes) +
                                                launch->attributes,
                                  .input_count = launch->input_count};
    const char *bad =
        fields_check(inference.op, inference.attributes, launch->attributes_size, &no_graph.dims);
    if (bad)
        return wrong(c, "launch %zu, %s: its %s makes no sense", i, op_name(inference.op), bad);
    for (size_t k = 0; k < launch->input_count; k++) {
        values[k] = (struct value){.dtype = (forge_dtype)inputs[k].dtype, .shape = inputs[k].shape};
        inference.inputs[k] = &values[k];
    }
    bool is_so = infer_launch(&inference);
    dim_table_free(&no_graph.dims);
    if (!is_so)
        return wrong(c, "launch %zu, %s", i, inference.message);
    is_so = inference.output_count == launch->output_count;
    for (size_t k = 0; is_so && k < launch->output_count; k++)
        is_so = outputs[k].dtype == inference.outputs[k].dtype && is_packed(&outputs[k]) &&
                forge_shape_equal(&outputs[k].shape, &inference.outputs[k].shape);
    return is_so || wrong(c, "launch %zu gives something else than %s", i, op_name(inference.op));
}

static bool same_view(const struct program_binding *a, const struct program_binding *b)
{
    return a->dtype == b->dtype && forge_shape_equal(&a->shape, &b->shape) && is_packed(a) && is_packed(b);
}

/* Whether what `a` writes is nothing of what `b` sees, or exactly the same elements. */
static bool go_together(const struct check *c, const struct program_binding *a,
                        const struct program_binding *b)
{
    const struct program_buffer *of_a = &program_buffers(c->program)[a->buffer],
                                *of_b = &program_buffers(c->program)[b->buffer];
    bool are_in_arena = of_a->kind == BUFFER_ARENA && of_b->kind == BUFFER_ARENA;
    struct range x, y;
    if ((!are_in_arena && a->buffer != b->buffer) || !range_of(a, &x) || !range_of(b, &y))
        return true;
    int64_t from_a = are_in_arena ? (int64_t)of_a->offset_bytes : 0,
            from_b = are_in_arena ? (int64_t)of_b->offset_bytes : 0;
    if (x.first + from_a >= y.end + from_b || y.first + from_b >= x.end + from_a)
        return true;
    return x.first + from_a == y.first + from_b && same_view(a, b);
}

static bool check_overlap(struct check *c, size_t i)
{
    const struct program_launch *launch = &program_launches(c->program)[i];
    const struct program_binding *bindings = &program_bindings(c->program)[launch->first_binding];
    size_t end = (size_t)launch->input_count + launch->output_count;
    for (size_t out = launch->input_count; out < end; out++) {
        uint32_t kind = program_buffers(c->program)[bindings[out].buffer].kind;
        if (kind == BUFFER_INPUT || kind == BUFFER_CONSTANT)
            return wrong(c, "launch %zu writes what is not to be written", i);
        for (size_t k = 0; k < out; k++)
            if (!go_together(c, &bindings[out], &bindings[k]))
                return wrong(c, "launch %zu writes into what it reads", i);
    }
    return true;
}

joule_status program_check(const void *bytes, size_t size, joule_error *out_error)
{
    struct check c = {.program = bytes, .error = out_error};
    if (!check_head(&c, size) || !check_buffers(&c))
        return c.status;
    for (size_t i = 0; i < c.program->bindings.count; i++)
        if (!check_binding(&c, i))
            return c.status;
    for (size_t i = 0; i < c.program->launches.count; i++)
        if (!check_pointers(&c, i) || !check_meaning(&c, i) || !check_overlap(&c, i))
            return c.status;
    return JOULE_OK;
}
