/* ir/graph.h - the data structure of a graph: flat arrays of nodes, values, edges, inputs, outputs and slots.
 *
 * Note: ids are indices into these arrays; value 0 means "no value". Nodes are in topological order: the ids
 * of a node's inputs are smaller than the ids of its outputs. A finished graph does not change: a pass reads
 * a graph and builds another graph.
 */
#ifndef FORGE_IR_GRAPH_H
#define FORGE_IR_GRAPH_H

#include <stdatomic.h>
#include <forge/graph.h>
#include "base/arena.h"
#include "forge/ir/dim.h"

/* The operations, one for each row of ops.def. */
enum op {
#define OP(NAME, name, min_inputs, max_inputs, attributes) OP_##NAME,
#include "forge/ir/ops.def"
    OP_COUNT
};

/* --- attributes: a node's parameters. No padding: they are compared and hashed as bytes ----------------- */

struct no_attributes {
    uint32_t zero;
};
struct input_attributes {
    uint32_t index; /* in graph->inputs */
    forge_dtype dtype;
    forge_shape shape;
};
struct read_attributes {
    uint32_t slot; /* index in graph->slots */
};
struct constant_attributes {
    forge_dtype dtype;
    uint32_t size_bytes;
    forge_shape shape;
    unsigned char bytes[]; /* packed elements */
};
struct iota_attributes {
    forge_dtype dtype;
    uint32_t axis;
    forge_shape shape;
};
/* kind: a forge_unary_kind or a forge_binary_kind. */
struct kind_attributes {
    uint32_t kind;
};
struct cast_attributes {
    forge_dtype dtype;
};
/* kind: a forge_reduce_kind. axes: one bit for each reduced dimension. accumulate: the type of the sums. */
struct reduce_attributes {
    uint32_t kind;
    uint32_t axes;
    uint32_t keep_dims;
    forge_dtype accumulate;
};
struct matmul_attributes {
    uint32_t flags; /* FORGE_TRANSPOSE_A, FORGE_TRANSPOSE_B */
    forge_dtype accumulate;
};
struct shape_attributes {
    forge_shape shape;
};
/* Dimension k of the result is dimension order[k] of the input. */
struct transpose_attributes {
    uint32_t order[FORGE_MAX_RANK]; /* 0 from the rank on */
};
struct axis_attributes {
    uint32_t axis;
};
/* A strided part of an array. Along each dimension, the part contains the indices start, start + step, and so
 * on below limit. If step is negative, it contains limit - 1, limit - 1 + step, and so on down to start.
 * Members are 0 from the rank on. */
struct cut {
    forge_dim start[FORGE_MAX_RANK], limit[FORGE_MAX_RANK];
    int64_t step[FORGE_MAX_RANK];
};
struct slice_attributes {
    struct cut cut; /* the part of x that is the result */
};
struct pad_attributes {
    struct cut cut; /* the part of the result that contains x; all other elements are `value` */
    double value;
    forge_shape shape;
};
enum { CONV_TRANSPOSED = 1, CONV_SIZED = 2 }; /* bits of conv_attributes.flags */
/* Arrays are indexed by spatial dimension, up to three; 0 for dimensions that do not exist. before, after:
 * elements of padding at each end. */
struct conv_attributes {
    uint32_t flags;
    uint32_t groups;
    forge_dtype accumulate;
    uint32_t stride[3], dilation[3], before[3], after[3];
    uint32_t extra[3]; /* transposed only: added to the result's size, at its end */
    forge_dim size[3]; /* CONV_SIZED only: the result's size; otherwise it follows from the other members */
};
/* Windows that slide along the dimensions in `axes`. Arrays are indexed by dimension, and are 0 for
 * dimensions outside `axes`. before, after: elements of padding at each end. */
struct windows {
    uint32_t axes; /* one bit per dimension */
    uint32_t size[FORGE_MAX_RANK], stride[FORGE_MAX_RANK], dilation[FORGE_MAX_RANK];
    uint32_t before[FORGE_MAX_RANK], after[FORGE_MAX_RANK];
};
struct window_attributes {
    uint32_t kind; /* forge_reduce_kind */
    uint32_t count_padding;
    struct windows windows;
};
struct unfold_attributes {
    double padding; /* the value of elements outside x */
    struct windows windows;
    uint32_t zero; /* always 0, in place of padding */
};
struct fold_attributes {
    forge_shape shape;
    struct windows windows;
    uint32_t zero; /* always 0, in place of padding */
};
/* OP_SHARE is the gradient of a maximum or minimum over windows of x. Inputs: x, y and parts. y and parts
 * have one element for each window. Each part is divided equally among the elements of its window that equal
 * the window's element of y. */
