/* forge/placed.h - one graph on several devices.
 *
 * Owns placed programs, one program for each stretch of a graph that runs on one device, and the instances that run them in
 * order. Where nodes run is said while the graph is built (forge_place_set).
 * Newcomers: the order in which a graph was built is the order in which each device works, so what is to overlap is built in
 * turns: a stretch ends where the next node runs on another device.
 */
#ifndef FORGE_PLACED_H
#define FORGE_PLACED_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- programs ------------------------------------------------------------------------------------------------ */

/* Its layout is final. */
typedef struct forge_place {
    const char *name; /* as forge_place_set had it; NULL: of nodes that have none */
    forge_device *device;
} forge_place;
#define FORGE_MAX_PLACED_DEVICES 8

typedef struct forge_placed forge_placed; /* immutable: any thread */

/* Cuts the graph into segments, and compiles each for its device (forge_compile). Results have the same bits as on one device
 * with these kernels, but where a composite of constants alone is taken by another device. Several places may be one device;
 * without a NULL among the names, nodes that have no place run on the first. Names of inputs and outputs such as "%12" are
 * taken. The devices must outlive the program, which is the caller's.
 * INVALID: a place of the graph is not among these, one is there twice, they are more than FORGE_MAX_PLACED_DEVICES devices,
 * or a size is a symbol (forge_graph_bind gives it a number). FAILED: a slot is to be written in place, and its value is made
 * in another segment than the last that reads it. What else forge_compile refuses is told with the segment. */
FORGE_API joule_status forge_compile_placed(const forge_graph *graph, const forge_place *places, size_t count,
                                            forge_placed **out_placed, joule_error *out_error);
/* NULL is allowed. */
FORGE_API void forge_placed_free(forge_placed *placed);

typedef struct forge_segment_facts {
    uint32_t struct_size; /* sizeof(forge_segment_facts) */
    uint32_t brought;     /* values that it takes from segments before it */
    uint64_t brought_bytes;
    forge_device *device;
    const forge_program *program; /* lives as long as the placed program */
} forge_segment_facts;
/* Of segment i, in the order in which they are submitted. INVALID: there is no segment i, or no room. */
FORGE_API joule_status forge_placed_segment(const forge_placed *placed, size_t i,
                                            forge_segment_facts *out_facts);

/* --- instances ----------------------------------------------------------------------------------------------- */

typedef struct forge_placed_instance
    forge_placed_instance; /* one thread at a time; it has one for each device */

/* Slots live in those of the `count` states that are of their device. Placed program and states must outlive the instance.
 * INVALID: a device has no states. UNSUPPORTED: a device only estimates, so nothing could be brought from it. */
FORGE_API joule_status forge_placed_instance_new(const forge_placed *placed, forge_states *const *states,
                                                 size_t count, forge_placed_instance **out_instance,
                                                 joule_error *out_error);
/* NULL is allowed. */
FORGE_API void forge_placed_instance_free(forge_placed_instance *instance);
/* As forge_instance_set: copied to each segment that takes this input. */
FORGE_API joule_status forge_placed_instance_set(forge_placed_instance *instance, const char *input,
                                                 const forge_tensor *tensor, joule_error *out_error);
/* As forge_instance_set_zeros. */
FORGE_API joule_status forge_placed_instance_set_zeros(forge_placed_instance *instance, const char *input,
                                                       joule_error *out_error);
/* One run: submits all segments, each to its device's queue, and returns when they are done. Allocates an entry of a queue
 * for each segment. FAILED: a segment failed, and the message says which and why; segments that wait for it do not begin,
 * slots may be half new, and later runs fail, too. */
FORGE_API joule_status forge_placed_instance_run(forge_placed_instance *instance, joule_error *out_error);
/* As forge_instance_get. */
FORGE_API joule_status forge_placed_instance_get(forge_placed_instance *instance, const char *output,
                                                 forge_tensor *out_tensor, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
