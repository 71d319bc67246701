/* compiler/laid_node.h - which nodes can compute images in another layout (ir/layout.h), and how.
 *
 * layout.c chooses the layouts, with the costs of layout_cost.c.
 */
#ifndef FORGE_COMPILER_LAID_NODE_H
#define FORGE_COMPILER_LAID_NODE_H

#include "forge/compiler/pass.h"
#include "forge/ir/fused.h"
#include "forge/ir/layout.h"

/* The role of an operand of a node whose images are in another layout. */
enum laid_role {
    LAID_X,        /* the images that a convolution reads: in this layout, or packed */
    LAID_EACH,     /* images: in this layout */
    LAID_CHANNELS, /* a number for each channel, or for each image and channel: reshaped */
    LAID_SAME,     /* a weight or one number: unchanged */
};

enum laid_kind { LAID_NOT, LAID_CONV, LAID_ELEMENTWISE, LAID_WINDOW, LAID_REDUCE };

/* A node that can have images in another layout. */
struct laid_node {
    enum laid_kind kind;
    uint8_t count; /* number of operands */
    struct laid_operand {
        uint8_t input; /* the node's input */
        uint8_t role;  /* enum laid_role */
    } operands[FUSED_MAX_INPUTS];
    struct fused fused; /* LAID_CONV: the code, whose operands are numbered as above */
};

/* Describes a node; out->kind is LAID_NOT if it needs packed images, or if the device has no kernel for it in
 * this layout. */
void laid_node_of(const forge_graph *graph, const struct node *node, enum value_layout layout,
                  forge_device *device, struct laid_node *out);

/* Returns true if the value is images of f32 whose sizes are numbers, except that of dimension 0. */
bool value_is_images(const struct value *value);

/* Adds the node with images in `layout`. operands: by number. Returns the node's value, which is in `layout`,
 * except that of a reduction, which is in LAYOUT_PACKED. */
forge_value laid_node_emit(forge_builder *builder, const forge_graph *graph, const struct node *node,
                           const struct laid_node *laid, const forge_value *operands,
                           enum value_layout layout);
/* Adds a reorder of images with this number of channels. */
forge_value laid_reorder(forge_builder *builder, forge_value x, enum value_layout from, enum value_layout to,
                         int64_t channels);

/* Returns true if the device computes the node, a convolution of packed images, without packing windows. */
bool laid_is_direct(const forge_graph *graph, const struct node *node, forge_device *device);

/* --- layout_cost.c -------------------------------------------------------------------------------------- */

/* Returns the FLOP rate of one core of the device. It reads files, so the pass calls it once. */
double layout_flop_per_s(forge_device *device);
/* Returns the seconds that a convolution takes less in `layout` than packed; negative: more. is_packed_once:
 * its weight can be packed once, before the first run. */
double layout_gain(const forge_graph *graph, const struct node *node, const struct laid_node *laid,
                   enum value_layout layout, bool is_packed_once, double flop_per_s, forge_device *device);
/* Returns the seconds of a reorder of these images. */
double layout_reorder_seconds(const forge_graph *graph, forge_value images);

#endif
