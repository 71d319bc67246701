/* runtime/sizes.c - binds an instance's launches to addresses and sizes.
 *
 * New sizes take effect between two runs: views, attributes, kernels and costs are computed again. Launches
 * whose sizes are not symbols are bound once.
 *
 * Note: only instance_make_bodies allocates memory. sized_check checks each change of sizes, because the
 * expressions of a program from a file are not trusted.
 */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/compiler/pass.h"
#include "forge/ir/operation_cost.h"
#include "forge/ir/text.h"
#include "forge/runtime/energy.h"

/* --- wanted sizes --------------------------------------------------------------------------------------- */

forge_shape instance_wanted_shape(const forge_instance *instance, const forge_shape *shape)
{
    struct dim_table dims = program_dims(instance->program);
    forge_shape wanted = *shape;
    for (uint32_t i = 0; i < shape->rank; i++)
        wanted.dims[i] = dim_value(&dims, shape->dims[i], instance->wanted);
    return wanted;
}

/* Sets the wanted value of a symbol. If the value changes, launches must be bound again. */
static void request_size(forge_instance *instance, size_t symbol, int64_t number)
{
    instance->is_bound &= instance->wanted[symbol] == number;
    instance->wanted[symbol] = number;
}

joule_status forge_instance_set_size(forge_instance *instance, const char *symbol, int64_t value,
                                     joule_error *out_error)
{
    struct dim_table dims = program_dims(instance->program);
    size_t at;
    joule_status status = dim_check(&dims, symbol, value, &at, out_error);
    if (status == JOULE_OK)
        request_size(instance, at, value);
    return status;
}

/* Prints the wanted values of all symbols, for example "batch=17, seq=8". */
static void print_wanted(const forge_instance *instance, struct text *text)
{
    struct dim_table dims = program_dims(instance->program);
    for (size_t i = 0; i < dims.count; i++) {
        if (dims.entries[i].kind != DIM_SYMBOL)
            continue;
        text_add(text, text->length ? ", " : "");
        text_add_word(text, dims.entries[i].name);
        text_printf(text, "=%lld", (long long)instance->wanted[i]);
    }
}

static bool is_symbol(const struct dim_table *dims, forge_dim dim)
{
    return dim < 0 && dims->entries[-dim - 1].kind == DIM_SYMBOL;
}

joule_status instance_request_shape(forge_instance *instance, const forge_shape *shape,
                                    const forge_shape *to_be, joule_error *out_error)
{
    struct dim_table dims = program_dims(instance->program);
    int64_t before[FORGE_MAX_RANK] = {0};
    bool was_bound = instance->is_bound;
    for (uint32_t i = 0; i < shape->rank; i++) {
        joule_status status = JOULE_OK;
        if (is_symbol(&dims, shape->dims[i]))
            status =
                dim_check(&dims, dims.entries[-shape->dims[i] - 1].name, to_be->dims[i], NULL, out_error);
        if (status != JOULE_OK)
            return status;
    }
    for (uint32_t i = 0; i < shape->rank; i++)
        if (is_symbol(&dims, shape->dims[i])) {
            before[i] = instance->wanted[-shape->dims[i] - 1];
            request_size(instance, (size_t)(-shape->dims[i] - 1), to_be->dims[i]);
        }
    forge_shape is = instance_wanted_shape(instance, shape);
    if (forge_shape_equal(&is, to_be))
        return JOULE_OK;
    for (uint32_t i = shape->rank; i-- > 0;)
        if (is_symbol(&dims, shape->dims[i]))
            instance->wanted[-shape->dims[i] - 1] = before[i];
    instance->is_bound = was_bound;
    return JOULE_ABSENT;
}

