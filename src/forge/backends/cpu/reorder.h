/* backends/cpu/reorder.h - the composite "reorder", for f32: images in another order (ir/layout.h). */
#ifndef FORGE_CPU_REORDER_H
#define FORGE_CPU_REORDER_H

#include "forge/ir/launch.h"
#include "forge/ir/layout.h"

/* Images in a layout. Distances are in elements. */
struct ordered {
    enum value_layout layout;
    int64_t next_image, next_block, next_channel, next_pixel;
};

/* Sizes of the images and both orders. A block has LAYOUT_LANES channels. */
struct reorder {
    int64_t images, channels, blocks, pixels;
    struct ordered from, to;
};

bool reorder_takes(const struct launch *launch);
/* Describes a launch that reorder_takes accepts. */
struct reorder reorder_of(const struct launch *launch);

enum { REORDER_PIXELS = 256 }; /* pixels of a piece of work */
/* Returns the number of pieces: some pixels of a block of an image. *out_grain: minimum per thread. */
size_t reorder_pieces(const struct launch *launch, size_t *out_grain);

#endif
