/* runtime/placed.c - instances of placed programs: one instance per segment, one queue and timeline per
 * device.
 *
 * Note: when a segment is done, it signals the next value of its device's timeline. The values continue to
 * grow from run to run. A segment waits for the segments whose values it uses, and for the previous segment
 * of its device. So after a segment has failed, no later segment of the same device runs.
 */
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/compiler/placed.h"
#include "forge/hal/backend.h"
#include "forge/runtime/instance.h"
#include "forge/runtime/states.h"
#include <forge/queue.h>

_Static_assert(FORGE_MAX_PLACED_DEVICES <= FORGE_MAX_POINTS, "a segment may wait for every device");

/* The argument of run_segment. */
struct segment_run {
    forge_placed_instance *owner;
    uint32_t number;
    forge_instance *instance;
};

/* The instances, queues and timelines of a placed program. */
struct forge_placed_instance {
    const forge_placed *placed;
    struct segment_run *segments;
    forge_queue *queues[FORGE_MAX_PLACED_DEVICES]; /* NULL: freed after a failure */
    forge_timeline *timelines[FORGE_MAX_PLACED_DEVICES];
    uint64_t runs;
    bool has_failed;
};

/* --- life ----------------------------------------------------------------------------------------------- */

/* Frees the queues. Submitted entries that still wait for a point are discarded. */
static void end_queues(forge_placed_instance *instance)
{
    for (size_t i = 0; i < instance->placed->device_count; i++) {
        forge_queue_free(instance->queues[i]);
        instance->queues[i] = NULL;
    }
}

void forge_placed_instance_free(forge_placed_instance *instance)
{
    if (!instance)
        return;
    end_queues(instance);
    for (size_t i = 0; i < instance->placed->device_count; i++)
        forge_timeline_free(instance->timelines[i]);
    for (size_t i = 0; instance->segments && i < instance->placed->segment_count; i++)
        forge_instance_free(instance->segments[i].instance);
    free(instance->segments);
    free(instance);
}

static joule_status make_device(forge_placed_instance *instance, size_t i, joule_error *error)
{
    forge_device *device = instance->placed->devices[i];
    if (device->ops->expect)
        return error_set(error, JOULE_UNSUPPORTED,
                         "cannot transfer values from the device %s, because it only estimates",
                         forge_device_name(device));
    joule_status status = forge_timeline_new(&instance->timelines[i], error);
    return status == JOULE_OK ? forge_queue_new(&instance->queues[i], error) : status;
}

static joule_status make_segment(forge_placed_instance *instance, uint32_t i, forge_states *const *states,
                                 size_t count, joule_error *error)
{
    const struct placed_segment *segment = &instance->placed->segments[i];
    forge_device *device = instance->placed->devices[segment->device];
    instance->segments[i] = (struct segment_run){.owner = instance, .number = i};
    for (size_t k = 0; k < count; k++)
        if (states[k]->device == device)
            return forge_instance_new(segment->program, device, states[k], &instance->segments[i].instance,
                                      error);
    return error_set(error, JOULE_INVALID, "the placed program needs states for device %u (%s)",
                     segment->device, forge_device_name(device));
}

joule_status forge_placed_instance_new(const forge_placed *placed, forge_states *const *states, size_t count,
                                       forge_placed_instance **out_instance, joule_error *out_error)
{
    forge_placed_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create an instance: out of memory");
    joule_status status = JOULE_OK;
    instance->placed = placed;
    instance->segments = calloc(placed->segment_count + 1, sizeof *instance->segments);
    if (!instance->segments)
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot create an instance: out of memory");
    for (size_t i = 0; status == JOULE_OK && i < placed->device_count; i++)
        status = make_device(instance, i, out_error);
    for (uint32_t i = 0; status == JOULE_OK && i < placed->segment_count; i++)
        status = make_segment(instance, i, states, count, out_error);
    if (status == JOULE_OK)
        *out_instance = instance;
    else
        forge_placed_instance_free(instance);
    return status;
}

/* --- inputs and outputs --------------------------------------------------------------------------------- */

joule_status forge_placed_instance_set(forge_placed_instance *instance, const char *input,
                                       const forge_tensor *tensor, joule_error *out_error)
{
    joule_status result = JOULE_ABSENT;
    for (size_t i = 0; i < instance->placed->segment_count; i++) {
        joule_error error = {0};
        joule_status status = forge_instance_set(instance->segments[i].instance, input, tensor, &error);
        if (status != JOULE_OK && status != JOULE_ABSENT)
            return error_set(out_error, status, "%s", error.message);
        if (status == JOULE_OK)
            result = JOULE_OK;
    }
    return result == JOULE_OK ? result : error_set(out_error, result, "the program has no input '%s'", input);
}

joule_status forge_placed_instance_set_zeros(forge_placed_instance *instance, const char *input,
                                             joule_error *out_error)
{
    joule_status result = input ? JOULE_ABSENT : JOULE_OK;
    for (size_t i = 0; i < instance->placed->segment_count; i++)
        if (forge_instance_set_zeros(instance->segments[i].instance, input, NULL) == JOULE_OK)
            result = JOULE_OK;
    return result == JOULE_OK ? result : error_set(out_error, result, "the program has no input '%s'", input);
}

