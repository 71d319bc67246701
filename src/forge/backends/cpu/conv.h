/* backends/cpu/conv.h - convolutions by way of the driver for products.
 *
 * Owns what makes a convolution a product, for each group: rows are output channels, columns places of the output of all
 * images, and k goes over input channels and taps. Owns also where each panel of columns reads x; isa/conv.inc reads it.
 * Newcomers: a transposed convolution is the same product, or, where it has a stride, a few of them (conv_phase.c); only
 * which input an output reads through a tap differs (reference/slide.h). So is the gradient of a weight, whose kernel is
 * wider than its output.
 */
#ifndef FORGE_CPU_CONV_H
#define FORGE_CPU_CONV_H

#include "forge/backends/cpu/gemm.h"
#include "forge/reference/conv.h"

/* Elements of one line of x for some neighbours in a vector: each bit of `which` takes the next one, all others are 0. */
struct conv_read {
    int64_t from;   /* the offset of the first one; where reads are plain, of that for bit 0, set or not */
    uint32_t which; /* up to 32 */
};

/* The outputs of a transposed convolution that are a stride apart, along all dimensions, read through the same taps, and
 * others not at all: they are a convolution of their own, transposed and of stride 1, over the taps that reach them. */
struct conv_phase {
    struct conv conv;
    size_t depth;
    int64_t weight; /* how far its first weight is from the first of all, in elements */
    int64_t from, next_channel, steps[CONV_AXES]; /* where its outputs lie among all, in elements */
};

/* Any other convolution is one phase. */
size_t conv_phases(const struct conv *c);
struct conv_phase conv_phase_of(const struct conv *c, size_t phase);

/* All images of one group, which packing functions find as their side's data. */
struct conv_images {
    const struct conv *conv;
    const struct conv_phase *phase;     /* whose conv that is */
    const void *x, *weight;             /* of the group's first channels */
    int64_t weight_row, weight_channel; /* from one output channel, one input channel to the next */
    size_t weight_run;                  /* so many k are one step apart */
    int64_t weight_step;
    struct conv_read *reads; /* room for those of a panel: CONV_READS */
};
enum { CONV_READS = GEMM_TILE_COLUMNS * GEMM_DEPTH_BLOCK };

/* Sides of a product, for one type and instruction set. */
typedef void conv_pack_fn(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                          size_t width, void *out);
struct conv_code {
    const struct gemm_code *gemm;
    conv_pack_fn *weights;     /* rows: output channels */
    conv_pack_fn *places;      /* columns: places of the output, of one image after the other */
    conv_pack_fn *wide_places; /* the same, for kernels that are wider than the output */
};

bool conv_takes_f32(const struct launch *launch);
bool conv_takes_f64(const struct launch *launch);
size_t conv_pieces(const struct launch *launch, size_t *out_grain);
void conv_run(const struct conv_code *code, const struct launch *launch, size_t first, size_t end,
              void *scratch);

/* --- what is read where --------------------------------------------------------------------------------------- */

/* Where k is: an input channel of the group, and a tap. */
struct conv_depth {
    int64_t channel, tap[CONV_AXES];
};
struct conv_depth conv_depth_of(const struct conv *c, size_t k);
/* `count` taps further in the same line, up to its end. */
void conv_depth_add(const struct conv *c, struct conv_depth *depth, int64_t count);

/* The offset of a weight; *out_count: how many from there on are one step apart, at most k_count. */
int64_t conv_weights_at(const struct conv_images *images, size_t k, size_t k_count, size_t *out_count);

/* How a panel of places is read: what lies in one vector is of some lines of the output. */
struct conv_panel {
    size_t vectors;                /* of a group */
    size_t each;                   /* reads of a vector: as many as any has, the others read nothing */
    size_t groups;                 /* group i + groups reads as i does, of the next channel */
    const struct conv_read *reads; /* [(i * vectors + v) * each + ...], of group i */
    bool is_plain;                 /* neighbours read neighbours: elements lie as they are needed */
    int64_t step;                  /* from one element to the next */
};
struct conv_panel conv_panel_of(const struct conv_images *images, size_t line, size_t lines, size_t k,
                                size_t k_count, size_t width, size_t lanes);

/* Bit i: at + i step is in a dimension of this size. */
static inline uint32_t conv_which(int64_t at, int64_t step, int64_t size, size_t count)
{
    int64_t first = at < 0 ? slide_quotient_up(-at, step) : 0, end = slide_quotient_up(size - at, step);
    int64_t most = (int64_t)count;
    first = first < most ? first : most;
    end = end < most ? end : most;
    end = end > first ? end : first; /* without branches: it is asked for many at once */
    return (uint32_t)((UINT64_C(1) << end) - (UINT64_C(1) << first));
}

/* Columns beside each other, along k, by themselves. */
enum { CONV_COLUMNS = 16 };
struct conv_columns {
    size_t count;
    int64_t from[CONV_COLUMNS]; /* the offset that is read through the first taps, if it is there */
    int64_t first[CONV_AXES][CONV_COLUMNS]; /* that place in the image */
    bool are_inside;                        /* so are all other places, in all columns */
};
void conv_columns_of(const struct conv *c, size_t line, size_t lines, struct conv_columns *out);

#endif
