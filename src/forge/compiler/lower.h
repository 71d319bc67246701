/* compiler/lower.h - lowers a graph to launches over buffers.
 *
 * Lowering decides which nodes are launches and which are views, which values share memory, and where buffers
 * lie. The device chooses the kernels.
 *
 * Note: each value first gets a buffer of its own; then buffers are merged. A slot's new value merges with
 * the slot, an output's value with the output's buffer. An element-wise result merges with an operand that is
 * not needed any more.
 */
#ifndef FORGE_COMPILER_LOWER_H
#define FORGE_COMPILER_LOWER_H

#include "base/index.h"
#include "forge/hal/backend.h"

/* Returns the program for `graph`, whose composites must all have kernels on the device. Free with
 * forge_program_free. */
joule_status lower(const forge_graph *graph, forge_device *device, forge_program **out_program,
                   joule_error *out_error);

/* --- the parts, in the order in which they work --------------------------------------------------------- */

/* A buffer of the program that is being made. */
struct lowered_buffer {
    struct program_buffer made; /* kind, type, shape, name, size */
    uint32_t merged;            /* the buffer whose memory it uses; its own index: it has its own memory */
    uint32_t writer;            /* the launch that fills it; PROGRAM_NONE: filled before the first launch */
    uint32_t last;              /* the last launch that uses it */
    uint32_t last_read;   /* the last binding that reads it, or PROGRAM_NONE; for slots: the old value */
    bool is_result;       /* becomes a slot's new value or an output */
    bool is_claimed;      /* is already merged with a slot or an output */
    const void *elements; /* constants only: the elements, owned by the graph */
};

/* A launch of the program that is being made. */
struct lowered_launch {
    struct program_launch made;
    in_place_bits in_place;
    const forge_graph *body; /* composites only: the body, to compute the cost; else NULL */
};

/* One entry in the linked list of a buffer's reads. */
struct read_use {
    uint32_t launch; /* the launch that reads the buffer */
    uint32_t before; /* the previous binding that reads the same buffer, or PROGRAM_NONE */
};

/* State of one lowering. The first error stops it: functions that return bool then return false. */
struct lowering {
    const forge_graph *graph;
    forge_device *device;
    joule_error *error;
    joule_status status;
    struct dim_table dims; /* the graph's dim table, and the entries that strides and offsets add */
    int64_t *largest;      /* one for each entry of the graph's dim table: its value at the largest sizes */
    GRAPH_ARRAY(struct lowered_buffer, buffers, buffer);
    GRAPH_ARRAY(struct program_binding, bindings, binding);
    GRAPH_ARRAY(struct lowered_launch, launches, launch);
    GRAPH_ARRAY(char, strings, string);
    struct index string_index; /* from a string to its offset */
    GRAPH_ARRAY(unsigned char, bytes, byte);
    GRAPH_ARRAY(unsigned char, numbers, number); /* scratch: a launch's attributes at the largest sizes */
    struct program_binding *value_bindings;      /* one for each value: where it is stored */
    bool *needs_own; /* one for each value: it is written or an output, so it needs a buffer of its own */
    uint32_t *slot_buffers; /* one for each slot: its buffer */
    bool *needs_copy;       /* one for each slot: its new value is copied into it at the end */
    struct read_use *reads; /* one for each binding */
    uint64_t arena_bytes, arena_bound_bytes; /* size of the arena, and its lower bound (plan.h) */
};

/* lower.c: lowers nodes to launches and views. */
bool lower_nodes(struct lowering *l);
/* Adds a launch that copies `from` into another buffer, packed. It gets the scope and phase of `on_behalf`,
 * which may be NULL. */
bool lower_copy(struct lowering *l, const struct program_binding *from, uint32_t buffer,
                const struct node *on_behalf);
/* Adds a buffer. Returns PROGRAM_NONE on failure. */
uint32_t lower_buffer(struct lowering *l, enum buffer_kind kind, const char *name, forge_dtype dtype,
                      const forge_shape *shape);
/* Returns the buffer with which this one is merged in the end. */
uint32_t lower_root(const struct lowering *l, uint32_t buffer);
/* Records an error, unless there is one already. Returns false. */
bool lower_fail(struct lowering *l, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* bindings.c: decides where values are stored. */
/* Returns a binding of the whole buffer. Fails the lowering if a stride cannot be expressed. */
struct program_binding binding_packed(struct lowering *l, uint32_t buffer, forge_dtype dtype,
                                      const forge_shape *shape);
bool binding_is_packed(struct lowering *l, const struct program_binding *binding);
/* Writes the binding of `value`, the result of `node`, as a view of x, the binding of the node's operand.
 * Returns false if the value must be computed. */
bool binding_view(struct lowering *l, const struct node *node, const struct program_binding *x,
                  const struct value *value, struct program_binding *out);
/* Returns the view at the largest sizes, without an address. */
struct view binding_at_largest(struct lowering *l, const struct program_binding *binding);

/* merge.c: merges buffers for writes, outputs and in-place operands. */
bool lower_merge(struct lowering *l);

/* pack.c: plans the arena and packs everything into one block. */
joule_status lower_pack(struct lowering *l, forge_program **out_program);

#endif
