/* compiler/lower_order.c - changes the list of launches of a program that is being compiled: their order, and
 * copies of launches; see lower.h. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/compiler/lower.h"
#include "forge/compiler/rematerialise.h"

static bool no_memory(struct lowering *l)
{
    return lower_fail(l, JOULE_NO_MEMORY, "cannot schedule a program: out of memory");
}

bool lower_reorder(struct lowering *l, const uint32_t *order)
{
    struct lowered_launch *launches = calloc(l->launch_capacity + 1, sizeof *launches);
    struct program_binding *bindings = calloc(l->binding_capacity + 1, sizeof *bindings);
    size_t end = 0;
    if (!launches || !bindings) {
        free(launches);
        free(bindings);
        return no_memory(l);
    }
    for (uint32_t i = 0; i < l->buffer_count; i++)
        l->buffers[i].last = 0;
    for (uint32_t at = 0; at < l->launch_count; at++) {
        struct lowered_launch *launch = &launches[at];
        *launch = l->launches[order[at]];
        uint32_t first = launch->record.first_binding, inputs = launch->record.input_count;
        launch->record.first_binding = (uint32_t)end;
        for (uint32_t k = 0; k < inputs + launch->record.output_count; k++) {
            bindings[end] = l->bindings[first + k];
            struct lowered_buffer *buffer = &l->buffers[bindings[end++].buffer];
            buffer->last = at;
            if (k >= inputs)
                buffer->writer = at;
        }
    }
    free(l->launches);
    free(l->bindings);
    l->launches = launches;
    l->bindings = bindings;
    return true;
}

/* Adds a buffer like the one of another binding, for a copy of its value. */
static bool add_buffer_of_copy(struct lowering *l, const struct program_binding *original)
{
    if (!ARRAY_ROOM(l->buffers, l->buffer_capacity, l->buffer_count))
        return no_memory(l);
    struct lowered_buffer *buffer = &l->buffers[l->buffer_count];
    *buffer = l->buffers[original->buffer];
    buffer->record.kind = BUFFER_ARENA;
    buffer->merged = (uint32_t)l->buffer_count++;
    buffer->is_result = false;
    return true;
}

/* Adds a copy of a launch with its bindings. */
static bool add_copy(struct lowering *l, uint32_t launch)
{
    struct lowered_launch copy = l->launches[launch];
    size_t count = (size_t)copy.record.input_count + copy.record.output_count;
    if (!ARRAY_ROOM(l->launches, l->launch_capacity, l->launch_count) ||
        !array_reserve((void **)&l->bindings, &l->binding_capacity, l->binding_count + count,
                       sizeof *l->bindings))
        return no_memory(l);
    memcpy(&l->bindings[l->binding_count], &l->bindings[copy.record.first_binding],
           count * sizeof *l->bindings);
    copy.record.first_binding = (uint32_t)l->binding_count;
    copy.number = PROGRAM_NONE;
    l->binding_count += count;
    l->launches[l->launch_count++] = copy;
    return true;
}

bool lower_copies(struct lowering *l, const struct rematerialisation *r)
{
    uint32_t buffers = (uint32_t)l->buffer_count;
    for (size_t v = buffers; v < r->problem.value_count; v++)
        if (!add_buffer_of_copy(l, &l->bindings[r->access_of[v]]))
            return false;
    for (size_t i = l->launch_count; i < r->problem.launch_count; i++)
        if (!add_copy(l, r->launch_of[i]))
            return false;
    for (size_t k = 0; k < l->binding_count; k++)
        if (r->accesses[k].value >= buffers)
            l->bindings[k].buffer = r->accesses[k].value;
    return lower_reorder(l, r->order);
}
