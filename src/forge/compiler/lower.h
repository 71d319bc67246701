/* compiler/lower.h - lowers a graph to launches over buffers.
 *
 * Lowering decides which nodes become launches and which become views, which values share memory, and which
 * offsets buffers have in the arena. The device selects the kernels.
 *
 * Note: each value first gets a separate buffer. Then buffers are merged, so that they share memory. The
 * buffer of a slot's new value is merged with the slot's buffer. The buffer of an output's value is merged
 * with the output's buffer. The buffer of an element-wise result is merged with the buffer of an operand that
 * no later launch uses.
 */
#ifndef FORGE_COMPILER_LOWER_H
#define FORGE_COMPILER_LOWER_H

#include <forge/compiler.h>
#include "base/index.h"
#include "forge/hal/backend.h"

/* Wishes of a caller for the schedule: members of forge_compile_options. */
struct schedule_wish {
    forge_minimise objective; /* FORGE_MINIMISE_NONE: launches keep the order of the graph */
    double max_seconds;       /* 0: no bound */
    uint64_t max_arena_bytes; /* 0: no bound */
};

/* Creates the program for `graph`. All composites of `graph` must have kernels on the device. The caller
 * frees the program with forge_program_free. out_facts: the schedule; not set without an objective. Returns
 * the same errors as forge_compile_with. */
joule_status lower(const forge_graph *graph, forge_device *device, const struct schedule_wish *wish,
                   forge_program **out_program, forge_schedule_facts *out_facts, joule_error *out_error);

/* --- the parts, in the order in which they run ---------------------------------------------------------- */

/* A buffer of the program that is being compiled. */
struct lowered_buffer {
    struct program_buffer record; /* the buffer as the program stores it: kind, type, shape, name, size */
    /* index of the buffer whose memory this buffer uses; the buffer's own index if it is not merged */
    uint32_t merged;
    /* the launch that writes the buffer; PROGRAM_NONE: written before the first launch */
    uint32_t writer;
    uint32_t last; /* the last launch that uses the buffer */
    /* the last binding that reads the buffer (for a slot: its old value), or PROGRAM_NONE */
    uint32_t last_read;
    bool is_result;       /* contains a slot's new value or an output */
    bool is_claimed;      /* is merged with a slot or an output */
    const void *elements; /* constants only: the elements, owned by the graph */
};

/* A launch of the program that is being compiled. */
struct lowered_launch {
    struct program_launch record; /* the launch as the program stores it, without cost */
    in_place_bits in_place;
    const forge_graph *body; /* body of a composite, to compute the cost; else NULL */
    uint32_t number;         /* position in the order of the graph; PROGRAM_NONE: a copy of a launch */
};

/* One entry in the linked list of a buffer's reads. */
struct read_use {
    uint32_t launch;   /* the launch that reads the buffer */
    uint32_t previous; /* the previous binding that reads the same buffer, or PROGRAM_NONE */
};

/* State of one lowering. After the first error, all functions that return bool return false, and `status` is
 * the error. */
struct lowering {
    const forge_graph *graph;
    forge_device *device;
    joule_error *error;
    joule_status status;
    struct dim_table dims; /* the graph's dim table, and the entries that strides and offsets add */
    /* one for each entry of the graph's dim table: the value of the entry if all symbols have their largest
     * values */
    int64_t *largest;
    GRAPH_ARRAY(struct lowered_buffer, buffers, buffer);
    GRAPH_ARRAY(struct program_binding, bindings, binding);
    GRAPH_ARRAY(struct lowered_launch, launches, launch);
    GRAPH_ARRAY(struct program_origin, origins, origin);
    GRAPH_ARRAY(char, strings, string);
    struct index string_index; /* finds the offset of a string in `strings` */
    GRAPH_ARRAY(unsigned char, bytes, byte);
    GRAPH_ARRAY(unsigned char, numbers, number); /* scratch: a launch's attributes at the largest sizes */
    struct program_binding *value_bindings;      /* one for each value: where it is stored */
    /* one for each value: true if the value needs a separate buffer, because it is an output or a slot's new
     * value */
    bool *needs_own;
    uint32_t *slot_buffers; /* one for each slot: its buffer */
    /* one for each slot: true if the new value must be copied into the slot after all other launches */
    bool *needs_copy;
    struct read_use *reads;                  /* one for each binding */
    uint64_t arena_bytes, arena_bound_bytes; /* size of the arena, and its lower bound (plan.h) */
};

/* lower.c: lowers nodes to launches and views. */
bool lower_nodes(struct lowering *l);
/* Adds a launch that copies the elements of `from` to the start of `buffer`, packed. The launch gets the
 * scope and phase of `on_behalf`; NULL: the outermost scope, phase forward. */
bool lower_copy(struct lowering *l, const struct program_binding *from, uint32_t buffer,
                const struct node *on_behalf);
/* Adds a buffer, and returns its index; PROGRAM_NONE on failure. */
uint32_t lower_buffer(struct lowering *l, enum buffer_kind kind, const char *name, forge_dtype dtype,
                      const forge_shape *shape);
/* Returns the unmerged buffer whose memory `buffer` uses. This may take several steps, because a buffer may
 * be merged with a buffer that is itself merged. */
uint32_t lower_root(const struct lowering *l, uint32_t buffer);
/* Sets the status and the error message, unless the lowering has failed before. Returns false. */
bool lower_fail(struct lowering *l, joule_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* bindings.c: computes the bindings of values to buffers. */
/* Returns a packed binding that begins at the start of the buffer. The lowering fails if a stride is not an
 * expression of symbols. */
struct program_binding binding_packed(struct lowering *l, uint32_t buffer, forge_dtype dtype,
                                      const forge_shape *shape);
bool binding_is_packed(struct lowering *l, const struct program_binding *binding);
/* Computes the binding of `value`, the result of `node`, as a view of x, the binding of the node's operand.
 * Returns false if the value is not a view of x, so that a launch must compute it. */
bool binding_view(struct lowering *l, const struct node *node, const struct program_binding *x,
                  const struct value *value, struct program_binding *out);
/* Returns the view of a binding at the largest sizes, without an address. */
struct view binding_at_largest(struct lowering *l, const struct program_binding *binding);

/* lower_schedule.c: changes the order of the launches, repeats launches if the memory is short, and limits
 * their cores. Must be called before lower_merge. Fails if a bound cannot be kept. */
bool lower_schedule(struct lowering *l, const struct schedule_wish *wish, forge_schedule_facts *out_facts);

/* lower_order.c: changes the list of launches, before lower_merge. */
struct rematerialisation;
/* Puts launches and bindings into an order. order: [launch_count]. */
bool lower_reorder(struct lowering *l, const uint32_t *order);
/* Adds the copies of launches, with buffers for their results, and puts all launches into the order. Bindings
 * then refer to the results of copies. */
bool lower_copies(struct lowering *l, const struct rematerialisation *rematerialisation);

/* merge.c: merges buffers for writes, outputs and in-place operands. */
bool lower_merge(struct lowering *l);

/* pack.c: plans the arena, and copies all parts of the program into one block of memory. The caller frees
 * *out_program with forge_program_free. */
joule_status lower_pack(struct lowering *l, forge_program **out_program);

#endif
