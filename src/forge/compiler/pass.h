/* compiler/pass.h - the passes, which transform graphs; pass.c runs them in order.
 *
 * No pass removes dead nodes or common subexpressions, because the builder never keeps either.
 *
 * Note: a pass must keep the scope and phase of each node, as builder_copy_node does.
 */
#ifndef FORGE_COMPILER_PASS_H
#define FORGE_COMPILER_PASS_H

#include <forge/compiler.h>
#include "forge/ir/builder.h"

/* A forge_pass_fn. Writes a new graph to *out_graph, which the caller frees. */
typedef joule_status pass_fn(const forge_graph *graph, forge_device *device, void *context,
                             forge_graph **out_graph, joule_error *out_error);

/* Adds the node that replaces `node`, whose inputs are already mapped, and maps its outputs. Returns false if
 * the builder has failed, or if out of memory. */
typedef bool pass_node_fn(forge_builder *builder, const forge_graph *graph, const struct node *node,
                          forge_value *map, void *context);
/* Builds a new graph by calling node_fn for each node in order. The caller frees *out_graph. */
joule_status pass_each_node(const forge_graph *graph, pass_node_fn *node_fn, void *context,
                            forge_graph **out_graph, joule_error *out_error);

/* Returns true if the composite's body equals the library's and the device has a kernel for it. */
bool composite_has_kernel(const forge_graph *graph, const struct node *node, forge_device *device);

/* Returns the library's body for these attributes and inputs, also for gradients. Returns NULL if the library
 * has none, or on failure. The caller frees the body. */
forge_graph *composite_body(const struct composite_attributes *attributes, const struct value *const *inputs,
                            size_t count, const struct dim_table *dims);

/* Replaces composites by their bodies, except for composites for which the device has a kernel. device NULL:
 * all composites. */
pass_fn pass_expand;
/* Adds transfers, so that operands are stored where their nodes run. Marks the graph as placed. After that,
 * builder and verifier reject operands that are stored elsewhere. */
pass_fn pass_transfer;
/* Computes nodes whose inputs are all constants. */
pass_fn pass_fold;
/* Moves updates of slots to the earliest position after their gradients. */
pass_fn pass_order;

#endif
