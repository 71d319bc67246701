/* runtime/repack.c - copies of slots in the order of bytes that a device's kernels read fastest. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "base/error.h"
#include "forge/hal/memory.h"
#include "forge/runtime/instance.h"

#define HUGE_PAGE_BYTES ((uintptr_t)2 << 20)
#define MEASURED_BYTES  ((uint64_t)64 << 20)

enum { TYPES = FORGE_Q6_K + 1 };

void instance_free_repacked(forge_instance *instance)
{
    for (size_t i = 0; instance->repacked && i < instance->program->buffers.count; i++)
        forge_buffer_release(instance->repacked[i].copy);
    free(instance->repacked);
    instance->repacked = NULL;
}

const void *instance_repacked(const forge_instance *instance, size_t buffer, const struct view *view,
                              uint64_t offset_bytes)
{
    const struct repacked *r = instance->repacked ? &instance->repacked[buffer] : NULL;
    bool is_whole = r && r->copy && offset_bytes == 0 && view->dtype == r->dtype &&
                    forge_shape_equal(&view->shape, &r->shape) && view_is_packed(view);
    return is_whole ? forge_buffer_data(r->copy) : NULL;
}

/* Returns true if a launch of the program writes to the buffer. */
static bool is_written(const forge_program *program, size_t buffer)
{
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct program_launch *launch = &program_launches(program)[i];
        const struct program_binding *outputs =
            &program_bindings(program)[launch->first_binding + launch->input_count];
        for (size_t k = 0; k < launch->output_count; k++)
            if (outputs[k].buffer == buffer)
                return true;
    }
    return false;
}

/* Asks for huge pages for the memory of a copy: fewer page faults while it is written, and fewer misses of
 * the TLB when it is read. */
static void ask_for_huge_pages(forge_buffer *copy)
{
    uintptr_t begin = (uintptr_t)forge_buffer_data(copy), end = begin + forge_buffer_size_bytes(copy);
    begin = (begin + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    end = end / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
#if defined(MADV_HUGEPAGE)
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#endif
}

/* Sets is_mapped[t] for each element type t whose products are faster without a copy. Only block formats are
 * measured, because their results are the same bits with and without a copy, and only if they have many
 * weights, because a copy of few weights costs little. */
static void find_mapped(const forge_instance *instance, bool is_mapped[TYPES])
{
    const forge_program *program = instance->program;
    size_t bytes[TYPES] = {0};
    for (size_t i = 0; i < program->buffers.count; i++) {
        const struct program_buffer *buffer = &program_buffers(program)[i];
        if (buffer->kind == BUFFER_STATE && buffer->dtype < TYPES)
            bytes[buffer->dtype] += buffer->size_bytes;
    }
    for (uint32_t i = 0; i < TYPES; i++) {
        forge_weight_speed speed = {.struct_size = sizeof speed};
        forge_dtype dtype = (forge_dtype)i;
        if (bytes[i] >= MEASURED_BYTES && forge_dtype_block_elements(dtype) > 1 &&
            forge_device_measure_weights(instance->device, dtype, &speed, NULL) == JOULE_OK)
            is_mapped[i] = !speed.is_repacked;
    }
}

/* Repacks input k of launch i, if it is a whole slot that the program only reads, and its type is not mapped.
 * Adds the size of the copy to *bytes. */
static joule_status repack_input(forge_instance *instance, const bool is_mapped[TYPES], size_t i, size_t k,
                                 size_t *bytes, joule_error *error)
{
    const forge_program *program = instance->program;
    const struct program_launch *launch = &program_launches(program)[i];
    size_t at = program_bindings(program)[launch->first_binding + k].buffer;
    const struct program_buffer *buffer = &program_buffers(program)[at];
    const struct view *view = &instance->launches[i].launch.inputs[k];
    struct repacked *repacked = &instance->repacked[at];
    if (buffer->kind != BUFFER_STATE || is_mapped[view->dtype] || repacked->copy || is_written(program, at) ||
        view->data != forge_buffer_data(instance->buffers[at]) || !view_is_packed(view))
        return JOULE_OK;
    size_t size = instance->device->ops->repacked_bytes(instance->device, &instance->launches[i], k);
    if (size == 0)
        return JOULE_OK;
    char what[100];
    snprintf(what, sizeof what, "the repacked slot '%.60s'", program_string(program, buffer->name));
    joule_status status = device_take(instance->device, size, what, &repacked->copy, error);
    if (status != JOULE_OK)
        return status;
    ask_for_huge_pages(repacked->copy);
    instance->device->ops->repack(instance->device, &instance->launches[i], k,
                                  forge_buffer_data(repacked->copy));
    repacked->dtype = view->dtype;
    repacked->shape = view->shape;
    *bytes += size;
    return JOULE_OK;
}

/* Binds all launches again, so that they read the copies. */
static joule_status bind_again(forge_instance *instance, joule_error *error)
{
    for (size_t i = 0; i < instance->program->launches.count; i++)
        instance->launches[i].kernel = NULL;
    return instance_bind(instance, error);
}

joule_status forge_instance_repack(forge_instance *instance, size_t *out_bytes, joule_error *out_error)
{
    const forge_program *program = instance->program;
    joule_status status = JOULE_OK;
    bool is_mapped[TYPES] = {false};
    size_t bytes = 0;
    if (out_bytes)
        *out_bytes = 0;
    if (instance->repacked || !instance->device->ops->repack)
        return JOULE_OK;
    instance->repacked = calloc(program->buffers.count + 1, sizeof *instance->repacked);
    if (!instance->repacked)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot repack the slots: out of memory");
    find_mapped(instance, is_mapped);
    for (size_t i = 0; status == JOULE_OK && i < program->launches.count; i++)
        for (size_t k = 0; status == JOULE_OK && k < program_launches(program)[i].input_count; k++)
            status = repack_input(instance, is_mapped, i, k, &bytes, out_error);
    if (status != JOULE_OK)
        instance_free_repacked(instance);
    else if (out_bytes)
        *out_bytes = bytes;
    return status == JOULE_OK ? bind_again(instance, out_error) : status;
}
