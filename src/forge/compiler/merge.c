/* compiler/merge.c - merges buffers that can share memory; see lower.h.
 *
 * Note: from the first launch on, a slot's buffer contains the old value. A launch may write another value to
 * this buffer only after all launches that read the old value. The launch itself may read the old value if it
 * works in place.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/compiler/lower.h"

static bool is_arena(const struct lowering *l, uint32_t buffer)
{
    return l->buffers[buffer].record.kind == BUFFER_ARENA && l->buffers[buffer].merged == buffer;
}

static bool same_view(const struct program_binding *a, const struct program_binding *b)
{
    return a->dtype == b->dtype && a->offset == b->offset && a->negative_strides == b->negative_strides &&
           forge_shape_equal(&a->shape, &b->shape) && memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

static const struct program_binding *bindings_of(const struct lowering *l, uint32_t launch)
{
    return &l->bindings[l->launches[launch].record.first_binding];
}

/* Returns the index of the launch's output that is stored in `buffer`. The buffer must not be merged yet. */
static size_t output_number(const struct lowering *l, uint32_t launch, uint32_t buffer)
{
    const struct program_binding *outputs = bindings_of(l, launch) + l->launches[launch].record.input_count;
    size_t k = 0;
    while (outputs[k].buffer != buffer)
        k++;
    return k;
}

/* Returns true if the kernel may write this output over this input, and both have equal views. */
static bool can_overwrite(const struct lowering *l, uint32_t launch, size_t output, size_t input)
{
    const struct program_binding *bindings = bindings_of(l, launch);
    return in_place_may(l->launches[launch].in_place, output, input) &&
           same_view(&bindings[input], &bindings[l->launches[launch].record.input_count + output]);
}

static void merge(struct lowering *l, uint32_t buffer, uint32_t into)
{
    l->buffers[buffer].merged = into;
    if (l->buffers[into].last < l->buffers[buffer].last)
        l->buffers[into].last = l->buffers[buffer].last;
}

/* Creates the linked lists of the bindings that read each buffer. Returns false if out of memory. */
static bool note_reads(struct lowering *l)
{
    l->reads = calloc(l->binding_count + 1, sizeof *l->reads);
    for (uint32_t i = 0; l->reads && i < l->buffer_count; i++)
        l->buffers[i].last_read = PROGRAM_NONE;
    for (uint32_t i = 0; l->reads && i < l->launch_count; i++) {
        const struct program_launch *record = &l->launches[i].record;
        for (uint32_t k = record->first_binding; k < record->first_binding + record->input_count; k++) {
            struct lowered_buffer *buffer = &l->buffers[l->bindings[k].buffer];
            l->reads[k] = (struct read_use){i, buffer->last_read};
            buffer->last_read = k;
        }
    }
    return l->reads || lower_fail(l, JOULE_NO_MEMORY, "cannot compile a program: out of memory");
}

/* Returns the first launch that prevents merging `buffer` with the slot, because it reads the slot's old
 * value after `buffer` is written. Returns PROGRAM_NONE if there is no such launch. */
static uint32_t first_conflicting_read(const struct lowering *l, uint32_t slot_buffer, uint32_t buffer)
{
    uint32_t writer = l->buffers[buffer].writer, first = PROGRAM_NONE;
    for (uint32_t k = l->buffers[slot_buffer].last_read; k != PROGRAM_NONE; k = l->reads[k].previous) {
        uint32_t i = l->reads[k].launch;
        if (i < writer)
            break;
        if (i != writer ||
            !can_overwrite(l, i, output_number(l, i, buffer), k - l->launches[i].record.first_binding))
            first = i;
    }
    return first;
}

/* Returns true if an output of launch i may share memory with the operand in the buffer `root`. Two
 * conditions must hold. No later launch uses `root`. Launch i uses `root` only as inputs that the output may
 * overwrite. */
static bool is_free(const struct lowering *l, uint32_t i, uint32_t root, size_t output)
{
    const struct program_launch *record = &l->launches[i].record;
    const struct program_binding *bindings = bindings_of(l, i);
    for (size_t k = 0; k < (size_t)record->input_count + record->output_count; k++) {
        bool is_input = k < record->input_count;
        if (lower_root(l, bindings[k].buffer) == root && !(is_input && can_overwrite(l, i, output, k)))
            return false;
    }
    return is_arena(l, root) && l->buffers[root].last == i;
}

/* --- writes --------------------------------------------------------------------------------------------- */

/* Returns the buffer of an operand of the launch that writes `buffer`, if this operand can also be stored in
 * the slot. The launch must be able to work in place on the operand. No launch after the operand's writer may
 * read the slot's old value. Returns PROGRAM_NONE if there is no such operand. */
