/* ir/program_check.c - checks that bytes are a valid program. sized_check.c contains the checks that depend
 * on sizes.
 *
 * Note: the hash finds only accidental damage. Everything on which an instance or a kernel relies is checked
 * separately.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/ir/fields.h"
#include "forge/ir/infer.h"
#include "forge/ir/library.h"
#include "forge/ir/sized.h"

/* State of one check: the program, and the first error. */
struct check {
    const forge_program *program;
    struct dim_table dims; /* dim table of the program */
    joule_error *error;
    joule_status status;
};

/* Sets the error. Evaluates to false. */
#define invalid(c, ...)                                                                                      \
    set_invalid(c, error_set((c)->error, JOULE_INVALID, "not a valid program: " __VA_ARGS__))

static bool set_invalid(struct check *c, joule_status status)
{
    c->status = status;
    return false;
}

/* Hashes 64-bit words, which is possible because a program's size is a multiple of 8 bytes. */
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

/* --- the header and its arrays -------------------------------------------------------------------------- */

/* Returns true if the array, with items of `item` bytes, is aligned and lies inside the program. */
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
        return invalid(c, "its first bytes are not those of a program");
    if (p->version != PROGRAM_VERSION) {
        c->status =
            error_set(c->error, JOULE_UNSUPPORTED,
                      "the program has version %u, but this library reads version %u: compile it again",
                      p->version, PROGRAM_VERSION);
        return false;
    }
    if (p->size_bytes != size || size % PROGRAM_ALIGNMENT)
        return invalid(c, "it has %zu bytes, but its header states %llu", size,
                       (unsigned long long)p->size_bytes);
    if (p->hash != program_hash(p))
        return invalid(c, "it is damaged: its hash differs");
    if (!lies_inside(c, p->dims, sizeof(struct dim)) ||
        !lies_inside(c, p->buffers, sizeof(struct program_buffer)) ||
        !lies_inside(c, p->bindings, sizeof(struct program_binding)) ||
        !lies_inside(c, p->launches, sizeof(struct program_launch)) ||
        !lies_inside(c, p->origins, sizeof(struct program_origin)) || !lies_inside(c, p->strings, 1) ||
        !lies_inside(c, p->bytes, 1) || !lies_inside(c, p->constants, 1))
        return invalid(c, "an array lies outside it");
    if (p->strings.count == 0 || program_string(p, 0)[p->strings.count - 1] != '\0')
        return invalid(c, "its last string is not terminated");
    c->dims = program_dims(p);
    return dim_table_is_valid(&c->dims) || invalid(c, "its symbols or expressions are invalid");
}

static bool is_string(const struct check *c, uint32_t offset)
{
    return offset < c->program->strings.count;
}

static bool is_shape(const struct check *c, uint32_t dtype, const forge_shape *shape)
{
    if (!forge_dtype_block_bytes((forge_dtype)dtype) || shape->rank > FORGE_MAX_RANK || shape->reserved)
        return false;
    for (uint32_t i = 0; i < FORGE_MAX_RANK; i++)
        if (i < shape->rank ? !dim_is_known(&c->dims, shape->dims[i]) : shape->dims[i] != 0)
            return false;
    return true;
}

/* --- buffers -------------------------------------------------------------------------------------------- */

static bool is_named(const struct program_buffer *buffer)
{
    return buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_OUTPUT || buffer->kind == BUFFER_STATE;
}

static uint64_t max_bytes(const struct check *c, const struct program_buffer *buffer)
{
    forge_shape max = dim_max_shape(&c->dims, &buffer->shape);
    return forge_dtype_size_bytes((forge_dtype)buffer->dtype, forge_shape_elements(&max));
}

