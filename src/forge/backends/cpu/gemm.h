/* backends/cpu/gemm.h - the blocked driver of all matrix products: c = a x b.
 *
 * a: [rows, depth]; b: [depth, columns]; c: [rows, columns]. A struct gemm_code contains the functions that
 * depend on the instruction set and the element type (isa/tile.inc). A packing function may supply the
 * elements of a or b, so that convolutions can use this driver too. Each element of c is the sum over k of
 * a[i][k] * b[k][j] in a fixed order. k is divided into blocks whose size depends only on the depth
 * (gemm_depth_block). A block is one chain of multiply-adds, which starts at 0 and follows the order of k.
 * The sums of blocks are added in order. So the bits of a row do not depend on the number of rows, and all
 * instruction sets with fused multiply-adds compute the same bits. If the product replaces c, the old
 * contents of c are never read.
 *
 * Elements of bf16 and f16 become f32 when they are packed. Sums are f32, and are rounded when all blocks are
 * added. Processors with AVX512-BF16 multiply bf16 without conversion (isa/tile_pairs.inc); the bits of their
 * sums may differ.
 */
#ifndef FORGE_CPU_GEMM_H
#define FORGE_CPU_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEMM_TILE_ROWS = 14, GEMM_TILE_COLUMNS = 32 }; /* maximum size of a tile */
enum { GEMM_DEPTH_BLOCK = 384 };                      /* maximum number of k in a block */

struct gemm_side;

/* Packs lines `line` to line + lines - 1 for k to k + k_count - 1 into out: [k_count, width], row-major.
 * Fills the columns from `lines` on with 0; lines <= width. May write up to 64 bytes after the end of
 * `out`. */
typedef void gemm_pack_fn(const struct gemm_side *side, size_t line, size_t lines, size_t k, size_t k_count,
                          size_t width, void *out);

/* Rounds `count` sums to the type of the elements of c. */
typedef void gemm_narrow_fn(const void *sums, size_t count, void *c);

/* One operand of a product. A line is the elements for all k: a row of a, or a column of b. */
struct gemm_side {
    const void *data;          /* address of the element of line 0 and k 0, or data of `pack` */
    int64_t next_line, next_k; /* strides in elements; `pack` may ignore them */
    gemm_pack_fn *pack;        /* NULL: the pack function of the code */
    size_t first_line;         /* the driver adds this number to `line` */
    size_t depth;              /* number of k, for packing functions that pack several k as one */
};

/* One step of the product for a tile of c, [rows, gemm_code.columns]: c = a x b, or c += a x b if `adds`. */
struct gemm_tile {
    size_t k_count;
    const void *a; /* [k_count, rows], packed */
    const void *b; /* [k_count, gemm_code.columns], with a row stride of next_b elements */
    int64_t next_b;
    void *c;
    int64_t next_row; /* row stride of c, in elements */
    bool adds;
    void *copy;        /* receives a packed copy of b; NULL: b is already packed */
    const void *ahead; /* address of k_count elements to prefetch */
};
typedef void gemm_tile_fn(const struct gemm_tile *tile);

/* The code for one instruction set and element type. */
struct gemm_code {
    size_t element_bytes;
    size_t rows, columns;                /* maximum number of rows, and number of columns, of a tile */
    gemm_tile_fn *tiles[GEMM_TILE_ROWS]; /* tiles[i] is for i + 1 rows */
    gemm_pack_fn *pack;                  /* packs from side->data */
    /* Stores the first `rows` rows and `columns` columns of a tile in c, or adds them if `adds`. */
    void (*put)(const void *tile, size_t rows, size_t columns, void *c, int64_t next_row, bool adds);
    /* Like `put`, but column j of c is at offset offsets[j], in elements. */
    void (*put_apart)(const void *tile, size_t rows, size_t columns, void *c, int64_t next_row,
                      const int64_t *offsets, bool adds);
};