struct share_attributes {
    struct windows windows;
};
struct random_attributes {
    uint32_t kind; /* forge_random_kind */
    uint32_t stream;
    forge_shape shape;
};
/* If is_along is set, `indices` has the result's rank and one index for each element of the result. Otherwise
 * each index selects a whole slice of x. */
struct gather_attributes {
    uint32_t axis;
    uint32_t is_along;
    uint32_t gives_zero; /* an index outside x reads 0 instead of NaN */
};
struct scatter_attributes {
    uint32_t kind; /* forge_scatter_kind */
    uint32_t axis;
    uint32_t is_along; /* see gather_attributes */
};
struct scan_attributes {
    uint32_t kind; /* forge_reduce_kind */
    uint32_t axis;
    uint32_t flags; /* FORGE_SCAN_EXCLUSIVE, FORGE_SCAN_REVERSE */
};
/* Sort has two outputs: the sorted values, and their positions in x as i64. */
struct sort_attributes {
    uint32_t axis;
    uint32_t is_descending;
    forge_shape shape; /* shape of both outputs; its size along the axis says how many elements of the sorted
                        * line are kept */
};
struct collective_attributes {
    uint32_t kind; /* forge_collective_kind */
    uint32_t axis; /* used by all_gather and reduce_scatter only */
    uint32_t root; /* send_all, reduce_to only: the process that sends or receives */
    uint32_t size; /* number of processes in the group */
    char group[32];
};
enum { FUSED_MAX_STEPS = 32 };
struct composite_attributes {
    char name[32];
    double reals[4]; /* parameters of the body; for the library's composites, library.def describes them */
    uint32_t numbers[4];
    uint32_t wanted; /* gradients only: bit i is set if the gradient of the composite's input i is an
                      * output */
    uint32_t given;  /* gradients only: bit k is set if the gradient of the composite's output k is an input;
                      * these inputs come after the inputs of the composite */
    uint32_t code[FUSED_MAX_STEPS]; /* fused composites only: their steps (fused.h) */
    /* The body, an element of graph->bodies. It has the same inputs and outputs as the node. NULL in
     * launches. Must be the last member, because all members before it are compared as bytes. */
    const forge_graph *body;
};

/* --- tables --------------------------------------------------------------------------------------------- */

/* An operation with its attributes. Its inputs are consecutive edges, and its outputs are consecutive
 * values. */
struct node {
    uint8_t op;    /* enum op */
    uint8_t phase; /* forge_phase */
    uint8_t input_count, output_count;
    uint32_t first_input; /* index in graph->edges */
    forge_value output;   /* id of the first output; the others follow */
    uint32_t scope;       /* index in graph->scopes */
    /* If the backward pass added this node for a recompute region (forge_recompute_begin), the number of this
     * region; otherwise 0. Such a node repeats a node of the region or computes a gradient in it. Equal nodes
     * of different regions are not merged. */
    uint32_t recompute_region;
    uint32_t attributes_size;
    const void *attributes; /* in graph->arena */
};

/* A result of a node. */
struct value {
    forge_dtype dtype;
    uint32_t node;
    uint32_t place;  /* index in graph->places: where the value is stored and its node runs */
    uint32_t layout; /* enum value_layout */
    forge_shape shape;
};

/* Order of a value's elements. The pass `layout` stores images between convolutions in another order than
 * [n, channels, rows, columns]. Their shape is then the shape in memory, so each value is row-major without
 * gaps. Inputs, outputs and slots are in LAYOUT_PACKED. See layout.h. */
enum value_layout {
    LAYOUT_PACKED, /* any shape; images are [n, channels, rows, columns] */
    LAYOUT_LAST,   /* images [n, rows, columns, channels] */
    /* images [n, blocks, rows, columns, LAYOUT_LANES]. Channel c is lane c % LAYOUT_LANES of block c /
     * LAYOUT_LANES. The lanes after the last channel belong to no channel. */
    LAYOUT_BLOCKS,
    LAYOUT_COUNT
};
enum { LAYOUT_LANES = 16 };

/* An input or an output. */
struct port {
    const char *name;
    forge_value value;
};

