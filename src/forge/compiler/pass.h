/* compiler/pass.h - graph in, graph out.
 *
 * Owns the passes; pass.c has the order in which they run. Dead nodes and common subexpressions need no pass of their own: the
 * builder in which each pass makes its graph knows neither. Newcomers: a pass must carry scope and phase of each node
 * (builder_copy_node does).
 */
#ifndef FORGE_COMPILER_PASS_H
#define FORGE_COMPILER_PASS_H

#include <forge/compiler.h>
#include "forge/ir/build.h"

/* A forge_pass_fn. */
typedef joule_status pass_fn(const forge_graph *graph, forge_device *device, void *context,
                             forge_graph **out_graph, joule_error *out_error);

/* Makes the successor of a node whose inputs are mapped, whatever it is, and maps its outputs; false: the builder has
 * failed, or memory is used up. */
typedef bool pass_node_fn(forge_builder *builder, const forge_graph *graph, const struct node *node,
                          forge_value *map, void *context);
/* The successor of a graph, node by node. */
joule_status pass_each_node(const forge_graph *graph, pass_node_fn *node_fn, void *context,
                            forge_graph **out_graph, joule_error *out_error);

/* Whether this composite is the library's own, as its body shows, and the device has a kernel for it. */
bool pass_keeps_composite(const forge_graph *graph, const struct node *node, forge_device *device);

/* The body of the library's composite with these attributes on such inputs, gradients included; NULL: there is none. The caller
 * frees it. */
forge_graph *composite_body(const struct composite_attributes *attributes, const struct value *const *inputs,
                            size_t count, const struct dim_table *dims);

/* Writes composites out, but for those that the device has a kernel for, until no others are left. device NULL: all. */
pass_fn pass_expand;
/* Brings operands to where their nodes run. From then on a graph is placed, and its builder and the verifier refuse operands
 * that live elsewhere. */
pass_fn pass_transfer;
/* Computes what depends on constants alone. */
pass_fn pass_fold;
/* Moves updates of slots to where their gradients are there. */
pass_fn pass_order;

#endif