static uint32_t operand_for_slot(const struct lowering *l, uint32_t buffer, uint32_t slot_buffer)
{
    uint32_t i = l->buffers[buffer].writer;
    const struct program_binding *bindings = bindings_of(l, i);
    size_t output = output_number(l, i, buffer);
    for (size_t k = 0; k < l->launches[i].record.input_count; k++) {
        const struct lowered_buffer *operand = &l->buffers[bindings[k].buffer];
        if (is_free(l, i, bindings[k].buffer, output) && !operand->is_result &&
            !dim_shape_has_symbols(&operand->record.shape) &&
            operand->record.size_bytes == l->buffers[slot_buffer].record.size_bytes &&
            first_conflicting_read(l, slot_buffer, bindings[k].buffer) == PROGRAM_NONE)
            return bindings[k].buffer;
    }
    return PROGRAM_NONE;
}

/* Merges `buffer`, which contains the slot's new value, with the slot. Then merges the operand from which
 * this value is computed, then the operand of that operand, and so on. So a chain of updates needs no other
 * memory. */
static void merge_chain(struct lowering *l, uint32_t buffer, uint32_t slot_buffer)
{
    while (buffer != PROGRAM_NONE) {
        merge(l, buffer, slot_buffer);
        buffer = operand_for_slot(l, buffer, slot_buffer);
    }
}

/* Merges the buffer of the slot's new value with the slot's buffer. *out_needs_copy: true if this is
 * impossible, so that the value must be copied. Fails if the write must be in place, and a launch reads the
 * old value after the new value is written. */
static bool write_slot(struct lowering *l, const struct slot *slot, uint32_t slot_buffer,
                       bool *out_needs_copy)
{
    const struct program_binding *place = &l->value_bindings[slot->write];
    struct lowered_buffer *buffer = &l->buffers[place->buffer];
    *out_needs_copy = true;
    if (buffer->is_claimed) /* another slot or output already has this value */
        return true;
    uint32_t reader = first_conflicting_read(l, slot_buffer, place->buffer);
    if (reader == PROGRAM_NONE) {
        merge_chain(l, place->buffer, slot_buffer);
        buffer->is_claimed = true;
        *out_needs_copy = false;
        return true;
    }
    const struct program_launch *record = &l->launches[reader].record;
    if (slot->in_place)
        return lower_fail(l, JOULE_FAILED,
                          "slot '%s' cannot be written in place: %s in '%s' still reads its old value",
                          slot->name, op_name((enum op)record->op), l->strings + record->scope);
    return true;
}

/* Merges the new values of slots with the slots, beginning with writes that must be in place. The values that
 * cannot be merged are copied: adds a launch for each copy, after all launches that read an old value. */
static bool merge_writes(struct lowering *l)
{
    const struct slot *slots = l->graph->slots;
    for (int in_place = 1; in_place >= 0; in_place--)
        for (size_t i = 0; i < l->graph->slot_count; i++)
            if (slots[i].write && slots[i].write != slots[i].read && slots[i].in_place == in_place &&
                !write_slot(l, &slots[i], l->slot_buffers[i], &l->needs_copy[i]))
                return false;
    for (size_t i = 0; i < l->graph->slot_count; i++)
        if (l->needs_copy[i] && !lower_copy(l, &l->value_bindings[slots[i].write], l->slot_buffers[i], NULL))
            return false;
    return true;
}

/* --- outputs -------------------------------------------------------------------------------------------- */

static bool merge_outputs(struct lowering *l)
{
    for (size_t i = 0; i < l->graph->output_count; i++) {
        const struct port *output = &l->graph->outputs[i];
        struct program_binding place = l->value_bindings[output->value];
        uint32_t target =
            lower_buffer(l, BUFFER_OUTPUT, output->name, (forge_dtype)place.dtype, &place.shape);
        if (target == PROGRAM_NONE)
            return false;
        if (l->buffers[place.buffer].is_claimed) {
            if (!lower_copy(l, &place, target, NULL))
                return false;
            continue;
        }
        merge(l, place.buffer, target);
        l->buffers[place.buffer].is_claimed = true;
    }
    return true;
}

/* --- operands ------------------------------------------------------------------------------------------- */

static void merge_operand(struct lowering *l, uint32_t i, size_t output)
{
    const struct program_launch *record = &l->launches[i].record;
    const struct program_binding *bindings = bindings_of(l, i);
    uint32_t buffer = bindings[record->input_count + output].buffer;
    if (!is_arena(l, buffer))
        return;
    for (size_t k = 0; k < record->input_count; k++) {
        uint32_t root = lower_root(l, bindings[k].buffer);
        if (can_overwrite(l, i, output, k) && is_free(l, i, root, output)) {
            merge(l, buffer, root);
            return;
        }
    }
}

bool lower_merge(struct lowering *l)
{
    if (!note_reads(l) || !merge_writes(l) || !merge_outputs(l))
        return false;
    for (uint32_t i = 0; i < l->launch_count; i++)
        for (size_t k = 0; k < l->launches[i].record.output_count; k++)
            merge_operand(l, i, k);
    return true;
}
