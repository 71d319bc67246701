/* forge/placed.h - one graph on several devices.
 *
 * A placed program contains one program for each segment. A segment is a sequence of nodes on one device.
 * forge_place_set assigns nodes to places while the graph is built.
 * Note: each device runs its nodes in the order in which they were added to the graph. A segment ends where
 * the next node runs on another device. So that two devices work at the same time, add their nodes
 * alternately.
 */
#ifndef FORGE_PLACED_H
#define FORGE_PLACED_H

#include <forge/compiler.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- programs ------------------------------------------------------------------------------------------- */

/* Assigns a device to a place. Its layout is final. */
typedef struct forge_place {
    const char *name; /* the name in forge_place_set; NULL: nodes without a place */
    forge_device *device;
} forge_place;
#define FORGE_MAX_PLACED_DEVICES 8

typedef struct forge_placed forge_placed; /* immutable; any thread may use it */

/* Divides the graph into segments and compiles each segment for its device (forge_compile). Several places
 * may have the same device. If no name is NULL, nodes without a place run on the first device. Results have
 * the same bits as on one device with the same kernels. The exception is a composite with only constants as
 * operands, which another device may compute. Names of inputs and outputs such as "%12" are reserved. The
 * caller owns the placed program (forge_placed_free). The devices must outlive it.
 * JOULE_INVALID: a place of the graph is missing in `places` or occurs twice, there are more than
 * FORGE_MAX_PLACED_DEVICES devices, or a size is a symbol. JOULE_FAILED: a slot is to be written in place,
 * but the last segment that reads the slot does not compute its new value. Errors of forge_compile name the
 * segment. */
FORGE_API joule_status forge_compile_placed(const forge_graph *graph, const forge_place *places, size_t count,
                                            forge_placed **out_placed, joule_error *out_error);
/* Frees a placed program. NULL is allowed. */
FORGE_API void forge_placed_free(forge_placed *placed);

/* Properties of a segment. */
typedef struct forge_segment_facts {
    uint32_t struct_size;    /* sizeof(forge_segment_facts) */
    uint32_t transfer_count; /* number of values that the segment reads from earlier segments */
    uint64_t transfer_bytes;
    forge_device *device;
    const forge_program *program; /* lives as long as the placed program */
} forge_segment_facts;
/* Describes segment `i`, in the order of submission. JOULE_INVALID: no such segment, or struct_size is too
 * small. */
FORGE_API joule_status forge_placed_segment(const forge_placed *placed, size_t i,
                                            forge_segment_facts *out_facts);

/* --- choice of places ----------------------------------------------------------------------------------- */

/* The chosen places. All figures are expected for one run, not measured: they follow from the rates and
 * prices of the devices (see forge_schedule_facts), with each node as a launch of its own on all cores of its
 * device, and one node at a time. A value is transferred once to each place that needs it, through the memory
 * of both devices. While a device is idle, its power does not count. */
typedef struct forge_places_facts {
    uint32_t struct_size; /* number of bytes that the library filled in; may exceed the caller's structure */
    forge_minimise objective;
    size_t moved; /* nodes that are not on the best single place */
    /* with all nodes on one place, the best one, except those that cannot run there, which are where they
     * were chosen to be */
    double single_seconds, single_joules;
    double chosen_seconds, chosen_joules;
    size_t transfer_count;
    double transfer_bytes;
} forge_places_facts;

/* Creates a copy of the graph in which each node without a place (NULL) is on one of the `count` places, so
 * that the joules, the seconds or their product are as small as possible. Nodes with a place stay there. A
 * slot is on one place, with all its reads and the node that writes it. Inputs and constants need no
 * transfers. The choice is never worse than all nodes on one place. It is the best one for the joules or the
 * seconds on two places if each value has one reader. places: as for forge_compile_placed, each with a name,
 * or NULL for the nodes that stay without a place. objective: not FORGE_MINIMISE_NONE. The caller owns the
 * new graph (forge_graph_free). out_facts: may be NULL; set struct_size. JOULE_INVALID: errors of
 * forge_compile_placed, a wrong objective, or struct_size is too small. JOULE_UNSUPPORTED: no device can run
 * a node. */
FORGE_API joule_status forge_choose_places(const forge_graph *graph, const forge_place *places, size_t count,
                                           forge_minimise objective, forge_graph **out_graph,
                                           forge_places_facts *out_facts, joule_error *out_error);

/* --- instances ------------------------------------------------------------------------------------------ */

/* An instance of a placed program, with one queue for each device. One thread at a time. */
typedef struct forge_placed_instance forge_placed_instance;

/* Creates an instance. states: an array of `count` states, at least one for each device. A slot is stored in
 * the states of its device. The placed program and the states must outlive the instance. JOULE_INVALID: a
 * device has no states. JOULE_UNSUPPORTED: a device only estimates, so it has no values to transfer. */
FORGE_API joule_status forge_placed_instance_new(const forge_placed *placed, forge_states *const *states,
                                                 size_t count, forge_placed_instance **out_instance,
                                                 joule_error *out_error);
/* Frees an instance. NULL is allowed. */
FORGE_API void forge_placed_instance_free(forge_placed_instance *instance);
/* Sets an input like forge_instance_set, in each segment that uses the input. */
FORGE_API joule_status forge_placed_instance_set(forge_placed_instance *instance, const char *input,
                                                 const forge_tensor *tensor, joule_error *out_error);
/* Sets an input to zeros like forge_instance_set_zeros. */
FORGE_API joule_status forge_placed_instance_set_zeros(forge_placed_instance *instance, const char *input,
                                                       joule_error *out_error);
/* Runs the program once: submits all segments to the queues of their devices, and returns when they are done.
 * Allocates one queue entry for each segment. JOULE_FAILED: a segment failed; the message names the segment
 * and the reason. Segments that depend on the failed segment do not run, slots may be partially updated, and
 * later runs fail too. */
FORGE_API joule_status forge_placed_instance_run(forge_placed_instance *instance, joule_error *out_error);
/* Returns a view of an output like forge_instance_get. */
FORGE_API joule_status forge_placed_instance_get(forge_placed_instance *instance, const char *output,
                                                 forge_tensor *out_tensor, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
