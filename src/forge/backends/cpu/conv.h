/* backends/cpu/conv.h - convolutions as matrix products (gemm.h).
 *
 * Each group of channels is one product: rows are output channels, columns are output positions of all
 * images, and k counts input channels and taps. A tap is one element of the kernel's window. This file finds
 * where each panel of columns reads x; isa/conv.inc reads it. A transposed convolution is the same product
 * with another map from outputs and taps to inputs (reference/reference_slide.h). With a stride it becomes
 * several products (conv_phase.c). The gradient of a weight is a product whose kernel is wider than its
 * output.
 */
#ifndef FORGE_CPU_CONV_H
#define FORGE_CPU_CONV_H

#include "forge/backends/cpu/gemm.h"
#include "forge/reference/reference_conv.h"

/* A read of elements of one line of x into lanes of a vector: each set bit of `which` takes the next element;
 * other lanes become 0. */
struct conv_read {
    int64_t from;   /* offset of the first element; for plain reads, of the element for bit 0, set or not */
    uint32_t which; /* one bit per lane, up to 32 */
};

/* A part of a transposed convolution: the outputs that are a stride apart along each dimension. They all use
 * the same taps, so they form a transposed convolution of stride 1 over these taps. */
struct conv_phase {
    struct conv conv;
    size_t depth;                                 /* input channels of a group, times taps of the phase */
    int64_t weight;                               /* offset of its first weight, in elements */
    int64_t from, next_channel, steps[CONV_AXES]; /* offset and strides of its outputs, in elements */
};

/* Returns the number of phases, which is 1 unless the convolution is transposed and has a stride. */
size_t conv_phases(const struct conv *c);
struct conv_phase conv_phase_of(const struct conv *c, size_t phase);

/* All images of one group: the `data` of a gemm_side for the packing functions. */
struct conv_images {
    const struct conv *conv; /* &phase->conv */
    const struct conv_phase *phase;
    const void *x, *weight;             /* addresses for the first channel of the group */
    int64_t weight_row, weight_channel; /* strides between output channels and between input channels */
    size_t weight_run;                  /* how many consecutive k have weights at a constant step */
    int64_t weight_step;                /* that step, in elements */
    struct conv_read *reads;            /* room for the reads of a panel: CONV_READS */
};
enum { CONV_READS = GEMM_TILE_COLUMNS * GEMM_DEPTH_BLOCK };

/* Functions that pack the sides of the product, for one element type and instruction set. */
typedef void conv_pack_fn(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                          size_t width, void *out);
struct conv_code {
    const struct gemm_code *gemm;
    conv_pack_fn *weights;     /* rows: output channels */
    conv_pack_fn *places;      /* columns: output positions, image after image */
    conv_pack_fn *wide_places; /* the same, for kernels that are wider than the output */
};

/* Return true if the kernel of this type supports the launch. */
bool conv_takes_f32(const struct launch *launch);
bool conv_takes_f64(const struct launch *launch);
/* Returns the number of pieces. A piece is a block of one group's product; it computes its part of every
 * phase. *out_grain: minimum number of pieces per thread. */
size_t conv_pieces(const struct launch *launch, size_t *out_grain);
/* Computes pieces [first, end). scratch: KERNEL_SCRATCH_BYTES for this thread alone (kernel.h). */
void conv_run(const struct conv_code *code, const struct launch *launch, size_t first, size_t end,
              void *scratch);

/* --- input offsets -------------------------------------------------------------------------------------- */

/* The meaning of an index k: an input channel of the group, and a tap. */
struct conv_depth {
    int64_t channel, tap[CONV_AXES];
};
struct conv_depth conv_depth_of(const struct conv *c, size_t k);
/* Advances by `count` taps, which must not go beyond the start of the next line. */
void conv_depth_add(const struct conv *c, struct conv_depth *depth, int64_t count);

/* Returns the offset of the weight for index k, in elements. *out_count: how many weights from there on have
 * a constant step, at most k_count. */
int64_t conv_weights_at(const struct conv_images *images, size_t k, size_t k_count, size_t *out_count);

/* How to read a panel of output positions. The positions of one vector may be in several lines of the
 * output. */
struct conv_panel {
    size_t vectors;                /* vectors per group */
    size_t each;                   /* reads per vector; unused reads have no bit set */
    size_t groups;                 /* group i + groups has the same reads as group i, in the next channel */
    const struct conv_read *reads; /* [groups, vectors, each] */
    bool is_plain;                 /* neighbouring positions read neighbouring elements */
    int64_t step;                  /* distance between the elements of a read */
};
struct conv_panel conv_panel_of(const struct conv_images *images, size_t line, size_t lines, size_t k,
                                size_t k_count, size_t width, size_t lanes);

/* Returns a mask of `count` bits: bit i is set if 0 <= at + i step < size. */
static inline uint32_t conv_which(int64_t at, int64_t step, int64_t size, size_t count)
{
    int64_t first = at < 0 ? slide_quotient_up(-at, step) : 0, end = slide_quotient_up(size - at, step);
    int64_t most = (int64_t)count;
    first = first < most ? first : most;
    end = end < most ? end : most;
    end = end > first ? end : first; /* no branches: this runs for many vectors */
    return (uint32_t)((UINT64_C(1) << end) - (UINT64_C(1) << first));
}

/* Input offsets of neighbouring columns, one by one. */
enum { CONV_COLUMNS = 16 };
struct conv_columns {
    size_t count;
    int64_t from[CONV_COLUMNS]; /* offset read through the first tap; may be outside of the image */
    int64_t first[CONV_AXES][CONV_COLUMNS]; /* the index in each dimension of that element */
    bool are_inside;                        /* no column reads padding through any tap */
};
void conv_columns_of(const struct conv *c, size_t line, size_t lines, struct conv_columns *out);

#endif
