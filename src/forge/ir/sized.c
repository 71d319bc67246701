/* ir/sized.c - see sized.h. */
#include "forge/ir/sized.h"

#include <stdlib.h>
#include <string.h>
#include "forge/ir/fields.h"

static bool binding_has_symbols(const struct program_binding *binding)
{
    bool has = binding->offset < 0;
    for (uint32_t i = 0; i < binding->shape.rank; i++)
        has |= binding->shape.dims[i] < 0 || binding->strides[i] < 0;
    return has;
}

/* Copies all attributes that contain symbols into one new block. Returns false if out of memory. */
static bool copy_attributes(struct sized *sized)
{
    const forge_program *program = sized->program;
    const struct program_launch *launches = program_launches(program);
    size_t size = 0;
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct program_binding *bindings = &program_bindings(program)[launches[i].first_binding];
        sized->attributes[i] = program_attributes(program, &launches[i]);
        if (fields_have_symbols((enum op)launches[i].op, sized->attributes[i])) {
            sized->has_symbols[i] = true;
            size += (launches[i].attributes_size + 7) / 8 * 8;
        }
        for (size_t k = 0; k < (size_t)launches[i].input_count + launches[i].output_count; k++)
            sized->has_symbols[i] |= binding_has_symbols(&bindings[k]);
    }
    unsigned char *next = sized->bytes = malloc(size + 1);
    for (size_t i = 0; next && i < program->launches.count; i++) {
        if (!fields_have_symbols((enum op)launches[i].op, sized->attributes[i]))
            continue;
        sized->attributes[i] = next;
        next += (launches[i].attributes_size + 7) / 8 * 8;
    }
    return next != NULL;
}

bool sized_init(struct sized *sized, const forge_program *program)
{
    struct dim_table dims = program_dims(program);
    *sized = (struct sized){.program = program};
    sized->values = calloc(dims.count + 1, sizeof *sized->values);
    sized->attributes = calloc(program->launches.count + 1, sizeof *sized->attributes);
    sized->has_symbols = calloc(program->launches.count + 1, sizeof *sized->has_symbols);
    if (!sized->values || !sized->attributes || !sized->has_symbols || !copy_attributes(sized))
        return false;
    dim_set_max(&dims, sized->values);
    return true;
}

void sized_free(struct sized *sized)
{
    free(sized->values);
    free(sized->attributes);
    free(sized->bytes);
    free(sized->has_symbols);
    *sized = (struct sized){0};
}

bool sized_fill(struct sized *sized)
{
    struct dim_table dims = program_dims(sized->program);
    const struct program_launch *launches = program_launches(sized->program);
    if (!dim_evaluate(&dims, sized->values))
        return false;
    for (size_t i = 0; i < sized->program->launches.count; i++) {
        const void *own = program_attributes(sized->program, &launches[i]);
        if (sized->attributes[i] == own)
            continue;
        memcpy((void *)sized->attributes[i], own, launches[i].attributes_size);
        fields_substitute((enum op)launches[i].op, (void *)sized->attributes[i], sized->values);
    }
    return true;
}

struct view sized_view(const struct sized *sized, const struct program_binding *binding,
                       uint64_t *out_offset_bytes)
{
    struct view view = {.dtype = (forge_dtype)binding->dtype,
                        .shape = dim_substitute_shape(&binding->shape, sized->values)};
    *out_offset_bytes =
        (uint64_t)dim_substitute(binding->offset, sized->values) * forge_dtype_block_bytes(view.dtype);
    for (uint32_t i = 0; i < view.shape.rank; i++) {
        int64_t stride = dim_substitute(binding->strides[i], sized->values);
        view.strides[i] = binding->negative_strides >> i & 1 ? -stride : stride;
    }
    return view;
}

struct launch sized_launch(const struct sized *sized, size_t i, const struct view *views)
{
    const struct program_launch *launch = &program_launches(sized->program)[i];
    return (struct launch){.op = (enum op)launch->op,
                           .attributes = sized->attributes[i],
                           .inputs = views,
                           .input_count = launch->input_count,
                           .outputs = views + launch->input_count,
                           .output_count = launch->output_count};
}
