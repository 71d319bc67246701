/* ir/builder.h - the builder of graphs; <forge/graph.h> is its public interface, and passes use it directly.
 *
 * Note: if an equal node exists, builder_emit returns the outputs of the existing node, whose scope and phase
 * do not change. So graphs have no common subexpressions. Nodes with different places or recompute regions
 * are not equal.
 */
#ifndef FORGE_IR_BUILDER_H
#define FORGE_IR_BUILDER_H

#include "base/index.h"
#include "forge/ir/graph.h"

/* A recompute region: the nodes that are added between forge_recompute_begin and forge_recompute_end. */
struct region {
    uint32_t first, end; /* nodes [first, end); end is UINT32_MAX until forge_recompute_end */
};

/* Returns the body of the gradient of a composite of the library, or NULL. The caller frees it with
 * forge_graph_free. */
typedef forge_graph *builder_gradient_fn(const struct composite_attributes *attributes,
                                         const struct value *const *in, size_t count,
                                         const struct dim_table *dims);

/* A graph under construction, with the scope, place and phase for new nodes. */
struct forge_builder {
    forge_graph *graph;
    bool has_failed;
    joule_error error;
    uint32_t scope;
    uint32_t place;
    forge_phase phase;
    uint32_t recompute_region; /* see struct node */
    GRAPH_ARRAY(struct region, regions, region);
    uint32_t *interned; /* hash table of all nodes, open addressing: node index + 1, or 0 if free */
    size_t interned_size;
    struct index scope_index, slot_index, input_index, output_index, body_index;
    GRAPH_ARRAY(forge_slot, parameters, parameter); /* trained parameters, ascending */
    const forge_dim *sizes; /* not NULL while a graph is copied with other sizes: the replacement of each
                             * entry of the source's dim table */
    builder_gradient_fn *gradient; /* for gradients in a body that the library builds; see library_body */
};

/* Returns a new builder with a copy of the dim table `dims` (NULL: an empty table), or NULL if out of memory.
 * Free with forge_builder_free. */
forge_builder *builder_new(const struct dim_table *dims);

/* Returns the first output of an equal existing node, or of a new node if there is none. attributes: `size`
 * bytes, which the builder copies: op_attributes_size(op) bytes, for constants followed by the elements.
 * inputs: [count], values of this builder. If the node is invalid, or out of memory, fails the builder and
 * returns FORGE_NO_VALUE. */
forge_value builder_emit(forge_builder *builder, enum op op, const void *attributes, size_t size,
                         const forge_value *inputs, size_t count);

/* Fails the builder: records the error for forge_builder_finish; builder functions then do nothing. Only the
 * first error is recorded. `builder` may be NULL. Returns FORGE_NO_VALUE. */
forge_value builder_fail(forge_builder *builder, joule_status status, const char *message);
/* Returns false if `builder` is NULL or has failed. */
bool builder_is_ok(const forge_builder *builder);

/* Copies a caller's options from `given` to `ours` with abi_read (base/abi.h). first_size: the type's size in
 * the first release. what, type: names of the function and of the options' type, for messages. Returns false
 * if the builder has failed, for example because struct_size is invalid. */
bool builder_take_options(forge_builder *builder, const char *what, const char *type, void *ours,
                          size_t our_size, size_t first_size, const void *given);

/* Adds a composite node with these attributes, except for their member `body`, which the function `body`
 * builds. inputs: [count]. out_values: [value_count], gets FORGE_NO_VALUE if the builder has failed. Unlike
 * forge_composite_many, which calls builder_add_composite, it accepts the attributes of the library's
 * composites. */
void builder_add_composite(forge_builder *builder, const struct composite_attributes *attributes,
                           const forge_value *inputs, size_t count, forge_bodies_fn body, const void *context,
                           forge_value *out_values, size_t value_count);
/* Makes the builder's graph the owner of a new body, even on failure. The graph's dim table becomes a copy of
 * the body's dim table, which must begin with the same entries. If out of memory, fails the builder and
 * returns false. */
bool builder_adopt_body(forge_builder *builder, forge_graph *body);

/* Returns a copy of the shape with dims 0 from the rank on, because attributes are compared as bytes. */
forge_shape builder_clean_shape(forge_shape shape);
/* Returns a copy of the name that lives as long as the graph. If out of memory, fails the builder and returns
 * NULL. */
