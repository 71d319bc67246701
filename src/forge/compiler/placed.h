/* compiler/placed.h - the structure of a placed program: split.c makes it, the runtime runs it.
 *
 * Note: a transferred value is an output of the segment that makes it and an input of the segment that uses
 * it, under one name. Edges lead from earlier segments to later ones.
 */
#ifndef FORGE_COMPILER_PLACED_H
#define FORGE_COMPILER_PLACED_H

#include <forge/placed.h>
#include "forge/ir/builder.h"

enum { VALUE_NAME = 16 }; /* bytes of "%4294967295" and its terminating NUL, rounded up */

/* A transferred value. */
struct placed_edge {
    uint32_t from, to; /* indices of segments */
    char name[VALUE_NAME];
    uint64_t size_bytes;
};

/* A part of the graph that runs on one device without interruption. */
struct placed_segment {
    uint32_t device;        /* index in forge_placed.devices */
    uint32_t position;      /* number of earlier segments of this device */
    forge_builder *builder; /* until the graph is finished */
    forge_graph *graph;     /* until it is compiled */
    forge_program *program;
};

/* A program for several devices. */
struct forge_placed {
    forge_device *devices[FORGE_MAX_PLACED_DEVICES];
    size_t device_count;
    uint32_t segment_counts[FORGE_MAX_PLACED_DEVICES]; /* number of segments of each device */
    GRAPH_ARRAY(struct placed_segment, segments, segment);
    GRAPH_ARRAY(struct placed_edge, edges, edge);
};

/* Fills in devices, segments (with graphs, without programs) and edges. `graph` must be placed
 * (pass_transfer) and have no symbols. `placed` owns everything, also after an error. */
joule_status placed_split(const forge_graph *graph, const forge_place *places, size_t count,
                          forge_placed *placed, joule_error *out_error);

#endif
