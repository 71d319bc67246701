/* compiler/placed.h - the structure of a placed program, which split.c creates and the runtime runs.
 *
 * Note: a transferred value is an output of one segment and an input of a later segment, with the same name.
 */
#ifndef FORGE_COMPILER_PLACED_H
#define FORGE_COMPILER_PLACED_H

#include <forge/placed.h>
#include <string.h>
#include "forge/ir/builder.h"

enum { VALUE_NAME = 16 }; /* bytes of "%4294967295" and its terminating NUL, rounded up */

/* A value that segment `to` needs from segment `from`. */
struct placed_edge {
    uint32_t from, to; /* indices of segments */
    char name[VALUE_NAME];
    uint64_t size_bytes;
};

/* A part of the graph that runs on one device without interruption. */
struct placed_segment {
    uint32_t device;        /* index in forge_placed.devices */
    uint32_t position;      /* number of earlier segments of this device */
    forge_builder *builder; /* NULL after the graph was finished */
    forge_graph *graph;     /* NULL after the graph was compiled */
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

/* Returns true if two names of places are the same; NULL is one, too. */
static inline bool placed_is_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* Sets devices, segments (with graphs, without programs) and edges of `placed`. `graph` must be placed
 * (pass_transfer) and have no symbols. `placed` owns all graphs, also after an error. Returns the same errors
 * as forge_compile_placed. */
joule_status placed_split(const forge_graph *graph, const forge_place *places, size_t count,
                          forge_placed *placed, joule_error *out_error);

#endif