/* Returns JOULE_INVALID, with a message, if an input was set with sizes that differ from the wanted sizes. */
static joule_status check_inputs(const forge_instance *instance, joule_error *error)
{
    const forge_program *program = instance->program;
    for (size_t i = 0; i < program->buffers.count; i++) {
        const struct program_buffer *buffer = &program_buffers(program)[i];
        const struct given *given = &instance->given[i];
        forge_shape wanted = instance_wanted_shape(instance, &buffer->shape);
        if (!given->is_given || given->is_zeros || forge_shape_equal(&given->shape, &wanted))
            continue;
        char is[100], is_wanted[100], sizes[200];
        struct text text;
        text_init(&text, sizes, sizeof sizes);
        print_wanted(instance, &text);
        forge_shape_format(&given->shape, is, sizeof is);
        forge_shape_format(&wanted, is_wanted, sizeof is_wanted);
        return error_set(error, JOULE_INVALID,
                         "input '%s' was set as %s, but with %s it must be %s: set it again",
                         program_string(program, buffer->name), is, sizes, is_wanted);
    }
    return JOULE_OK;
}

/* --- costs ---------------------------------------------------------------------------------------------- */

/* Returns the total cost of a launch in all runs since forge_instance_reset_times. */
static struct program_cost all_done(const forge_instance *instance, size_t launch)
{
    double runs = (double)(instance->runs - instance->runs_done);
    const struct program_cost *cost = &instance->launches[launch].cost, *done = &instance->done[launch];
    return (struct program_cost){done->flop + runs * cost->flop, done->read_bytes + runs * cost->read_bytes,
                                 done->written_bytes + runs * cost->written_bytes};
}

struct program_cost instance_cost(const forge_instance *instance, size_t launch)
{
    struct program_cost done = all_done(instance, launch);
    double runs = (double)instance->runs;
    return instance->runs
               ? (struct program_cost){done.flop / runs, done.read_bytes / runs, done.written_bytes / runs}
               : instance->launches[launch].cost;
}

/* --- composites ----------------------------------------------------------------------------------------- */

void instance_free_bodies(forge_instance *instance)
{
    for (size_t i = 0; instance->bodies && i < instance->program->launches.count; i++)
        forge_graph_free(instance->bodies[i]);
    for (size_t i = 0; instance->body_sizes && i < instance->program->launches.count; i++)
        free(instance->body_sizes[i]);
    free(instance->bodies);
    free(instance->body_sizes);
}

/* Builds the body of composite i. A program contains no bodies, but the body is needed to count the FLOP at
 * other sizes. Returns false if out of memory. */
static bool make_body(forge_instance *instance, size_t i)
{
    const struct program_launch *compiled = &program_launches(instance->program)[i];
    const struct program_binding *inputs = &program_bindings(instance->program)[compiled->first_binding];
    struct dim_table dims = program_dims(instance->program);
    struct value values[UINT8_MAX];
    const struct value *in[UINT8_MAX];
    for (size_t k = 0; k < compiled->input_count; k++) {
        values[k] = (struct value){.dtype = (forge_dtype)inputs[k].dtype, .shape = inputs[k].shape};
        in[k] = &values[k];
    }
    instance->bodies[i] = composite_body(instance->sized.attributes[i], in, compiled->input_count, &dims);
    if (instance->bodies[i])
        instance->body_sizes[i] = calloc(instance->bodies[i]->dims.count + 1, sizeof(int64_t));
    return instance->body_sizes[i] != NULL;
}

bool instance_make_bodies(forge_instance *instance)
{
    for (size_t i = 0; i < instance->program->launches.count; i++)
        if (program_launches(instance->program)[i].op == OP_COMPOSITE && instance->sized.has_symbols[i] &&
            !make_body(instance, i))
            return false;
    return true;
}

static struct program_cost composite_cost(const forge_instance *instance, size_t i)
{
    const struct dim_table *dims = &instance->bodies[i]->dims;
    int64_t *sizes = instance->body_sizes[i];
    /* entries that the body adds follow the entries of the program */
    size_t known = instance->program->dims.count;
    memcpy(sizes, instance->sized.values, known * sizeof *sizes);
    size_t count = dim_evaluate(dims, sizes) ? dims->count : known;
    return cost_of_composite(&instance->launches[i].launch, instance->bodies[i], sizes, count);
}

/* --- launches ------------------------------------------------------------------------------------------- */

static struct program_cost cost_now(const forge_instance *instance, size_t i)
{
    if (!instance->sized.has_symbols[i])
        return program_launches(instance->program)[i].cost;
    return instance->bodies[i] ? composite_cost(instance, i) : cost_of_launch(&instance->launches[i].launch);
}

