/* backends/cpu/direct.h - convolutions that read each pixel in place, without packing of windows: the
 * composite "layout_conv", and convolutions of packed images that are large enough.
 *
 * A tile of sums has some neighbouring pixels of a row of the result, and one panel of output channels. For
 * each input channel and tap it multiplies one number of each pixel with a vector of weights. In
 * LAYOUT_BLOCKS these numbers are 64 bytes apart, so the pixels of a tile are neighbouring cache lines, and
 * the sums are whole vectors of the result. If the convolution has padding or a stride, the rows of x that a
 * piece of work needs are first copied to scratch memory, with zeros as padding, and split into phases
 * (window.h), so that neighbouring pixels of the result read neighbouring pixels of the copy.
 *
 * A sum is one chain of multiply-adds, in the order of blocks of 16 input channels, taps, and channels of the
 * block, for all instruction sets. The order does not depend on the layout of x or on the division of work.
 * The steps after the convolution (ir/fused.h) run on the sums while they are in registers.
 *
 * The weights are packed in the order in which tiles read them: [panel, block, tap, channel, width], where
 * `width` is the number of output channels of a panel. They are packed once if the instance has a repacked
 * copy; otherwise in the first round of each launch. */
#ifndef FORGE_CPU_DIRECT_H
#define FORGE_CPU_DIRECT_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/fused.h"
#include "forge/ir/launch.h"
#include "forge/ir/layout.h"

enum {
    DIRECT_TAPS = 256,                 /* maximum number of taps */
    DIRECT_COPY_BYTES = 5 << 19,       /* maximum size of the copied rows of x */
    DIRECT_SPARE_BYTES = 1 << 14,      /* scratch memory for a tile in unary steps, and for the side */
    DIRECT_TILE_ROWS = GEMM_TILE_ROWS, /* maximum number of pixels in a tile */
    DIRECT_STEPS = 2 * FUSED_MAX_STEPS,
};

/* A step on the sums of a tile, or on a second value, the side. For example, the scaled result of another
 * convolution is a side that is added to the sums. */
struct direct_step {
    enum direct_kind { DIRECT_ADD, DIRECT_MULTIPLY, DIRECT_UNARY, DIRECT_LOAD } kind;
    bool is_on_side; /* the step changes the side; DIRECT_LOAD begins it */
    uint8_t unary;   /* forge_unary_kind */
    uint8_t operand; /* the launch's input that is added, multiplied or loaded */
    /* DIRECT_EACH: the operand has the shape of the result; DIRECT_CHANNELS: one number for each channel, or
     * for each image and channel; DIRECT_ONE: one number; DIRECT_SIDE: the operand is the side */
    enum direct_extent { DIRECT_EACH, DIRECT_CHANNELS, DIRECT_ONE, DIRECT_SIDE } extent;
    int64_t next_image; /* DIRECT_CHANNELS: distance between images, in elements; 0: all have the same */
};

/* A convolution, and where its operands are. Distances are in elements. */
struct direct {
    int64_t images, groups, in, out; /* in, out: channels of a group */
    int64_t lanes;                   /* `out` rounded up to whole blocks */
    int64_t in_blocks;               /* blocks of a group; the last may have fewer channels */
    int64_t x_rows, x_columns;       /* sizes of x */
    int64_t rows, columns, places;   /* sizes of the result; places: pixels of the result */
    int64_t taps[2], stride[2], dilation[2], before[2];
    enum value_layout from, to;
    uint8_t x_input, weight_input; /* numbers of these inputs of the launch */
    bool is_copied;                /* rows of x are copied to scratch memory */
    /* x, or the copy of its rows: distances between pixels (16 or 1), channels, blocks, and the rows that two
     * neighbouring rows of the result read */
    int64_t next_pixel, next_channel, next_block, next_row;
    int64_t copy_row, copy_phase, phases; /* the copy: distances between its rows and phases */
    int64_t offsets[DIRECT_TAPS];         /* of each tap from the first */
    /* the result: distances between pixels, channels, blocks of 16 channels, and images */
    int64_t result_pixel, result_channel, result_block, result_image;
    /* distances between the weights of output and of input channels */
    int64_t weight_out, weight_in;
    bool is_flipped; /* the taps of the weight are in reverse order, because the convolution is transposed */
    size_t step_count;
    struct direct_step steps[DIRECT_STEPS];
};

