/* ir/build.h - making graphs.
 *
 * Owns the builder: a graph that still grows, the table that makes equal nodes one, and the first error. The functions of
 * <forge/graph.h> end in builder_emit, and so do passes, which make their new graph here.
 * Newcomers: a node that is there already is given again, with its old scope and phase; common subexpressions never arise,
 * but where they are wanted: nodes that are marked with `again` are one only with those of the same mark.
 */
#ifndef FORGE_IR_BUILD_H
#define FORGE_IR_BUILD_H

#include "base/index.h"
#include "forge/ir/graph.h"

/* Nodes made between forge_recompute_begin and forge_recompute_end. */
struct region {
    uint32_t first, end; /* UINT32_MAX: open */
};

struct forge_builder {
    forge_graph *graph;
    bool has_failed;
    joule_error error;
    uint32_t scope;
    uint32_t place;
    forge_phase phase;
    uint32_t again; /* see struct node */
    GRAPH_ARRAY(struct region, regions, region);
    uint32_t *interned; /* open addressing: indices of nodes + 1 */
    size_t interned_size;
    struct index scope_index, slot_index, input_index, output_index, body_index;
    GRAPH_ARRAY(forge_slot, parameters, parameter); /* in order */
    const forge_dim *sizes; /* what each expression of a graph that is copied is here; NULL: the same */
};

/* A builder whose symbols are those of `dims` (NULL: none), so that sizes mean the same in both. */
forge_builder *builder_new(const struct dim_table *dims);

/* The node's first output: found, or made. `attributes` is op_attributes_size(op) bytes (`size` for constants), copied. */
forge_value builder_emit(forge_builder *builder, enum op op, const void *attributes, size_t size,
                         const forge_value *inputs, size_t count);

/* Keeps the error and gives NO_VALUE. */
forge_value builder_refuse(forge_builder *builder, joule_status status, const char *message);
/* False once something has failed, and for NULL. */
bool builder_goes_on(const forge_builder *builder);

/* A caller's options as `ours` (base/abi.h). False: the builder has failed, and says of `what` how to set struct_size. */
bool builder_take_options(forge_builder *builder, const char *what, const char *type, void *ours,
                          size_t our_size, size_t first_size, const void *given);

/* A node with these attributes but for the body, which is made by the function: forge_composite_many for the library. */
void builder_composite(forge_builder *builder, const struct composite_attributes *attributes,
                       const forge_value *inputs, size_t count, forge_bodies_fn body, const void *context,
                       forge_value *out_values, size_t value_count);
/* The builder's graph owns this new body and knows its symbols from now on. False: the builder has failed, and the body is
 * gone. */
bool builder_adopt_body(forge_builder *builder, forge_graph *body);

/* A caller's shape with nothing beyond its rank. */
forge_shape builder_clean(forge_shape shape);
/* A name that lives as long as the graph; NULL when memory is used up, which the builder has kept. */
const char *builder_name(forge_builder *builder, const char *name);
/* The slot is trained; false when memory is used up, which the builder has kept. */
bool builder_mark_parameter(forge_builder *builder, forge_slot slot);
/* What has this name; FORGE_NO_VALUE: nothing. */
forge_value builder_find_input(const forge_builder *builder, const char *name);
forge_value builder_find_output(const forge_builder *builder, const char *name);
/* INDEX_NONE: there is no such slot. */
uint32_t builder_find_slot(const forge_builder *builder, const char *name);
/* The number of a scope's whole path. */
uint32_t builder_scope(forge_builder *builder, const char *path);
/* The number of a place; NULL: 0. */
uint32_t builder_place(forge_builder *builder, const char *name);

/* What sums of this type are kept in. */
forge_dtype builder_accumulator(forge_dtype dtype);

/* --- for passes --------------------------------------------------------------------------------------------- */

/* Begins the successor of `graph`: same symbols, inputs and slots, and no other nodes. map has graph->value_count entries:
 * where each value of the old graph went. */
bool builder_begin_like(forge_builder *builder, const forge_graph *graph, forge_value *map);
/* Nodes made from now on have this node's scope, place, phase and mark. */
void builder_stand_at(forge_builder *builder, const forge_graph *graph, const struct node *node);
/* Makes the successor of a node whose inputs are mapped, with its provenance, and maps its outputs. */
bool builder_copy_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                       forge_value *map);
/* The same without provenance: in the scope, place and phase of the builder, and with its mark if it has one. */
bool builder_copy_values(forge_builder *builder, const forge_graph *graph, const struct node *node,
                         forge_value *map);
/* The body of a composite that is copied, with the builder's sizes; NULL: the builder has failed. */
const forge_graph *builder_bind_body(forge_builder *builder, const forge_graph *body);
/* The builder's graph owns this body of composites, too. */
bool builder_share_body(forge_builder *builder, const forge_graph *body);
/* Outputs and writes of `graph`, by the map. */
void builder_end_like(forge_builder *builder, const forge_graph *graph, const forge_value *map);
/* Writes a body's nodes out in place of a node with these inputs. map has body->value_count entries: where each of its
 * values went. */
bool builder_inline(forge_builder *builder, const forge_graph *body, const forge_value *inputs,
                    forge_value *map);

/* Checks everything that a graph promises: order, ids, arity, inference, names. For tests, parsers and between passes. */
joule_status graph_verify(const forge_graph *graph, joule_error *out_error);

#endif