static void *address_of(const forge_instance *instance, size_t i)
{
    const forge_program *program = instance->program;
    const struct program_buffer *buffer = &program_buffers(program)[i];
    if (buffer->kind == BUFFER_ARENA)
        return (char *)forge_buffer_data(instance->arena) + buffer->offset_bytes;
    if (buffer->kind == BUFFER_CONSTANT)
        return (char *)program_at(program, program->constants) + buffer->offset_bytes;
    return forge_buffer_data(instance->buffers[i]);
}

/* Returns the name of the launch's kernel at the bound sizes. If the sizes of the launch are symbols, the
 * device selects a kernel again, because the kernel may depend on the sizes. */
static const char *kernel_name(const forge_instance *instance, size_t i, const struct launch *launch)
{
    struct selection selection;
    forge_device *device = instance->device;
    if (instance->sized.has_symbols[i] && device->ops->select(device, launch, &selection) == JOULE_OK)
        return selection.kernel;
    return program_string(instance->program, program_launches(instance->program)[i].kernel);
}

static joule_status bind_launch(forge_instance *instance, size_t i, joule_error *error)
{
    const struct program_launch *compiled = &program_launches(instance->program)[i];
    struct bound_launch *bound = &instance->launches[i];
    struct view *views = instance->views + compiled->first_binding;
    for (size_t k = 0; k < (size_t)compiled->input_count + compiled->output_count; k++) {
        const struct program_binding *binding =
            &program_bindings(instance->program)[compiled->first_binding + k];
        uint64_t offset_bytes;
        views[k] = sized_view(&instance->sized, binding, &offset_bytes);
        views[k].data = (char *)address_of(instance, binding->buffer) + offset_bytes;
        views[k].repacked = instance_repacked(instance, binding->buffer, &views[k], offset_bytes);
    }
    const void *code = bound->launch.compiled; /* does not depend on sizes */
    bound->launch = sized_launch(&instance->sized, i, views);
    bound->launch.compiled = code;
    instance->kernels[i] = kernel_name(instance, i, &bound->launch);
    bound->cost = cost_now(instance, i);
    bound->cores = compiled->cores;
    bound->kernel =
        instance->device->ops->find_kernel(instance->device, instance->kernels[i], &bound->launch);
    return bound->kernel
               ? JOULE_OK
               : error_set(error, JOULE_UNSUPPORTED,
                           "the device %s has no kernel '%s' for %s: compile the graph for this device",
                           instance->device->ops->name, instance->kernels[i], op_name(bound->launch.op));
}

/* Binds all launches for the new sizes. Adds the costs of the runs at the old sizes to instance->done
 * first. */
static joule_status bind_launches(forge_instance *instance, joule_error *error)
{
    size_t count = instance->program->launches.count;
    joule_status status = JOULE_OK;
    energy_add_expected(instance);
    for (size_t i = 0; i < count; i++)
        instance->done[i] = all_done(instance, i);
    instance->runs_done = instance->runs;
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        if (!instance->launches[i].kernel || instance->sized.has_symbols[i])
            status = bind_launch(instance, i, error);
    return status;
}

joule_status instance_bind(forge_instance *instance, joule_error *out_error)
{
    struct sized *sized = &instance->sized;
    char sizes[200];
    struct text text;
    joule_error reason;
    joule_status status = check_inputs(instance, out_error);
    if (status != JOULE_OK)
        return status;
    memcpy(sized->values, instance->wanted, instance->program->dims.count * sizeof *sized->values);
    text_init(&text, sizes, sizeof sizes);
    if (!sized_fill(sized))
        status = error_set(&reason, JOULE_INVALID, "a size is too large or is divided by 0");
    else
        status = sized_check(sized, false, &reason);
    if (status != JOULE_OK) {
        print_wanted(instance, &text);
        return error_set(out_error, status, "with %s: %s", sizes, reason.message);
    }
    status = bind_launches(instance, out_error);
    instance->is_bound = status == JOULE_OK;
    return status;
}
