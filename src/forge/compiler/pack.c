/* compiler/pack.c - plans the arena, and copies the program into one block of memory without pointers; see
 * lower.h. */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/compiler/lower.h"
#include "forge/compiler/plan.h"

static uint64_t align(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

static bool is_root(const struct lowering *l, uint32_t buffer)
{
    return l->buffers[buffer].merged == buffer;
}

static bool plan_arena(struct lowering *l)
{
    struct plan_item *items = calloc(l->buffer_count + 1, sizeof *items);
    size_t count = 0;
    if (!items)
        return false;
    for (uint32_t i = 0; i < l->buffer_count; i++)
        if (is_root(l, i) && l->buffers[i].record.kind == BUFFER_ARENA)
            items[count++] =
                (struct plan_item){.size_bytes = align(l->buffers[i].record.size_bytes, PROGRAM_ALIGNMENT),
                                   .first = l->buffers[i].writer,
                                   .last = l->buffers[i].last};
    struct plan_result result;
    bool done = plan(items, count, l->launch_count, &result);
    l->arena_bytes = result.size_bytes;
    l->arena_bound_bytes = result.bound_bytes;
    count = 0;
    for (uint32_t i = 0; i < l->buffer_count; i++)
        if (is_root(l, i) && l->buffers[i].record.kind == BUFFER_ARENA)
            l->buffers[i].record.offset_bytes = items[count++].offset_bytes;
    free(items);
    return done;
}

/* --- the block ------------------------------------------------------------------------------------------ */

static struct program_array add_array(uint64_t *size, uint64_t count, size_t item_size)
{
    *size = align(*size, PROGRAM_ALIGNMENT);
    struct program_array array = {*size, count};
    *size += count * item_size;
    return array;
}

static uint64_t constant_bytes(const struct lowering *l)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < l->buffer_count; i++)
        if (l->buffers[i].record.kind == BUFFER_CONSTANT)
            bytes += align(l->buffers[i].record.size_bytes, PROGRAM_ALIGNMENT);
    return bytes;
}

static struct forge_program lay_out(const struct lowering *l)
{
    struct forge_program p = {.magic = PROGRAM_MAGIC,
                              .version = PROGRAM_VERSION,
                              .arena_bytes = l->arena_bytes,
                              .arena_bound_bytes = l->arena_bound_bytes};
    uint64_t size = sizeof p, roots = 0;
    for (uint32_t i = 0; i < l->buffer_count; i++)
        roots += is_root(l, i);
    p.dims = add_array(&size, l->dims.count, sizeof(struct dim));
    p.buffers = add_array(&size, roots, sizeof(struct program_buffer));
    p.bindings = add_array(&size, l->binding_count, sizeof(struct program_binding));
    p.launches = add_array(&size, l->launch_count, sizeof(struct program_launch));
    p.origins = add_array(&size, l->origin_count, sizeof(struct program_origin));
    p.strings = add_array(&size, l->string_count, 1);
    p.bytes = add_array(&size, l->byte_count, 1);
    p.constants = add_array(&size, constant_bytes(l), 1);
    p.size_bytes = align(size, PROGRAM_ALIGNMENT);
    return p;
}

static void *array_at(forge_program *program, struct program_array array)
{
    return (char *)program + array.offset;
}

/* Copies the unmerged buffers into the program. new_index: [l->buffer_count], receives the index of each
 * copied buffer in the program. */
static void fill_buffers(const struct lowering *l, forge_program *p, uint32_t *new_index)
{
    struct program_buffer *buffers = array_at(p, p->buffers);
    char *constants = array_at(p, p->constants);
    uint64_t constant_end = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < l->buffer_count; i++) {
        if (!is_root(l, i))
            continue;
        struct program_buffer record = l->buffers[i].record;
        if (record.kind == BUFFER_CONSTANT) {
            memcpy(constants + constant_end, l->buffers[i].elements, record.size_bytes);
            record.offset_bytes = constant_end;
            constant_end += align(record.size_bytes, PROGRAM_ALIGNMENT);
        }
        new_index[i] = count;
        buffers[count++] = record;
    }
}

static void fill(const struct lowering *l, forge_program *p, uint32_t *new_index)
{
    fill_buffers(l, p, new_index);
    if (l->dims.count)
        memcpy(array_at(p, p->dims), l->dims.entries, l->dims.count * sizeof *l->dims.entries);
    struct program_binding *bindings = array_at(p, p->bindings);
    struct program_launch *launches = array_at(p, p->launches);
    for (size_t i = 0; i < l->binding_count; i++) {
        bindings[i] = l->bindings[i];
        bindings[i].buffer = new_index[lower_root(l, l->bindings[i].buffer)];
    }
    for (size_t i = 0; i < l->launch_count; i++)
        launches[i] = l->launches[i].record;
    if (l->origin_count)
        memcpy(array_at(p, p->origins), l->origins, l->origin_count * sizeof *l->origins);
    memcpy(array_at(p, p->strings), l->strings, l->string_count);
    if (l->byte_count)
        memcpy(array_at(p, p->bytes), l->bytes, l->byte_count);
}

joule_status lower_pack(struct lowering *l, forge_program **out_program)
{
    if (!plan_arena(l))
        return error_set(l->error, JOULE_NO_MEMORY, "cannot plan the arena: out of memory");
    struct forge_program head = lay_out(l);
    uint32_t *new_index = calloc(l->buffer_count + 1, sizeof *new_index);
    forge_program *program = new_index ? aligned_alloc(PROGRAM_ALIGNMENT, head.size_bytes) : NULL;
    if (!program) {
        free(new_index);
        return error_set(l->error, JOULE_NO_MEMORY, "cannot allocate a program of %zu bytes: out of memory",
                         (size_t)head.size_bytes);
    }
    memset(program, 0, head.size_bytes);
    *program = head;
    fill(l, program, new_index);
    free(new_index);
    *out_program = program;
    return JOULE_OK;
}
