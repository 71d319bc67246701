/* backends/cpu/conv.h - convolutions as matrix products (gemm.h).
 *
 * Each group of channels is one product: rows are output channels, columns are output positions of all
 * images, and k counts input channels and taps. A tap is one position in the kernel's window. conv.c finds
 * which elements of x each panel of columns reads, and isa/conv.inc reads them. A transposed convolution is
 * such a product with another map from outputs and taps to inputs (reference/reference_slide.h). If its
 * stride is above 1, it becomes several products (conv_phase.c). The gradient of a weight is a convolution
 * whose kernel is wider than its output.
 */
#ifndef FORGE_CPU_CONV_H
#define FORGE_CPU_CONV_H

#include "forge/backends/cpu/gemm.h"
#include "forge/reference/reference_conv.h"

/* A read of elements of one line of x into lanes of a vector. The lanes whose bits in `which` are set receive
 * consecutive elements; the other lanes become 0. */
struct conv_read {
    /* offset of the element for the first set bit. If conv_panel.is_plain is true, offset of the element for
     * bit 0, even if bit 0 is not set. */
    int64_t from;
    uint32_t which; /* one bit for each lane, up to 32 lanes */
};

/* A part of a transposed convolution. For example, with stride 2 along one dimension, phase 0 has outputs 0,
 * 2, 4, ... and phase 1 has outputs 1, 3, 5, ... All outputs of a phase use the same taps, so a phase is a
 * transposed convolution of stride 1 with these taps. */
struct conv_phase {
    struct conv conv;
    size_t depth;                                 /* input channels of a group times taps of the phase */
    int64_t weight;                               /* offset of the phase's first weight, in elements */
    int64_t from, next_channel, steps[CONV_AXES]; /* offset and strides of the phase's outputs, in elements */
};

/* Returns the number of phases: 1 unless the convolution is transposed and has a stride above 1. */
size_t conv_phases(const struct conv *c);
struct conv_phase conv_phase_of(const struct conv *c, size_t phase);

/* The images and weights of one group of channels. The member gemm_side.data points to this structure when a
 * packing function is called. */
struct conv_images {
    const struct conv *conv; /* equals &phase->conv */
    const struct conv_phase *phase;
    const void *x, *weight;             /* addresses of the first channel of the group */
    int64_t weight_row, weight_channel; /* strides between output channels and between input channels */
    /* number of consecutive k whose weights are weight_step elements apart */
    size_t weight_run;
    int64_t weight_step;     /* distance between the weights of a run, in elements */
    struct conv_read *reads; /* scratch for the reads of a panel: [CONV_READS] */
    float *panel;            /* scratch for a panel as f32: [CONV_PANEL] */
};
/* A panel has at most 2 * GEMM_DEPTH_BLOCK k, because some code multiplies two k as one. */
enum {
    CONV_READS = GEMM_TILE_COLUMNS * 2 * GEMM_DEPTH_BLOCK,
    CONV_PANEL = GEMM_TILE_COLUMNS * 2 * GEMM_DEPTH_BLOCK + 16,
};

/* Functions that pack the sides of the product, for one element type and instruction set. elements->pack is
 * not used. */
struct conv_code {
    const struct gemm_elements *elements;
    gemm_pack_fn *weights;     /* rows: output channels */
    gemm_pack_fn *places;      /* columns: output positions, image after image */
    gemm_pack_fn *wide_places; /* columns, if the kernel is wider than the output */
};

/* Return true if the kernel for this type supports the launch. Sums of bf16 and f16 are f32. */
bool conv_takes_f32(const struct launch *launch);
bool conv_takes_f64(const struct launch *launch);
bool conv_takes_bf16(const struct launch *launch);
bool conv_takes_f16(const struct launch *launch);
/* Returns the number of pieces. A piece is a block of one group's product, and computes a part of each phase.
 * *out_grain: minimum number of pieces per thread. */
size_t conv_pieces(const struct launch *launch, size_t *out_grain);
/* Returns true if the convolution is one product: it is not transposed, or has a stride of 1. */
bool conv_is_one_product(const struct launch *launch);
/* Computes pieces [first, end). finish: NULL, or what is done with complete sums; only if the convolution is
 * one product. scratch: KERNEL_SCRATCH_BYTES of memory that no other thread uses. */
void conv_run(const struct conv_code *code, const struct launch *launch, size_t first, size_t end,
              const struct gemm_finish *finish, void *scratch);

/* --- input offsets -------------------------------------------------------------------------------------- */

/* The input channel of the group and the tap for an index k. */
struct conv_depth {
    int64_t channel, tap[CONV_AXES];
};
struct conv_depth conv_depth_of(const struct conv *c, size_t k);
/* Advances by `count` taps, at most to the start of the next line of the kernel. */
void conv_depth_add(const struct conv *c, struct conv_depth *depth, int64_t count);

/* Returns the offset of the weight for index k, in elements. *out_count: number of weights from k on, at most
 * k_count, that are images->weight_step elements apart. */
int64_t conv_weights_at(const struct conv_images *images, size_t k, size_t k_count, size_t *out_count);

/* The reads for a panel of output positions. The positions of one vector may be in several lines of the
 * output. */
struct conv_panel {
    size_t vectors; /* number of vectors per group */
    size_t each;    /* number of reads per vector; unused reads have no bit set */
    /* number of groups. A group is all vectors for one k. The reads for k + groups are those for k, but in
     * the next channel of x. */
    size_t groups;
    const struct conv_read *reads; /* [groups, vectors, each] */
    bool is_plain;                 /* neighbouring positions read neighbouring elements of x */
    int64_t step;                  /* distance between the elements of a read, in elements */
};
struct conv_panel conv_panel_of(const struct conv_images *images, size_t line, size_t lines, size_t k,
                                size_t k_count, size_t width, size_t lanes);

/* Returns a mask of `count` bits: bit i is set if 0 <= at + i step < size. */
static inline uint32_t conv_which(int64_t at, int64_t step, int64_t size, size_t count)
{
    int64_t first = at < 0 ? slide_quotient_up(-at, step) : 0, end = slide_quotient_up(size - at, step);
    int64_t max = (int64_t)count;
    first = first < max ? first : max;
    end = end < max ? end : max;
    end = end > first ? end : first; /* written without branches, because it runs for each vector */
    return (uint32_t)((UINT64_C(1) << end) - (UINT64_C(1) << first));
}

/* Input offsets of up to CONV_COLUMNS neighbouring columns. */
enum { CONV_COLUMNS = 16 };
struct conv_columns {
    size_t count;
    int64_t from[CONV_COLUMNS]; /* offset of the element that the first tap reads; may be outside the image */
    /* index of this element in each dimension; may be outside the image */
    int64_t first[CONV_AXES][CONV_COLUMNS];
    bool are_inside; /* no tap of any column reads padding */
};
void conv_columns_of(const struct conv *c, size_t line, size_t lines, struct conv_columns *out);

#endif
