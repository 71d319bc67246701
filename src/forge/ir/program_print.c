/* ir/program_print.c - prints a program as text for people; there is no parser for it. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/error.h"
#include "forge/ir/program.h"
#include "forge/ir/text.h"

const char *program_launch_name(const forge_program *program, const struct program_launch *launch)
{
    const struct composite_attributes *composite = program_attributes(program, launch);
    return launch->op == OP_COMPOSITE ? composite->name : op_name((enum op)launch->op);
}

static void print_type(struct text *text, const forge_program *program, uint32_t dtype,
                       const forge_shape *shape)
{
    struct dim_table dims = program_dims(program);
    text_add(text, forge_dtype_name((forge_dtype)dtype));
    dim_print_shape(&dims, shape, text);
}

static void print_symbols(struct text *text, const forge_program *program)
{
    forge_symbol_facts symbol = {.struct_size = sizeof symbol};
    for (size_t i = 0; forge_program_symbol(program, i, &symbol) == JOULE_OK; i++) {
        text_add(text, "symbol ");
        text_add_word(text, symbol.name);
        text_printf(text, ": %" PRId64 " to %" PRId64, symbol.min, symbol.max);
        if (symbol.multiple > 1)
            text_printf(text, ", a multiple of %" PRId64, symbol.multiple);
        text_add(text, "\n");
    }
}

static void print_buffer(struct text *text, const forge_program *program, size_t i)
{
    static const char *const kinds[] = {"input", "output", "state", "constant", "arena"};
    const struct program_buffer *buffer = &program_buffers(program)[i];
    text_printf(text, "  $%-4zu %-8s ", i, kinds[buffer->kind]);
    print_type(text, program, buffer->dtype, &buffer->shape);
    text_printf(text, ", %" PRIu64 " bytes", buffer->size_bytes);
    if (buffer->kind >= BUFFER_CONSTANT) {
        text_printf(text, " at %" PRIu64, buffer->offset_bytes);
    } else {
        text_add(text, " ");
        text_add_quoted(text, program_string(program, buffer->name));
    }
    text_add(text, "\n");
}

/* Returns true if the view is packed and begins at the first element of its buffer. Does not check dimensions
 * before a symbolic one. */
static bool is_packed_at_start(const struct program_binding *binding)
{
    forge_dim packed = 1;
    bool is_packed = binding->offset == 0 && binding->negative_strides == 0;
    for (uint32_t i = binding->shape.rank; i-- > 0 && packed >= 0;) {
        is_packed &= binding->shape.dims[i] == 1 || binding->strides[i] == packed;
        packed = binding->shape.dims[i] < 0 ? -1 : packed * binding->shape.dims[i];
    }
    return is_packed;
}

/* Prints "$3 f32[2,10]". If is_packed_at_start is false, also prints the view's offset and strides. */
static void print_binding(struct text *text, const forge_program *program,
                          const struct program_binding *binding)
{
    struct dim_table dims = program_dims(program);
    text_printf(text, "$%u ", binding->buffer);
    print_type(text, program, binding->dtype, &binding->shape);
    if (is_packed_at_start(binding))
        return;
    text_add(text, " (+");
    dim_print(&dims, binding->offset, text);
    text_add(text, ", strides");
    for (uint32_t i = 0; i < binding->shape.rank; i++) {
        text_add(text, binding->negative_strides >> i & 1 ? " -" : " ");
        dim_print(&dims, binding->strides[i], text);
    }
    text_add(text, ")");
}

/* Prints " (a/b 75 %, c 25 %)", the scopes of a fused launch with their parts of its work. */
static void print_origins(struct text *text, const forge_program *program,
                          const struct program_launch *launch)
{
    const struct program_origin *origins = program_origins(program) + launch->first_origin;
    double all = 0;
    for (uint32_t i = 0; i < launch->origin_count; i++)
        all += origins[i].weight;
    for (uint32_t i = 0; i < launch->origin_count; i++) {
        const char *scope = program_string(program, origins[i].scope);
        text_add(text, i ? ", " : " (");
        if (*scope)
            text_add_path(text, scope);
        text_printf(text, "%s%.3g %%", *scope ? " " : "", 100 * origins[i].weight / all);
    }
    text_add(text, launch->origin_count ? ")" : "");
}

static void print_launch(struct text *text, const forge_program *program, size_t i)
{
    const struct program_launch *launch = &program_launches(program)[i];
    const struct program_binding *bindings = &program_bindings(program)[launch->first_binding];
    const char *scope = program_string(program, launch->scope);
    size_t operands = (size_t)launch->input_count + launch->output_count;
    text_printf(text, "  %5zu  %s by %s: ", i, program_launch_name(program, launch),
                program_string(program, launch->kernel));
    for (size_t k = 0; k < operands; k++) {
        if (k)
            text_add(text, k == launch->input_count ? " -> " : ", ");
        print_binding(text, program, &bindings[k]);
    }
    text_printf(text, "; %.0f FLOP, %.0f bytes", launch->cost.flop,
                launch->cost.read_bytes + launch->cost.written_bytes);
    if (*scope) {
        text_add(text, " @");
        text_add_path(text, scope);
    }
    print_origins(text, program, launch);
    text_printf(text, " %s", forge_phase_name((forge_phase)launch->phase));
    if (launch->cores)
        text_printf(text, ", at most %u core%s", launch->cores, launch->cores == 1 ? "" : "s");
    text_add(text, "\n");
}

static void print_all(struct text *text, const forge_program *program)
{
    text_printf(text, "program, version %u: %" PRIu64 " bytes, hash %016" PRIx64 "\n", program->version,
                program->size_bytes, program->hash);
    print_symbols(text, program);
    text_printf(text, "arena: %" PRIu64 " bytes planned, %" PRIu64 " alive at once\n", program->arena_bytes,
                program->arena_bound_bytes);
    text_printf(text, "buffers: %" PRIu64 "\n", program->buffers.count);
    for (size_t i = 0; i < program->buffers.count; i++)
        print_buffer(text, program, i);
    text_printf(text, "launches: %" PRIu64 "\n", program->launches.count);
    for (size_t i = 0; i < program->launches.count; i++)
        print_launch(text, program, i);
}

joule_status forge_program_print(const forge_program *program, char **out_text, joule_error *out_error)
{
    struct text text;
    text_init(&text, NULL, 0);
    print_all(&text, program);
    size_t size = text.length + 1;
    char *page = malloc(size);
    if (!page)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot print a program: out of memory");
    text_init(&text, page, size);
    print_all(&text, program);
    *out_text = page;
    return JOULE_OK;
}
