/* backends/cpu/gemm.h - the blocked driver of all matrix products: c = a x b.
 *
 * a: [rows, depth]; b: [depth, columns]; c: [rows, columns]. Code that depends on the instruction set and the
 * element type is in a struct gemm_code (isa/tile.inc). A packing function may supply the elements of a or b,
 * so a convolution is also a product.
 * Each element of c is the sum over k of a[i][k] * b[k][j] in a fixed order. k is cut into blocks whose size
 * depends only on the depth (gemm_depth_block). A block is one chain of multiply-adds, from 0 and in the
 * order of k. The blocks are added in order. So the bits of a row do not depend on the number of rows, and
 * all instruction sets with fused multiply-adds give the same bits. c is never read before it is written,
 * unless the product is added to it.
 */
#ifndef FORGE_CPU_GEMM_H
#define FORGE_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEMM_TILE_ROWS = 14, GEMM_TILE_COLUMNS = 32 }; /* maximum size of a tile */
enum { GEMM_DEPTH_BLOCK = 384 };                      /* maximum k_count of a block */

/* One side of a product. A line runs along k: it is a row of a or a column of b. */
struct gemm_side {
    const void *data;          /* the element of line 0 and k 0; or private data of `pack` */
    int64_t next_line, next_k; /* strides in elements; unused if there is a `pack` */
    /* Writes out: [k_count, width], the elements of `lines` <= width lines from `line` on, then zeros. May
     * write up to 64 bytes beyond. NULL: packs from `data`. */
    void (*pack)(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                 size_t width, void *out);
    size_t first_line; /* added to `line` by the driver */
};

/* A tile of c, [rows, columns of the code]: c = a x b, or c += a x b if `adds`. */
struct gemm_tile {
    size_t k_count;
    const void *a; /* [k_count, rows], packed */
    const void *b; /* [k_count, columns of the code], with a row stride of next_b elements */
    int64_t next_b;
    void *c;
    int64_t next_row; /* row stride of c, in elements */
    bool adds;
    void *copy;        /* receives a packed copy of b; NULL: b is packed already */
    const void *ahead; /* k_count elements to prefetch */
};
typedef void gemm_tile_fn(const struct gemm_tile *tile);

/* The code for one instruction set and element type. */
struct gemm_code {
    size_t element_bytes;
    size_t rows, columns;                /* maximum rows and number of columns of a tile */
    gemm_tile_fn *tiles[GEMM_TILE_ROWS]; /* [i]: for i + 1 rows */
    /* Packs from side->data; arguments as for gemm_side.pack. */
    void (*pack)(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                 size_t width, void *out);
    /* Stores the first `rows` rows and `columns` columns of a tile in c, or adds them if `adds`. */
    void (*put)(const void *tile, size_t rows, size_t columns, void *c, int64_t next_row, bool adds);
    /* The same, with column j of c at offset offsets[j], in elements. */
    void (*put_apart)(const void *tile, size_t rows, size_t columns, void *c, int64_t next_row,
                      const int64_t *offsets, bool adds);
};

/* One product: c = a x b, or c += a x b if `adds`. */
struct gemm {
    size_t rows, columns, depth;
    struct gemm_side a, b;
    void *c;          /* never overlaps a or b */
    int64_t next_row; /* row stride of c, in elements */
    bool adds;        /* the product is added to c */
    size_t run;       /* number of columns of c without a gap; 0: all columns */
    int64_t next_run; /* distance between runs, in elements */
    /* Used instead of runs if not NULL: writes the offsets of `count` columns of c from its beginning, in
     * elements. */
    void (*find_columns)(const struct gemm_side *b, size_t column, size_t count, int64_t *out_offsets);
};

/* Returns the size of a block of k. All blocks have this size, except that the last one may be smaller. */
size_t gemm_depth_block(size_t depth);

/* gemm_run uses this many bytes at the start of a thread's scratch memory (kernel.h). The rest is free for
 * the kernel. */
enum { GEMM_SCRATCH_BYTES = 11 << 17 };
/* Computes a whole product in this thread. */
void gemm_run(const struct gemm_code *code, const struct gemm *gemm, void *scratch);

/* --- pieces of work ------------------------------------------------------------------------------------- */

/* A product divided into pieces that can be computed in any order. The division depends only on the product's
 * sizes. */
struct gemm_cut {
    size_t rows, columns; /* size of a piece; pieces at the edges may be smaller */
    size_t row_pieces, column_pieces;
};

struct gemm_cut gemm_cut(size_t rows, size_t columns, size_t depth);
/* Returns the minimum number of pieces per thread. */
size_t gemm_grain(const struct gemm_cut *cut, size_t depth);
/* Computes one piece of a product. Returns the number of pieces done. wanted: number of pieces, from `piece`
 * on, that the caller has to do. If these are all pieces, computes the whole product at once, which packs
 * less often. */
size_t gemm_run_piece(const struct gemm_code *code, const struct gemm *gemm, const struct gemm_cut *cut,
                      size_t piece, size_t wanted, void *scratch);

#endif
