/* ir/layout.h - the layouts of images (enum value_layout): their shapes, and the operations between them.
 *
 * An image in another layout than LAYOUT_PACKED is a row-major array of another shape. So the memory plan,
 * views and kernels of elementwise operations need no rule for layouts. The composites `reorder` and
 * `layout_conv` change layouts; infer_layout.c states which operations keep them.
 */
#ifndef FORGE_IR_LAYOUT_H
#define FORGE_IR_LAYOUT_H

#include "forge/ir/builder.h"

/* Returns the name, for example "blocks"; static storage. */
const char *layout_name(enum value_layout layout);
/* Returns the shape of images in this layout. images: [n, channels, rows, columns]. */
forge_shape layout_shape(enum value_layout layout, const forge_shape *images);
/* Returns the number of blocks for a number of channels. */
static inline int64_t layout_blocks(int64_t channels)
{
    return (channels + LAYOUT_LANES - 1) / LAYOUT_LANES;
}

/* Adds operations that change images from LAYOUT_PACKED to `layout`. Lanes without a channel become 0. */
forge_value layout_apply(forge_builder *builder, forge_value images, enum value_layout layout);
/* Adds operations that change images of `channels` channels from `layout` to LAYOUT_PACKED. */
forge_value layout_undo(forge_builder *builder, forge_value x, enum value_layout layout, int64_t channels);

struct inference;
/* Sets the layouts of the outputs of an inference whose shapes are known. Returns false, with a message, if
 * the operation does not support the layouts of its inputs. */

bool infer_layouts(struct inference *inference);

#endif