joule_status forge_placed_instance_get(forge_placed_instance *instance, const char *output,
                                       forge_tensor *out_tensor, joule_error *out_error)
{
    joule_status status = JOULE_ABSENT;
    for (size_t i = 0; status == JOULE_ABSENT && i < instance->placed->segment_count; i++)
        status = forge_instance_get(instance->segments[i].instance, output, out_tensor, out_error);
    return status;
}

/* --- running -------------------------------------------------------------------------------------------- */

static joule_status copy_value(const struct segment_run *run, const struct placed_edge *edge,
                               joule_error *error)
{
    forge_tensor value;
    const struct segment_run *from = &run->owner->segments[edge->from];
    joule_status status = forge_instance_get(from->instance, edge->name, &value, error);
    return status == JOULE_OK ? forge_instance_set(run->instance, edge->name, &value, error) : status;
}

/* Copies the values that one segment uses from other segments, and runs the segment, on the thread of its
 * queue. */
static joule_status run_segment(void *context, joule_error *error)
{
    const struct segment_run *run = context;
    const forge_placed *placed = run->owner->placed;
    joule_error reason = {0};
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < placed->edge_count; i++)
        if (placed->edges[i].to == run->number)
            status = copy_value(run, &placed->edges[i], &reason);
    if (status == JOULE_OK)
        status = forge_instance_run(run->instance, &reason);
    if (status != JOULE_OK)
        error_set(error, status, "segment %u, on the device %s: %s", run->number,
                  forge_device_name(placed->devices[placed->segments[run->number].device]), reason.message);
    return status;
}

/* Returns the value of the device's timeline after the first `segments` segments of this device in this
 * run. */
static uint64_t point_of(const forge_placed_instance *instance, uint32_t device, uint32_t segments)
{
    return instance->runs * instance->placed->segment_counts[device] + segments;
}

static joule_status submit(forge_placed_instance *instance, uint32_t i, joule_error *error)
{
    const forge_placed *placed = instance->placed;
    const struct placed_segment *segment = &placed->segments[i];
    uint64_t wanted[FORGE_MAX_PLACED_DEVICES] = {0};
    forge_point waits[FORGE_MAX_POINTS];
    forge_point signal = {instance->timelines[segment->device],
                          point_of(instance, segment->device, segment->position + 1)};
    forge_order order = {.struct_size = sizeof order, .signal_count = 1, .waits = waits, .signals = &signal};
    wanted[segment->device] = signal.value - 1;
    for (size_t k = 0; k < placed->edge_count; k++) {
        const struct placed_segment *from = &placed->segments[placed->edges[k].from];
        uint64_t point = point_of(instance, from->device, from->position + 1);
        if (placed->edges[k].to == i && point > wanted[from->device])
            wanted[from->device] = point;
    }
    for (size_t d = 0; d < placed->device_count; d++)
        if (wanted[d])
            waits[order.wait_count++] = (forge_point){instance->timelines[d], wanted[d]};
    return forge_queue_call(instance->queues[segment->device], run_segment, &instance->segments[i], &order,
                            error);
}

/* Waits for all segments of a run. Each wait ends, because each entry either signals its timeline or marks
 * the timeline as failed. Returns the status of the first device that failed. */
static joule_status wait_for_all(forge_placed_instance *instance, joule_error *error)
{
    joule_status status = JOULE_OK;
    for (uint32_t d = 0; status == JOULE_OK && d < instance->placed->device_count; d++)
        status = forge_timeline_wait(instance->timelines[d],
                                     point_of(instance, d, instance->placed->segment_counts[d]), -1, error);
    return status;
}

/* Returns true if an earlier segment provides the input `input` of segment i. */
static bool is_provided(const struct forge_placed *placed, uint32_t i, const char *input)
{
    for (size_t k = 0; k < placed->edge_count; k++)
        if (placed->edges[k].to == i && strcmp(placed->edges[k].name, input) == 0)
            return true;
    return false;
}

/* Returns JOULE_INVALID, with a message, if an input was never set. Called before any segment runs, so that a
 * missing input does not leave slots partially updated. */
static joule_status check_inputs(const forge_placed_instance *instance, joule_error *error)
{
    const char *missing;
    for (uint32_t i = 0; i < instance->placed->segment_count; i++)
        for (size_t at = 0; (missing = instance_find_missing(instance->segments[i].instance, &at));)
            if (!is_provided(instance->placed, i, missing))
                return instance_fail_missing(missing, error);
    return JOULE_OK;
}

joule_status forge_placed_instance_run(forge_placed_instance *instance, joule_error *out_error)
{
    if (instance->has_failed)
        return error_set(out_error, JOULE_FAILED,
                         "an earlier run failed midway: state may be partially updated");
    joule_status status = check_inputs(instance, out_error);
    if (status != JOULE_OK)
        return status;
    for (uint32_t i = 0; status == JOULE_OK && i < instance->placed->segment_count; i++)
        status = submit(instance, i, out_error);
    if (status == JOULE_OK)
        status = wait_for_all(instance, out_error);
    instance->runs++;
    if (status != JOULE_OK) {
        instance->has_failed = true;
        end_queues(instance);
    }
    return status;
}
