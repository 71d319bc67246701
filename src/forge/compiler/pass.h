/* compiler/pass.h - the compiler's passes; each creates a new graph, and pass.c runs them in order.
 *
 * No pass removes dead nodes or common subexpressions, because the builder removes both from every graph.
 *
 * Note: a pass must keep the scope and phase of each node, as builder_copy_node does.
 */
#ifndef FORGE_COMPILER_PASS_H
#define FORGE_COMPILER_PASS_H

#include <forge/compiler.h>
#include "forge/ir/builder.h"

/* The function of a pass, which creates a new graph. The type is the same as forge_pass_fn. The caller frees
 * *out_graph with forge_graph_free. */
typedef joule_status pass_fn(const forge_graph *graph, forge_device *device, void *context,
                             forge_graph **out_graph, joule_error *out_error);

/* Adds the nodes that replace `node` to the builder. map: for each value of `graph`, the value in the
 * builder. On entry, the inputs of `node` are set in `map`. The function sets the outputs of `node` in `map`.
 * Returns false if the builder has failed, or if out of memory. */
typedef bool pass_node_fn(forge_builder *builder, const forge_graph *graph, const struct node *node,
                          forge_value *map, void *context);
/* Creates a new graph by calling node_fn for each node in order. The caller frees *out_graph with
 * forge_graph_free. */
joule_status pass_each_node(const forge_graph *graph, pass_node_fn *node_fn, void *context,
                            forge_graph **out_graph, joule_error *out_error);

/* Copies a caller's options to *out, with 0 for members that the caller's version lacks. options: may be
 * NULL. Returns JOULE_INVALID if struct_size is wrong. */
joule_status compile_options_read(const forge_compile_options *options, forge_compile_options *out,
                                  joule_error *out_error);

/* Returns true if the device has a kernel for a node that is a composite, at the largest and at the smallest
 * sizes. The body is not compared with the library's. */
bool composite_kernel_takes(const forge_graph *graph, const struct node *node, forge_device *device);
/* Like composite_kernel_takes, for a composite of these values that is not in the graph. */
bool composite_kernel_takes_values(const forge_graph *graph, const struct composite_attributes *attributes,
                                   const forge_value *inputs, size_t input_count, const forge_value *outputs,
                                   size_t output_count, forge_device *device);
/* Returns true if the composite's body equals the library's and the device has a kernel for it. */
bool composite_has_kernel(const forge_graph *graph, const struct node *node, forge_device *device);

/* Returns true if `value` may be read where node n is, even if the graph reads it before: no slot that it is
 * read from, possibly through views, gets its new value before node n. The new value may replace the old one
 * in memory. */
bool pass_may_read(const forge_graph *graph, forge_value value, uint32_t n);

/* Returns the body that the library builds for a composite, or for the gradient of a composite, with these
 * attributes and inputs. Returns NULL if the library has no such composite, or if out of memory. The caller
 * frees the body with forge_graph_free. */
forge_graph *composite_body(const struct composite_attributes *attributes, const struct value *const *inputs,
                            size_t count, const struct dim_table *dims);

/* Replaces composites by their bodies, except composites for which the device has a kernel. device NULL:
 * replaces all composites. */
pass_fn pass_expand;
/* Adds transfers, so that each operand is on the place of its node. Marks the graph as placed: builder and
 * verifier then reject nodes with operands on other places. */
pass_fn pass_transfer;
/* Replaces operations that together are an attention by the composite. Runs before pass_precision, so that
 * the attention can be computed in a narrow type. */
pass_fn pass_recognise;
/* Computes products in a narrow type. context: the forge_compile_options, whose member `precision` names this
 * type; NULL means f32. */
pass_fn pass_precision;
/* Replaces nodes whose inputs are all constants by their results. */
pass_fn pass_fold;
/* Writes operations in forms that the next pass can join. */
pass_fn pass_regroup;
/* Joins elementwise operations with each other, with products and with row operations, if the device has
 * kernels for the joined operations. */
pass_fn pass_fuse;
/* Chooses the layout of images between convolutions. */
pass_fn pass_layout;
/* Gives all clusters of convolutions one layout, whether or not it saves time, for tests. context: an enum
 * value_layout. */
pass_fn pass_given_layout;
/* Moves updates of parameters to the earliest possible position after their gradients. */
pass_fn pass_order;

#endif