/* A named state that persists between runs. */
struct slot {
    const char *name;
    forge_dtype dtype;
    bool in_place;
    bool is_parameter; /* trained by optimisers; see <forge/nn.h> */
    forge_value read;  /* value of the read node; FORGE_NO_VALUE if the slot is never read */
    forge_value write; /* the new value; FORGE_NO_VALUE if the slot is never written */
    forge_shape shape;
    forge_init init;
};

enum { PLACE_TEXT = FORGE_PLACE_NAME + 3 };

#define GRAPH_ARRAY(type, name, singular)                                                                    \
    type *name;                                                                                              \
    size_t singular##_count, singular##_capacity

struct forge_graph {
    _Atomic uint32_t references; /* number of owners; a body is owned by all graphs that use it */
    struct arena arena;          /* names and attributes */
    GRAPH_ARRAY(struct node, nodes, node);
    GRAPH_ARRAY(struct value, values, value); /* [0] is unused: id 0 means "no value" */
    GRAPH_ARRAY(forge_value, edges, edge);
    GRAPH_ARRAY(struct port, inputs, input);
    GRAPH_ARRAY(struct port, outputs, output);
    GRAPH_ARRAY(struct slot, slots, slot);
    GRAPH_ARRAY(const char *, scopes, scope); /* [0] is "" */
    GRAPH_ARRAY(const char *, places, place); /* [0] is NULL: the default place, chosen at compilation */
    bool is_placed; /* every operand is stored where its node runs; transfer nodes copy values between
                     * places */
    GRAPH_ARRAY(forge_graph *, bodies, body); /* bodies of composites; one reference to each */
    struct dim_table dims;
};

static inline const struct node *graph_producer(const forge_graph *graph, forge_value value)
{
    return &graph->nodes[graph->values[value].node];
}
static inline forge_value node_input(const forge_graph *graph, const struct node *node, size_t i)
{
    return graph->edges[node->first_input + i];
}
static inline uint32_t node_kind(const struct node *node)
{
    return ((const struct kind_attributes *)node->attributes)->kind;
}

/* Returns true if the node only changes the shape, the strides or the order of its input, so that its result
 * is often a view of the input. */
static inline bool node_is_view(const struct node *node)
{
    return node->op == OP_RESHAPE || node->op == OP_BROADCAST || node->op == OP_TRANSPOSE ||
           node->op == OP_SLICE || node->op == OP_STOP_GRADIENT;
}
/* Return true if each element of the result depends on one element of each input. */
static inline bool op_is_elementwise(unsigned op)
{
    return op == OP_UNARY || op == OP_BINARY || op == OP_SELECT || op == OP_CAST;
}
static inline bool node_is_elementwise(const struct node *node)
{
    return op_is_elementwise(node->op);
}
/* Returns true if the node is a matmul or a convolution. */
static inline bool node_is_product(const struct node *node)
{
    return node->op == OP_MATMUL || node->op == OP_CONV;
}

/* Returns the place where a node runs and all its values are stored. */
static inline uint32_t node_place(const forge_graph *graph, const struct node *node)
{
    return graph->values[node->output].place;
}
/* Returns the place of the value that is read from the slot. If the slot is not read, returns the place of
 * the value that is written to it. */
static inline uint32_t slot_place(const forge_graph *graph, const struct slot *slot)
{
    return graph->values[slot->read ? slot->read : slot->write].place;
}
/* Returns the name of the place in quotes, or a description of place 0. The result is `text` or a static
 * string. */
const char *place_text(const forge_graph *graph, uint32_t place, char text[PLACE_TEXT]);

/* Returns false if the node is a collective operation in which other processes take part. */
static inline bool node_is_local(const struct node *node)
{
    return node->op != OP_COLLECTIVE || ((const struct collective_attributes *)node->attributes)->size == 1;
}

/* Adds a reference to the graph, and returns the graph; forge_graph_free removes one reference. */
static inline forge_graph *graph_retain(const forge_graph *graph)
{
    forge_graph *shared = (forge_graph *)graph;
    atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    return shared;
}

/* Returns the operation's name, for example "matmul". */
const char *op_name(enum op op);
/* Return the name of a kind, for example "relu", "add", "sum"; "unknown" if it does not exist. */
const char *unary_name(forge_unary_kind kind);
const char *binary_name(forge_binary_kind kind);
const char *reduce_name(forge_reduce_kind kind);
const char *scatter_name(forge_scatter_kind kind);
const char *random_name(forge_random_kind kind);
const char *collective_name(forge_collective_kind kind);

#endif