const char *builder_copy_name(forge_builder *builder, const char *name);
/* Marks the slot as a trained parameter. If out of memory, fails the builder and returns false. */
bool builder_mark_parameter(forge_builder *builder, forge_slot slot);
/* Return the input or the output with this name, or FORGE_NO_VALUE. */
forge_value builder_find_input(const forge_builder *builder, const char *name);
forge_value builder_find_output(const forge_builder *builder, const char *name);
/* Returns the slot with this name, or INDEX_NONE. */
uint32_t builder_find_slot(const forge_builder *builder, const char *name);
#define BUILDER_MAX_SCOPE 511 /* maximum bytes of a scope's path */
/* Returns the number of the scope with this full path; adds the scope if it is new. If out of memory, fails
 * the builder and returns 0. */
uint32_t builder_add_scope(forge_builder *builder, const char *path);
/* Returns the number of the place; adds the place if it is new. Returns 0 for NULL. If the name is invalid or
 * out of memory, fails the builder and returns 0. */
uint32_t builder_add_place(forge_builder *builder, const char *name);

/* Returns the type in which elements of this type are summed: f32 for f16 and bf16, otherwise the type
 * itself. */
forge_dtype builder_accumulator(forge_dtype dtype);
/* Returns true if the node sums in the type that builder_accumulator returns for its result, or sums
 * nothing. A composite never says in which type it sums, so only such a node can become a part of one. */
static inline bool node_has_usual_sums(const forge_graph *graph, const struct node *node)
{
    const struct matmul_attributes *matmul = node->attributes;
    const struct conv_attributes *conv = node->attributes;
    const struct reduce_attributes *reduce = node->attributes;
    forge_dtype usual = builder_accumulator(graph->values[node->output].dtype);
    switch (node->op) {
    case OP_MATMUL:
        return matmul->accumulate == usual;
    case OP_CONV:
        return conv->accumulate == usual;
    case OP_REDUCE:
        return reduce->accumulate == usual;
    default:
        return true;
    }
}

/* --- for passes ----------------------------------------------------------------------------------------- */

/* Begins a copy of `graph`: adds its inputs and slots. The builder must have the dim table of `graph`, or
 * builder->sizes must translate the sizes of `graph` to the builder's table. map: [graph->value_count], gets
 * the copies of the inputs, and FORGE_NO_VALUE for all other values. Returns false if the builder has
 * failed. */
bool builder_begin_copy(forge_builder *builder, const forge_graph *graph, forge_value *map);
/* Gives all nodes that are added later the scope, place, phase and recompute region of `node`. */
void builder_set_provenance(forge_builder *builder, const forge_graph *graph, const struct node *node);
/* Copies a node of `graph` with its scope, place, phase and recompute region. The node's inputs must already
 * be in `map`; its outputs are added to `map`. Returns false if the builder has failed. */
bool builder_copy_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                       forge_value *map);
/* Like builder_copy_node, but the copy gets the builder's scope, place and phase. The copy also gets the
 * builder's recompute region; if that is 0, it gets the node's recompute region. */
bool builder_copy_values(forge_builder *builder, const forge_graph *graph, const struct node *node,
                         forge_value *map);
/* Returns a copy of the body with its sizes replaced by builder->sizes, or NULL if the builder has failed.
 * The builder's graph owns the result. */
const forge_graph *builder_bind_body(forge_builder *builder, const forge_graph *body);
/* Adds a reference to this body to the builder's graph, unless it already has one. Returns false if out of
 * memory, without failing the builder. */
bool builder_share_body(forge_builder *builder, const forge_graph *body);
/* Adds the outputs and slot writes of `graph`; `map` translates their values. */
void builder_end_copy(forge_builder *builder, const forge_graph *graph, const forge_value *map);
/* Copies the nodes of a body into the builder. inputs: [body->input_count], replace the body's inputs. map:
 * [body->value_count], gets the copy of each value. Returns false if the builder has failed. */
bool builder_inline(forge_builder *builder, const forge_graph *body, const forge_value *inputs,
                    forge_value *map);

/* Returns JOULE_OK if the graph satisfies all invariants: node order, ids, numbers of inputs and outputs,
 * attributes, types, shapes and places. Otherwise returns JOULE_FAILED; the message names the node, input,
 * output or slot. */
joule_status graph_verify(const forge_graph *graph, joule_error *out_error);

#endif
