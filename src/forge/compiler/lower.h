/* compiler/lower.h - from a graph of plain families to launches over buffers.
 *
 * Owns the decisions of what is a launch and what only a view, which values share memory, and what lies where. Which kernel
 * runs a launch is the device's to say. Newcomers: buffers are first one for each value, and then merged: a write into its
 * slot, an output into its buffer, an element-wise result into an operand that nobody needs any more.
 */
#ifndef FORGE_COMPILER_LOWER_H
#define FORGE_COMPILER_LOWER_H

#include "base/index.h"
#include "forge/hal/device.h"

/* `graph` has no composites but those that the device has kernels for. */
joule_status lower(const forge_graph *graph, forge_device *device, forge_program **out_program,
                   joule_error *out_error);

/* --- the parts, in the order in which they work ------------------------------------------------------------- */

struct lowered_buffer {
    struct program_buffer made; /* kind, type, shape, name, size */
    uint32_t merged;            /* lies where this one does; itself: nowhere else */
    uint32_t writer;            /* the launch that fills it; PROGRAM_NONE: it is filled before the first */
    uint32_t last;              /* the last launch that uses it */
    uint32_t last_read;   /* of a slot's: the last binding by which its old value is read; PROGRAM_NONE */
    bool is_result;       /* is to be a slot's new value or an output */
    bool is_claimed;      /* is one now */
    const void *elements; /* of a constant, in the graph */
};

struct lowered_launch {
    struct program_launch made;
    in_place_bits in_place;
    const forge_graph *body; /* of a composite: what it is to cost; else NULL */
};

struct reading {
    uint32_t launch, before; /* the binding by which the same buffer was read before; PROGRAM_NONE: none */
};

struct lowering {
    const forge_graph *graph;
    forge_device *device;
    joule_error *error;
    joule_status status;
    struct dim_table dims; /* the graph's, and what strides and places add */
    int64_t *largest;      /* of each of the graph's own */
    GRAPH_ARRAY(struct lowered_buffer, buffers, buffer);
    GRAPH_ARRAY(struct program_binding, bindings, binding);
    GRAPH_ARRAY(struct lowered_launch, launches, launch);
    GRAPH_ARRAY(char, strings, string);
    struct index string_index; /* of where each begins */
    GRAPH_ARRAY(unsigned char, bytes, byte);
    GRAPH_ARRAY(unsigned char, numbers, number); /* a launch's attributes at the largest sizes */
    struct program_binding *places;              /* of each value: where it lies */
    bool *needs_own; /* of each value: it is written or an output, so it needs a buffer of its own */
    uint32_t *slot_buffers;
    bool *needs_copy;         /* of each slot: its new value is elsewhere, and copied at the end */
    struct reading *readings; /* of each binding */
    uint64_t arena_bytes, arena_bound_bytes;
};

/* lower.c: nodes to launches and views. */
bool lower_nodes(struct lowering *l);
/* A launch that copies a place into another buffer, packed, on behalf of a node; NULL: of none. */
bool lower_copy(struct lowering *l, const struct program_binding *from, uint32_t buffer,
                const struct node *on_behalf);
/* A new buffer; PROGRAM_NONE when that fails. */
uint32_t lower_buffer(struct lowering *l, enum buffer_kind kind, const char *name, forge_dtype dtype,
                      const forge_shape *shape);
/* Where a buffer lies in the end. */
uint32_t lower_root(const struct lowering *l, uint32_t buffer);
bool lower_fail(struct lowering *l, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* place.c: where values lie. */
/* The whole of a buffer. What cannot be expressed fails. */
struct program_binding place_packed(struct lowering *l, uint32_t buffer, forge_dtype dtype,
                                    const forge_shape *shape);
bool place_is_packed(struct lowering *l, const struct program_binding *binding);
/* Where a value is another's elements seen differently; false: it has to be computed. */
bool place_view(struct lowering *l, const struct node *node, const struct program_binding *x,
                const struct value *value, struct program_binding *out);
/* At the largest sizes, without an address. */
struct view place_largest(struct lowering *l, const struct program_binding *binding);

/* merge.c: writes, outputs and operands that can be worked on in place. */
bool lower_merge(struct lowering *l);

/* pack.c: the arena, and the finished block. */
joule_status lower_pack(struct lowering *l, forge_program **out_program);

#endif
