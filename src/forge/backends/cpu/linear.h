/* backends/cpu/linear.h - y = x weight^T (+ bias), for weights of all element types that models use.
 *
 * x: [rows, depth]; weight: [columns, depth], row-major; y: [rows, columns]. The columns of y are divided
 * into strips of STRIP_COLUMNS, which are the pieces of the work. There are these kernels:
 * - Block formats: x is first rounded to q8_0, as the composite "linear" defines. A strip of weights is
 *   unpacked to bytes in scratch memory, and products of groups of elements are exact sums in i32.
 * - Floats: weights are converted to f32, and products are sums of f32. If x is rounded to bf16, processors
 *   with AVX512-BF16 add products of two pairs at once.
 *
 * A weight may be repacked once into strips (linear_repack), so that kernels read memory in order. A repacked
 * strip consists of the same fields as its rows: scales of 2 bytes, and words of 4 bytes. Each field is
 * stored for all columns before the next field. So a field that begins at byte i of a row begins at byte i *
 * STRIP_COLUMNS of the strip.
 *
 * k is the index along depth. Each element of y is a sum over groups (or vectors) of consecutive k, added in
 * increasing order. So its bits depend neither on the number of rows nor on the strip. Functions that depend
 * on the instruction set: isa/linear.inc. */
#ifndef FORGE_CPU_LINEAR_H
#define FORGE_CPU_LINEAR_H

#include "forge/ir/launch.h"

enum {
    STRIP_COLUMNS = 16,   /* columns of y per piece */
    STRIP_DEPTH = 1024,   /* elements of a row that are unpacked at once; a multiple of all block sizes */
    STRIP_GROUP = 32,     /* elements of a group with one scale; 16 in q6_k */
    STRIP_MIN_GROUP = 16, /* minimum number of elements of a group */
    STRIP_MAX_ROWS = 32768,
    AMX_ROWS = 16, /* rows of x that AMX multiplies at once */
};

/* The sizes and memory of a launch. */
struct linear {
    size_t rows, columns, depth;
    const float *x;       /* [rows, depth] */
    const char *weight;   /* [columns, depth], in `dtype` */
    const char *repacked; /* the weight in strips, as linear_repack writes it; NULL: none */
    forge_dtype dtype;
    size_t row_bytes; /* size of a row of the weight */
    const void *bias; /* [columns], in `bias_dtype`; NULL: none */
    forge_dtype bias_dtype;
    float *y; /* [rows, columns] */
};
struct linear linear_of(const struct launch *launch);

/* x rounded to q8_0: an element of x is about its quant (an 8-bit integer) times the scale of its group. */
struct rounded {
    int8_t *quants; /* [rows, depth] */
    float *scales;  /* [rows, depth / group]; the two groups of 16 in a block of 32 have the same scale */
    int32_t *sums;  /* [rows, depth / group]: the sum of the group's quants */
    size_t group;   /* elements per group */
};

/* A part of a strip of weights, unpacked: weight = scale * (quant - offset) + minimum. */
struct strip {
    uint8_t *quants; /* [groups][group / 4][STRIP_COLUMNS][4]: four consecutive k of a column together; the
                      * bits of signed bytes if q8_0 has the offset 0 */
    float *scales;   /* [groups][STRIP_COLUMNS] */
    float *minima;   /* [groups][STRIP_COLUMNS]; NULL: 0 */
    size_t groups, group;
    int32_t offset;
    const char *ahead;  /* next byte to prefetch; NULL: none */
    size_t ahead_bytes; /* bytes to prefetch per unpacked group */
};

/* Returns the size of the repacked weight in bytes; 0 if the rows of the weight are not made of whole words.
 */
size_t linear_repacked_bytes(const struct launch *launch);

/* Return true if the kernel supports the launch: for block formats (q8_0, q4_0, q4_k, q6_k); for floats (f32,
 * f16, bf16); and for bf16 with x rounded to bf16. */
bool linear_takes_blocks(const struct launch *launch);
bool linear_takes_floats(const struct launch *launch);
bool linear_takes_bf16(const struct launch *launch);
/* Returns the size of the memory for x rounded to bf16, [rows, depth] in f32 or bf16, in bytes. */
size_t linear_bf16_bytes(const struct launch *launch);
/* Returns the number of strips. *out_grain: minimum number of strips per thread. */
size_t linear_strips(const struct launch *launch, size_t *out_grain);
/* Returns the number of rows of x. They are the pieces of the kernel's first round (kernel.h), which rounds
 * x. *out_grain: minimum number of rows per thread. */
size_t linear_rows(const struct launch *launch, size_t *out_grain);

/* linear_shared_bytes returns the size of the memory for the rounded x, in bytes. linear_rounded returns the
 * arrays of the rounded x, which lie in this memory. */
size_t linear_shared_bytes(const struct launch *launch);
struct rounded linear_rounded(const struct launch *launch, void *shared);
/* Returns the number of elements of a group of a block format. */
size_t linear_group(forge_dtype dtype);

#endif
