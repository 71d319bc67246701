/* backends/cpu/gemm.h - the one driver of products of matrices: c = a x b.
 *
 * Owns the blocking. What differs by instruction set and type stands in a struct gemm_code (isa/tile.inc); where the
 * elements of a and b come from may be a packing function's matter, so that a convolution is a product, too.
 * Newcomers: an element of c is the sum over k of a[i][k] * b[k][j] in one order, whatever lies beside it: k is cut into
 * blocks that follow from the depth alone (gemm_depth_block); a block is one chain of multiply-adds that begins with 0 and
 * goes from its first k to its last; the blocks are added in order. So a row's bits do not depend on how many rows there
 * are, and instruction sets with fused multiply-adds give the same bits. c is never read before it was written,
 * unless it is to be added to.
 */
#ifndef FORGE_CPU_GEMM_H
#define FORGE_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEMM_TILE_ROWS = 14, GEMM_TILE_COLUMNS = 32 }; /* of any tile, at most */
enum { GEMM_DEPTH_BLOCK = 384 };                      /* k of a block, at most */

/* One side of a product: lines along k, which are a's rows or b's columns. */
struct gemm_side {
    const void *data;          /* line 0, k 0; or what `pack` knows */
    int64_t next_line, next_k; /* in elements; any. Not used where there is a function: */
    /* Writes k_count groups of `width` elements, those of `lines` <= width lines from `line` on and then zeros; may write up
     * to 64 bytes beyond. NULL: from memory. */
    void (*pack)(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                 size_t width, void *out);
    size_t first_line; /* added to `line` by the driver */
};

/* Some rows of c by all columns that the code has: c = a x b, or c += a x b. */
struct gemm_tile {
    size_t k_count;
    const void *a; /* k_count groups of as many elements as there are rows */
    const void *b; /* a group of all columns every next_b elements */
    int64_t next_b;
    void *c;
    int64_t next_row;
    bool adds;
    void *copy;        /* where b is packed on the way, as it lies somewhere in memory; NULL: it is packed */
    const void *ahead; /* k_count elements that are soon needed */
};
typedef void gemm_tile_fn(const struct gemm_tile *tile);

struct gemm_code {
    size_t element_bytes;
    size_t rows, columns;                /* of a tile */
    gemm_tile_fn *tiles[GEMM_TILE_ROWS]; /* [i]: for i + 1 rows */
    /* From memory: as gemm_side.pack. */
    void (*pack)(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                 size_t width, void *out);
    /* Stores or adds the part of a tile that there is. */
    void (*put)(const void *tile, size_t rows, size_t columns, void *c, int64_t next_row, bool adds);
    /* The same, where column j lies offsets[j] elements from c. */
    void (*put_apart)(const void *tile, size_t rows, size_t columns, void *c, int64_t next_row,
                      const int64_t *offsets, bool adds);
};

struct gemm {
    size_t rows, columns, depth;
    struct gemm_side a, b;
    void *c;          /* never overlaps a or b */
    int64_t next_row; /* of c, in elements */
    bool adds;        /* c += a x b; c is read then */
    size_t run;       /* so many columns follow each other in c; 0: all do */
    int64_t next_run; /* from one run to the next, in elements */
    /* In place of runs: how far columns of c are from its beginning, in elements; b's side knows. NULL: runs. */
    void (*find_columns)(const struct gemm_side *b, size_t column, size_t count, int64_t *out_offsets);
};

/* How many k are in a block: equal ones, the last one smaller. */
size_t gemm_depth_block(size_t depth);

/* The first so many bytes of a thread's scratch (kernel.h); the rest is the kernel's. */
enum { GEMM_SCRATCH_BYTES = 11 << 17 };
/* All of it, in this thread. */
void gemm_run(const struct gemm_code *code, const struct gemm *gemm, void *scratch);

/* --- sharing it out ----------------------------------------------------------------------------------------- */

/* A product cut into pieces that can be computed in any order, by its sizes alone. */
struct gemm_cut {
    size_t rows, columns; /* of a piece, but for those at the edges */
    size_t row_pieces, column_pieces;
};

struct gemm_cut gemm_cut(size_t rows, size_t columns, size_t depth);
/* How many pieces make it worth waking a thread. */
size_t gemm_grain(const struct gemm_cut *cut, size_t depth);
/* Computes piece `piece` of a product, or, where that is its first and all of them are among the `wanted` ones from there
 * on, the whole product, which packs less often. How many pieces are done. */
size_t gemm_run_piece(const struct gemm_code *code, const struct gemm *gemm, const struct gemm_cut *cut,
                      size_t piece, size_t wanted, void *scratch);

#endif
