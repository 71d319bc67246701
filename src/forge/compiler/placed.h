/* compiler/placed.h - the inside of a placed program.
 *
 * Owns the structure that split.c makes and the runtime runs. Newcomers: a value that is brought has one name, that of an
 * output of the segment that makes it and of an input of the one that takes it; edges lead from earlier segments to later ones.
 */
#ifndef FORGE_COMPILER_PLACED_H
#define FORGE_COMPILER_PLACED_H

#include <forge/placed.h>
#include "forge/ir/build.h"

enum { VALUE_NAME = 16 }; /* "%4294967295" */

/* A value that is brought. */
struct placed_edge {
    uint32_t from, to; /* segments */
    char name[VALUE_NAME];
    uint64_t size_bytes;
};

struct placed_segment {
    uint32_t device;        /* of forge_placed */
    uint32_t turn;          /* how many segments of the device come before */
    forge_builder *builder; /* until it is split */
    forge_graph *graph;     /* until it is compiled */
    forge_program *program;
};

struct forge_placed {
    forge_device *devices[FORGE_MAX_PLACED_DEVICES];
    size_t device_count;
    uint32_t turns[FORGE_MAX_PLACED_DEVICES]; /* segments of each */
    GRAPH_ARRAY(struct placed_segment, segments, segment);
    GRAPH_ARRAY(struct placed_edge, edges, edge);
};

/* Fills devices, segments (graphs, no programs yet) and edges. `graph` is placed (pass_transfer) and has no symbols. What is
 * made belongs to the placed program, whatever the outcome. */
joule_status placed_split(const forge_graph *graph, const forge_place *places, size_t count,
                          forge_placed *placed, joule_error *out_error);

#endif
