/* ir/program_query.c - queries a program's sizes and symbols; see <forge/program.h>. */
#include "base/abi.h"
#include "forge/ir/program.h"

joule_status forge_program_query(const forge_program *program, forge_program_facts *out_facts)
{
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_program_facts, flop)))
        return JOULE_INVALID;
    forge_program_facts facts = {.launches = program->launches.count,
                                 .arena_bytes = program->arena_bytes,
                                 .arena_bound_bytes = program->arena_bound_bytes,
                                 .constant_bytes = program->constants.count};
    for (size_t i = 0; i < program->buffers.count; i++)
        if (program_buffers(program)[i].kind == BUFFER_STATE)
            facts.state_bytes += program_buffers(program)[i].size_bytes;
    for (size_t i = 0; i < program->launches.count; i++)
        facts.flop += program_launches(program)[i].cost.flop;
    for (size_t i = 0; i < program->dims.count; i++)
        facts.symbols += program_dims(program).entries[i].kind == DIM_SYMBOL;
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}

joule_status forge_program_symbol(const forge_program *program, size_t i, forge_symbol_facts *out_facts)
{
    struct dim_table dims = program_dims(program);
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_symbol_facts, multiple)))
        return JOULE_INVALID;
    for (size_t k = 0; k < dims.count; k++) {
        const struct dim *dim = &dims.entries[k];
        if (dim->kind != DIM_SYMBOL || i-- > 0)
            continue;
        forge_symbol_facts facts = {
            .name = dim->name, .min = dim->min, .max = dim->max, .multiple = dim->multiple};
        abi_write(out_facts, &facts, sizeof facts);
        return JOULE_OK;
    }
    return JOULE_INVALID;
}