/* One tile: sums of `rows` pixels and a panel of channels. */
struct direct_tile {
    const struct direct *direct;
    const float *x, *weights;
    float *out;
    size_t lanes;                        /* number of channels that are stored */
    const float *operands[DIRECT_STEPS]; /* by step: address for the first pixel and channel of the tile */
    float *spare, *side;                 /* scratch: [rows, width] */
};

/* The code for one instruction set. */
struct direct_code {
    size_t rows, width; /* maximum number of pixels, and number of channels, of a tile */
    /* tiles[0][i]: i + 1 pixels that are 16 elements apart; tiles[1][i]: that are neighbours */
    void (*tiles[2][DIRECT_TILE_ROWS])(const struct direct_tile *tile);
    /* Packs one panel of weights. weight: the first output channel of the panel; channels: number of output
     * channels in the panel. */
    void (*pack)(const struct direct *direct, const float *weight, size_t channels, float *out);
    /* Copies every second element, `count` in all: to[i] = from[2 * i]. */
    void (*copy_second)(const float *from, size_t count, float *to);
};

/* Return true if the kernel supports the launch: of a layout_conv, of a convolution of packed images, or of
 * such a convolution with steps after it (fused_conv). */
bool direct_takes(const struct launch *launch);
bool direct_takes_conv(const struct launch *launch);
bool direct_takes_fused(const struct launch *launch);
/* Describes a launch that is supported. */
void direct_of(const struct launch *launch, struct direct *out);

/* Returns the number of pieces of a round; *out_grain: the minimum number of pieces per thread. A piece of
 * the first round packs one panel of weights; there is none if the weights are repacked. */
size_t direct_panels(const struct direct_code *code, const struct launch *launch, size_t *out_grain);
size_t direct_pieces(const struct direct_code *code, const struct launch *launch, size_t *out_grain);
/* Returns the size of the packed weights. */
size_t direct_bytes(const struct direct_code *code, const struct launch *launch);
/* Returns the repacked copy of the weights; NULL: they are packed in the first round. */
const void *direct_repacked(const struct launch *launch);
/* Returns the size of a repacked copy of the weights; 0: they are packed in each launch, because their panels
 * depend on more than the weights. */
size_t direct_repacked_bytes(const struct direct_code *code, const struct launch *launch);
/* Packs panels [first, end) of the weights into `packed`. */
void direct_pack(const struct direct_code *code, const struct launch *launch, size_t first, size_t end,
                 float *packed);
/* Packs the panels that belong to pieces [first, end) of the second round. */
void direct_repack(const struct direct_code *code, const struct launch *launch, size_t first, size_t end,
                   float *packed);
/* Computes pieces [first, end). packed: the packed weights. */
void direct_run(const struct direct_code *code, const struct launch *launch, size_t first, size_t end,
                const float *packed, void *scratch);

/* --- the parts of direct.c ------------------------------------------------------------------------------ */

/* direct_steps.c: reads the code of a layout_conv or a fused_conv, and sets the layouts and the steps.
 * Returns false if the code needs other steps than the kernel can compute. */
bool direct_read(const struct launch *launch, struct fused *out_fused, struct direct *out);
/* Returns the channels of the result, counting all lanes. */
static inline int64_t direct_lanes(const struct view *out, enum value_layout layout)
{
    return out->shape.dims[layout == LAYOUT_LAST ? 3 : 1] * (layout == LAYOUT_BLOCKS ? LAYOUT_LANES : 1);
}

/* direct_copy.c: returns the number of rows of the copy for `rows` rows of the result. */
int64_t direct_copy_rows(const struct direct *direct, int64_t rows);
/* Returns the address of row `row` of plane `plane` of a group of an image. A plane is a channel in
 * LAYOUT_PACKED, else a block. */
const float *direct_row(const struct direct *direct, const float *x, int64_t image, int64_t group,
                        int64_t plane, int64_t row);
/* Copies the rows of x that rows `row` to row + rows - 1 of the result read, with padding. */
void direct_copy_band(const struct direct_code *code, const struct direct *direct, const float *x,
                      int64_t image, int64_t group, int64_t row, int64_t rows, float *to);

#endif
