/* ir/builder.h - the builder of graphs, used by <forge/graph.h> and by passes.
 *
 * Note: builder_emit returns an existing equal node, with its old scope and phase, so graphs have no common
 * subexpressions. Nodes with different recompute_region are not equal.
 */
#ifndef FORGE_IR_BUILDER_H
#define FORGE_IR_BUILDER_H

#include "base/index.h"
#include "forge/ir/graph.h"

/* A recompute region: the nodes made between forge_recompute_begin and forge_recompute_end. */
struct region {
    uint32_t first, end; /* nodes [first, end); UINT32_MAX: still open */
};

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
    uint32_t *interned; /* hash table with open addressing: node index + 1, 0: free */
    size_t interned_size;
    struct index scope_index, slot_index, input_index, output_index, body_index;
    GRAPH_ARRAY(forge_slot, parameters, parameter); /* sorted by slot */
    const forge_dim *sizes; /* while a graph is copied: what replaces each entry of its dim table; NULL:
                             * nothing is replaced */
};

/* Returns a new builder with a copy of the symbols of `dims` (NULL: none), or NULL if out of memory. Free
 * with forge_builder_free. */
forge_builder *builder_new(const struct dim_table *dims);

/* Returns the first output of an equal existing node, or of a new one. Returns FORGE_NO_VALUE if the builder
 * has failed. attributes: op_attributes_size(op) bytes, for constants `size` bytes; the builder copies
 * them. */
forge_value builder_emit(forge_builder *builder, enum op op, const void *attributes, size_t size,
                         const forge_value *inputs, size_t count);

/* Fails the builder with this error, unless it has already failed. Returns FORGE_NO_VALUE. */
forge_value builder_fail(forge_builder *builder, joule_status status, const char *message);
/* Returns false if `builder` is NULL or has failed. */
bool builder_is_ok(const forge_builder *builder);

/* Copies a caller's options into `ours` (base/abi.h). Returns false if the builder has failed; the message
 * names `what` and says how to set struct_size. */
bool builder_take_options(forge_builder *builder, const char *what, const char *type, void *ours,
                          size_t our_size, size_t first_size, const void *given);

/* Adds a composite node with these attributes; `body` builds the member attributes->body. Unlike
 * forge_composite_many, which calls it, it accepts the library's attributes. out_values: [value_count]. */
void builder_add_composite(forge_builder *builder, const struct composite_attributes *attributes,
                           const forge_value *inputs, size_t count, forge_bodies_fn body, const void *context,
                           forge_value *out_values, size_t value_count);
/* Gives ownership of a new body to the builder's graph, and adds the body's symbols to the graph's. If it
 * fails, it frees the body and returns false. */
bool builder_adopt_body(forge_builder *builder, forge_graph *body);

/* Returns the shape with zeros beyond its rank. */
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
/* Returns the number of the scope with this full path; adds it if it is new. */
uint32_t builder_add_scope(forge_builder *builder, const char *path);
/* Returns the number of the place; adds the place if it is new. Returns 0 for NULL. */
uint32_t builder_add_place(forge_builder *builder, const char *name);

/* Returns the type in which elements of this type are summed. */
forge_dtype builder_accumulator(forge_dtype dtype);

/* --- for passes ----------------------------------------------------------------------------------------- */

/* Begins a copy of `graph` with its symbols, inputs and slots, and no other nodes. map: [graph->value_count],
 * from values of `graph` to values of the copy. Returns false if the builder has failed. */
bool builder_begin_copy(forge_builder *builder, const forge_graph *graph, forge_value *map);
/* Gives all nodes that are made from now on the scope, place, phase and recompute region of `node`. */
void builder_set_provenance(forge_builder *builder, const forge_graph *graph, const struct node *node);
/* Copies a node whose inputs are mapped, with its provenance, and maps its outputs. Returns false if the
 * builder has failed. */
bool builder_copy_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                       forge_value *map);
/* Copies a node as builder_copy_node does, but without provenance: the copy gets the scope, place and phase
 * of the builder, and the builder's recompute region if it has one. */
bool builder_copy_values(forge_builder *builder, const forge_graph *graph, const struct node *node,
                         forge_value *map);
/* Returns the body with the builder's sizes, or NULL if the builder has failed. The builder's graph owns the
 * result. */
const forge_graph *builder_bind_body(forge_builder *builder, const forge_graph *body);
/* Adds a reference to this body to the builder's graph. Returns false if the builder has failed. */
bool builder_share_body(forge_builder *builder, const forge_graph *body);
/* Adds the outputs and writes of `graph`, mapped. */
void builder_end_copy(forge_builder *builder, const forge_graph *graph, const forge_value *map);
/* Copies the nodes of a body; `inputs` replace the body's inputs. map: [body->value_count], from values of
 * the body to values of the graph. Returns false if the builder has failed. */
bool builder_inline(forge_builder *builder, const forge_graph *body, const forge_value *inputs,
                    forge_value *map);

/* Checks all invariants of a graph: order, ids, arity, shapes and types, names. Used by tests, parsers and
 * between passes. */
joule_status graph_verify(const forge_graph *graph, joule_error *out_error);

#endif