static bool check_buffer(struct check *c, size_t i)
{
    const struct program_buffer *buffer = &program_buffers(c->program)[i];
    bool is_in_arena = buffer->kind == BUFFER_ARENA;
    uint64_t size = buffer->size_bytes,
             space = is_in_arena ? c->program->arena_bytes : c->program->constants.count;
    if (buffer->kind > BUFFER_ARENA || !is_string(c, buffer->name))
        return invalid(c, "buffer %zu has no valid kind or name", i);
    if (!is_shape(c, buffer->dtype, &buffer->shape) || size != max_bytes(c, buffer) ||
        size > PROGRAM_MAX_BYTES)
        return invalid(c, "the size of buffer %zu does not match its type and shape", i);
    if ((buffer->kind == BUFFER_STATE || buffer->kind == BUFFER_CONSTANT) &&
        dim_shape_has_symbols(&buffer->shape))
        return invalid(c, "buffer %zu is permanent, but its size can change", i);
    if (buffer->init_kind > FORGE_INIT_NORMAL)
        return invalid(c, "buffer %zu has no valid initial value", i);
    if (!is_named(buffer) && (buffer->offset_bytes % PROGRAM_ALIGNMENT || buffer->offset_bytes > space ||
                              size > space - buffer->offset_bytes))
        return invalid(c, "buffer %zu lies outside the arena or the constants", i);
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

/* Checks that names are unique, because buffers with the same name would share memory. */
static bool check_names(struct check *c)
{
    const struct program_buffer *buffers = program_buffers(c->program);
    const struct program_buffer **named = calloc(c->program->buffers.count + 1, sizeof *named);
    size_t count = 0;
    if (!named) {
        c->status = error_set(c->error, JOULE_NO_MEMORY, "cannot check a program: out of memory");
        return false;
    }
    for (size_t i = 0; i < c->program->buffers.count; i++)
        if (is_named(&buffers[i]))
            named[count++] = &buffers[i];
    qsort_r(named, count, sizeof *named, by_name, (void *)c->program);
    for (size_t i = 1; i < count && c->status == JOULE_OK; i++)
        if (by_name(&named[i - 1], &named[i], (void *)c->program) == 0)
            invalid(c, "two buffers have the name '%.40s'", program_string(c->program, named[i]->name));
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
        return invalid(c, "the size of its arena does not match its buffers");
    return check_names(c);
}

/* --- bindings ------------------------------------------------------------------------------------------- */

static bool check_binding(struct check *c, size_t i)
{
    const struct program_binding *binding = &program_bindings(c->program)[i];
    bool is_known = binding->buffer < c->program->buffers.count &&
                    is_shape(c, binding->dtype, &binding->shape) && dim_is_known(&c->dims, binding->offset) &&
                    binding->negative_strides >> binding->shape.rank == 0;
    for (uint32_t k = 0; is_known && k < binding->shape.rank; k++)
        is_known = dim_is_known(&c->dims, binding->strides[k]);
    return is_known || invalid(c, "view %zu is invalid", i);
}

/* --- launches ------------------------------------------------------------------------------------------- */

static bool is_launched(uint32_t op)
{
    static const bool launched[OP_COUNT] = {
#define LEAF(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) [OP_##NAME] = true,
#include "forge/ir/ops.def"
    };
    return op < OP_COUNT && launched[op];
}

static bool check_origin(struct check *c, size_t i)
{
    const struct program_origin *origin = &program_origins(c->program)[i];
    bool is_valid = is_string(c, origin->scope) && origin->weight > 0 && isfinite(origin->weight);
    return is_valid || invalid(c, "origin %zu is invalid", i);
}

static bool check_launch(struct check *c, size_t i)
{
    const struct program_launch *launch = &program_launches(c->program)[i];
    uint64_t bindings = c->program->bindings.count, bytes = c->program->bytes.count;
    if (!is_launched(launch->op))
        return invalid(c, "launch %zu has no valid operation", i);
    if (!is_string(c, launch->kernel) || !is_string(c, launch->scope) || launch->phase > FORGE_PHASE_DATA ||
        launch->cores > PROGRAM_MAX_CORES)
        return invalid(c, "launch %zu has no valid kernel, scope, phase or limit of cores", i);
    if ((uint64_t)launch->first_binding + launch->input_count + launch->output_count > bindings ||
        !op_takes_inputs((enum op)launch->op, launch->input_count))
        return invalid(c, "launch %zu does not have the operands of %s", i, op_name((enum op)launch->op));
    if ((uint64_t)launch->first_origin + launch->origin_count > c->program->origins.count)
        return invalid(c, "launch %zu has no valid origins", i);
    if (launch->attributes % 8 || (uint64_t)launch->attributes + launch->attributes_size > bytes)
        return invalid(c, "launch %zu has no valid attributes", i);
    if (!(launch->cost.flop >= 0 && isfinite(launch->cost.flop)) ||
        !(launch->cost.read_bytes >= 0 && isfinite(launch->cost.read_bytes)) ||
        !(launch->cost.written_bytes >= 0 && isfinite(launch->cost.written_bytes)))
        return invalid(c, "launch %zu has no valid cost", i);
    const char *bad = fields_check((enum op)launch->op, program_attributes(c->program, launch),
                                   launch->attributes_size, &c->dims);
    return !bad || invalid(c, "launch %zu, %s: its %s is invalid", i, op_name((enum op)launch->op), bad);
}

/* Checks that the outputs of a composite have the types and shapes that the library infers, for all values of
 * the symbols. Uses the library, because a program does not contain the composite's body. */
static bool check_composite(struct check *c, size_t i)
{
    const struct program_launch *launch = &program_launches(c->program)[i];
    const struct program_binding *inputs = &program_bindings(c->program)[launch->first_binding],
                                 *outputs = inputs + launch->input_count;
    const struct composite_attributes *attributes = program_attributes(c->program, launch);
    forge_graph no_graph = {0};
    struct value values[UINT8_MAX];
    struct inference inference = {
        .graph = &no_graph, .op = OP_COMPOSITE, .attributes = attributes, .input_count = launch->input_count};
    if (attributes->body)
        return invalid(c, "launch %zu, %s: its body is an address", i, attributes->name);
    for (size_t k = 0; k < launch->input_count; k++) {
        values[k] = (struct value){.dtype = (forge_dtype)inputs[k].dtype, .shape = inputs[k].shape};
        inference.inputs[k] = &values[k];
    }
    bool is_valid = dim_table_copy(&no_graph.dims, &c->dims) && library_infer(&inference);
    dim_table_free(&no_graph.dims);
    if (!is_valid)
        return invalid(c, "launch %zu, %s", i, inference.message);
    is_valid = inference.output_count == launch->output_count;
    for (size_t k = 0; is_valid && k < launch->output_count; k++)
        is_valid = outputs[k].dtype == inference.outputs[k].dtype &&
                   forge_shape_equal(&outputs[k].shape, &inference.outputs[k].shape);
    return is_valid || invalid(c, "the outputs of launch %zu are not those of %s", i, attributes->name);
}

/* Checks everything that depends on sizes, at the largest sizes of the symbols. */
static joule_status check_sizes(struct check *c)
{
    struct sized sized;
    joule_error reason;
    if (!sized_init(&sized, c->program))
        c->status = error_set(c->error, JOULE_NO_MEMORY, "cannot check a program: out of memory");
    else if (!sized_fill(&sized))
        invalid(c, "its largest sizes are invalid");
    else if (sized_check(&sized, true, &reason) != JOULE_OK)
        invalid(c, "%s", reason.message);
    sized_free(&sized);
    return c->status;
}

joule_status program_check(const void *bytes, size_t size, joule_error *out_error)
{
    struct check c = {.program = bytes, .error = out_error};
    if (!check_head(&c, size) || !check_buffers(&c))
        return c.status;
    for (size_t i = 0; i < c.program->bindings.count; i++)
        if (!check_binding(&c, i))
            return c.status;
    for (size_t i = 0; i < c.program->origins.count; i++)
        if (!check_origin(&c, i))
            return c.status;
    for (size_t i = 0; i < c.program->launches.count; i++)
        if (!check_launch(&c, i) ||
            (program_launches(c.program)[i].op == OP_COMPOSITE && !check_composite(&c, i)))
            return c.status;
    return check_sizes(&c);
}
