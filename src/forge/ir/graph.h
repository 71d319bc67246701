/* ir/graph.h - what a graph is made of.
 *
 * Owns the flat arrays of a graph: nodes in topological order, the values they give, the edges between, and the tables of
 * inputs, outputs, slots, scopes and symbols. It does not know how nodes are computed.
 * Newcomers: ids are indices. Value 0 is "none"; an input's id is always smaller than its node's own outputs'. After
 * builder_finish nothing changes: a pass reads one graph and builds the next.
 */
#ifndef FORGE_IR_GRAPH_H
#define FORGE_IR_GRAPH_H

#include <stdatomic.h>
#include <forge/graph.h>
#include "base/arena.h"
#include "forge/ir/dim.h"

enum op {
#define OP(NAME, name, least, most, attributes) OP_##NAME,
#include "forge/ir/ops.def"
    OP_COUNT
};

/* --- attributes: what a node is beside its family and inputs. No padding: compared and hashed as bytes. -------- */

struct no_attributes {
    uint32_t zero;
};
struct input_attributes {
    uint32_t index; /* of graph->inputs */
    forge_dtype dtype;
    forge_shape shape;
};
struct read_attributes {
    uint32_t slot; /* of graph->slots */
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
struct kind_attributes {
    uint32_t kind;
};
struct cast_attributes {
    forge_dtype dtype;
};
struct reduce_attributes {
    uint32_t kind;
    uint32_t axes;
    uint32_t keeps_dims;
    forge_dtype accumulate;
};
struct matmul_attributes {
    uint32_t flags;
    forge_dtype accumulate;
};
struct shape_attributes {
    forge_shape shape;
};
struct transpose_attributes {
    uint32_t order[FORGE_MAX_RANK]; /* 0 from rank on */
};
struct axis_attributes {
    uint32_t axis;
};
/* Some elements of an array: along each dimension start, start + step ... below limit, or, where the step is negative,
 * limit - 1, limit - 1 + step ... down to start. 0 from rank on. */
struct cut {
    forge_dim start[FORGE_MAX_RANK], limit[FORGE_MAX_RANK];
    int64_t step[FORGE_MAX_RANK];
};
struct slice_attributes {
    struct cut cut; /* what is taken */
};
struct pad_attributes {
    struct cut cut; /* where the elements go; all others have the value */
    double value;
    forge_shape shape;
};
enum { CONV_TRANSPOSED = 1, CONV_SIZED = 2 };
/* Of up to three spatial dimensions; 0 for those that are not there. */
struct conv_attributes {
    uint32_t flags;
    uint32_t groups;
    forge_dtype accumulate;
    uint32_t stride[3], dilation[3], before[3], after[3];
    uint32_t extra[3]; /* transposed: added to the result's size, at its end */
    forge_dim size[3]; /* CONV_SIZED: the result's size, whatever `after` and `extra` would make it */
};
/* By dimension; 0 for those that no window slides along. */
struct windows {
    uint32_t axes;
    uint32_t size[FORGE_MAX_RANK], stride[FORGE_MAX_RANK], dilation[FORGE_MAX_RANK];
    uint32_t before[FORGE_MAX_RANK], after[FORGE_MAX_RANK];
};
struct window_attributes {
    uint32_t kind; /* forge_reduce_kind */
    uint32_t counts_padding;
    struct windows windows;
};
struct unfold_attributes {
    double padding; /* the value of elements that are not there */
    struct windows windows;
    uint32_t zero;
};
struct fold_attributes {
    forge_shape shape;
    struct windows windows;
    uint32_t zero;
};
/* Of x, what its windows are, and what each has to give. */
struct share_attributes {
    struct windows windows;
};
struct random_attributes {
    uint32_t kind; /* forge_random_kind */
    uint32_t stream;
    forge_shape shape;
};
/* Along an axis: one index for each element of the result, with the same rank; else one for each of x's pieces. */
struct gather_attributes {
    uint32_t axis;
    uint32_t is_along;
    uint32_t gives_zero; /* beyond x: 0 instead of NaN */
};
struct scatter_attributes {
    uint32_t kind;
    uint32_t axis;
    uint32_t is_along;
};
struct scan_attributes {
    uint32_t kind; /* forge_reduce_kind */
    uint32_t axis;
    uint32_t flags;
};
/* Outputs: values, and where in x they are, i64. */
struct sort_attributes {
    uint32_t axis;
    uint32_t is_descending;
    forge_shape shape; /* along the axis, how many there are from the first on */
};
struct collective_attributes {
    uint32_t kind; /* forge_collective_kind */
    uint32_t axis; /* gather, scatter */
    uint32_t root; /* to or from one process */
    uint32_t size; /* of the group */
    char group[32];
};
struct composite_attributes {
    char name[32];
    double reals[4]; /* what the body was made for; of the library's own, library.def says what they are */
    uint32_t numbers[4];
    uint32_t wanted; /* of a gradient: bit i, a gradient of the composite's input i is a value */
    uint32_t given;  /* bit k, the gradient of its value k is an input, after the composite's own */
    /* Of graph->bodies; its inputs and outputs are this node's. NULL in launches. The last member: the others are compared
     * as bytes. */
    const forge_graph *body;
};

/* --- tables ------------------------------------------------------------------------------------------------- */

struct node {
    uint8_t op;    /* enum op */
    uint8_t phase; /* forge_phase */
    uint8_t input_count, output_count;
    uint32_t first_input; /* in graph->edges */
    forge_value output;   /* the first; others follow */
    uint32_t scope;       /* in graph->scopes */
    /* Belongs to the way back through this region of forge_recompute_begin, and is one with no equal node outside of it;
     * 0: to none. */
    uint32_t again;
    uint32_t attributes_size;
    const void *attributes; /* in graph->arena */
};

struct value {
    forge_dtype dtype;
    uint32_t node;
    uint32_t place;  /* in graph->places: where it lives, and its node is run */
    uint32_t layout; /* enum value_layout */
    forge_shape shape;
};

/* How a value's elements lie in its buffer. Packed: in order of the dims, without gaps. Others, such as blocks for a matrix
 * unit, belong to passes that choose them for a device; a graph begins without. */
enum value_layout { LAYOUT_PACKED };

/* An input or an output. */
struct port {
    const char *name;
    forge_value value;
};

struct slot {
    const char *name;
    forge_dtype dtype;
    bool in_place;
    bool is_parameter; /* trained: see forge/nn.h */
    forge_value read;  /* NO_VALUE: never read */
    forge_value write; /* NO_VALUE: never written */
    forge_shape shape;
    forge_init init;
};

enum { PLACE_TEXT = FORGE_PLACE_NAME + 3 };

#define GRAPH_ARRAY(type, name, singular)                                                                    \
    type *name;                                                                                              \
    size_t singular##_count, singular##_capacity

struct forge_graph {
    _Atomic uint32_t references; /* a body belongs to every graph that has a node of it */
    struct arena arena;          /* names and attributes */
    GRAPH_ARRAY(struct node, nodes, node);
    GRAPH_ARRAY(struct value, values, value); /* [0] is none */
    GRAPH_ARRAY(forge_value, edges, edge);
    GRAPH_ARRAY(struct port, inputs, input);
    GRAPH_ARRAY(struct port, outputs, output);
    GRAPH_ARRAY(struct slot, slots, slot);
    GRAPH_ARRAY(const char *, scopes, scope); /* [0] is "" */
    GRAPH_ARRAY(const char *, places, place); /* [0] is NULL: wherever it is compiled for */
    bool is_placed; /* operands live where their nodes run: what lives elsewhere is transferred */
    GRAPH_ARRAY(forge_graph *, bodies, body); /* of composites; one reference each */
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

/* Where a node runs, and all its values live. */
static inline uint32_t node_place(const forge_graph *graph, const struct node *node)
{
    return graph->values[node->output].place;
}
/* Where a slot lives: where it is read, or where the value that is written into it lives. */
static inline uint32_t slot_place(const forge_graph *graph, const struct slot *slot)
{
    return graph->values[slot->read ? slot->read : slot->write].place;
}
/* "'gpu0'"; of place 0 words that say what it is. */
const char *place_text(const forge_graph *graph, uint32_t place, char text[PLACE_TEXT]);

/* False: other processes have a part in it. */
static inline bool node_is_local(const struct node *node)
{
    return node->op != OP_COLLECTIVE || ((const struct collective_attributes *)node->attributes)->size == 1;
}

/* One more reference; forge_graph_free gives one back. */
static inline forge_graph *graph_retain(const forge_graph *graph)
{
    forge_graph *shared = (forge_graph *)graph;
    atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    return shared;
}

/* "matmul". */
const char *op_name(enum op op);
/* The kinds' texts: "relu", "add", "sum". */
const char *unary_name(forge_unary_kind kind);
const char *binary_name(forge_binary_kind kind);
const char *reduce_name(forge_reduce_kind kind);
const char *scatter_name(forge_scatter_kind kind);
const char *random_name(forge_random_kind kind);
const char *collective_name(forge_collective_kind kind);

#endif