/* A function for parts of c whose sums are complete, called while they are in the cache. */
struct gemm_finish {
    /* Receives `count` contiguous elements of c. sums: NULL if c contains the sums. If the product is narrow:
     * the sums in f32, not rounded; the function may change them, and must write all elements of c. scratch:
     * the thread's scratch memory after the first GEMM_SCRATCH_BYTES. */
    void (*fn)(const void *context, float *sums, void *c, size_t count, void *scratch);
    const void *context;
    size_t c_bytes; /* size of an element of c; of a product that is not narrow: of its sums */
};

/* One product: c = a x b, or c += a x b if `adds`. */
struct gemm {
    size_t rows, columns, depth;
    struct gemm_side a, b;
    void *c;          /* never overlaps a or b */
    int64_t next_row; /* row stride of c, in elements */
    bool adds;        /* true: the product is added to c; false: it replaces c */
    size_t run;       /* number of columns of c that are contiguous in memory; 0: all columns */
    int64_t next_run; /* distance between the starts of such runs, in elements */
    /* If not NULL, used instead of `run` and next_run: computes the offsets of columns `column` to column +
     * count - 1 from the start of a row of c, in elements. */
    void (*find_columns)(const struct gemm_side *b, size_t column, size_t count, int64_t *out_offsets);
    const struct gemm_finish *finish; /* NULL: nothing; must be NULL if find_columns is set */
    /* If not NULL, the elements of c have GEMM_NARROW_BYTES each. Their sums are computed in scratch memory,
     * and rounded once, when they are complete, or given to `finish`; `adds` must be false. */
    gemm_narrow_fn *narrow;
    size_t first_column; /* number of the column at address c; 0 for callers of gemm_run */
};

enum { GEMM_NARROW_BYTES = 2 };

/* How the elements of a, b and c are stored. */
struct gemm_elements {
    const struct gemm_code *code;
    size_t bytes;           /* of an element in memory */
    gemm_pack_fn *pack;     /* of a and b; NULL: the pack function of the code */
    gemm_narrow_fn *narrow; /* of c; NULL: elements of c have the type of sums */
    size_t depth_step;      /* number of k that the code multiplies as one; 0: 1 */
};

/* Returns the size of an element of c. element_bytes: that of a sum. */
static inline size_t gemm_c_bytes(const struct gemm_finish *finish, gemm_narrow_fn *narrow,
                                  size_t element_bytes)
{
    return finish ? finish->c_bytes : narrow ? (size_t)GEMM_NARROW_BYTES : element_bytes;
}

/* Returns the number of k in a block. The last block may be smaller. */
size_t gemm_depth_block(size_t depth);

/* Number of bytes that gemm_run uses at the start of a thread's scratch memory (kernel.h). Kernels may use
 * the rest. */
enum { GEMM_SCRATCH_BYTES = 15 << 17 };
/* Computes a whole product in this thread. scratch: GEMM_SCRATCH_BYTES, aligned to 64 bytes. */
void gemm_run(const struct gemm_code *code, const struct gemm *gemm, void *scratch);

/* --- pieces of work ------------------------------------------------------------------------------------- */

/* The division of a product into pieces, which can be computed in any order. The division depends only on the
 * sizes of the product. */
struct gemm_cut {
    size_t rows, columns; /* size of a piece; the last pieces may be smaller */
    size_t row_pieces, column_pieces;
};

struct gemm_cut gemm_cut(size_t rows, size_t columns, size_t depth);
/* Returns the minimum number of pieces per thread. */
size_t gemm_grain(const struct gemm_cut *cut, size_t depth);
/* Computes piece `piece` of a product, and returns the number of computed pieces. wanted: number of pieces,
 * from `piece` on, that the caller must compute. If these are all pieces, computes the whole product at once,
 * because this packs less often. */
size_t gemm_run_piece(const struct gemm_code *code, const struct gemm *gemm, const struct gemm_cut *cut,
                      size_t piece, size_t wanted, void *scratch);

#endif
