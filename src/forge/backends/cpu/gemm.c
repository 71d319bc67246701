/* backends/cpu/gemm.c - see gemm.h: blocks that stay in caches.
 *
 * For each block of k: a block of b is packed (second or third level cache), then for each block of rows a block of a is
 * packed (second level), and each panel of b is multiplied with all panels of a, so that it stays in the first level.
 */
#include "forge/backends/cpu/gemm.h"

#include "forge/backends/cpu/kernel.h"

enum {
    DEPTH_BLOCK = GEMM_DEPTH_BLOCK,
    ROW_BLOCK = 168, /* a multiple of all tiles' rows */
    COLUMN_BLOCK = 512,
    ELEMENT_BYTES = 8, /* at most */
    PADDING = 64,
    PIECE = 512,       /* rows and columns of a piece of work, at most */
    PIECE_LEAST = 128, /* what is packed for a piece is to be used often enough */
    PIECES_ENOUGH = 4,
    TILE_ROWS = GEMM_TILE_ROWS, /* pieces are whole tiles of the widest code */
    TILE_COLUMNS = GEMM_TILE_COLUMNS,
};
#define WORTH_A_THREAD 4e6  /* FLOP */
#define PIECE_FLOP     24e6 /* not worth a second thread: 100 us or so */

#define A_BYTES    (ROW_BLOCK * DEPTH_BLOCK * ELEMENT_BYTES + PADDING)
#define B_BYTES    (COLUMN_BLOCK * DEPTH_BLOCK * ELEMENT_BYTES + PADDING)
#define TILE_BYTES (GEMM_TILE_ROWS * TILE_COLUMNS * 4) /* of any type */

_Static_assert(A_BYTES + B_BYTES + TILE_BYTES <= GEMM_SCRATCH_BYTES, "blocks have room");
_Static_assert((int)GEMM_SCRATCH_BYTES < (int)KERNEL_SCRATCH_BYTES, "other kernels have some, too");

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t pieces_of(size_t whole, size_t part)
{
    return (whole + part - 1) / part;
}

size_t gemm_depth_block(size_t depth)
{
    size_t blocks = pieces_of(depth, DEPTH_BLOCK);
    return blocks ? pieces_of(depth, blocks) : 1;
}

/* --- one block ---------------------------------------------------------------------------------------------- */

/* The block of c at hand, and its share of a and b. */
struct block {
    const struct gemm_code *code;
    const struct gemm *gemm;
    char *a, *b, *tile; /* packed; room for a tile */
    size_t row, column; /* the first */
    size_t rows, columns, k_count;
    size_t tile_rows; /* of each tile but the last one */
    bool adds;
    /* a is one block of rows: its panels for all k are packed once, one k block after the other */
    bool keeps_a;
    int64_t offsets[GEMM_TILE_COLUMNS]; /* of a tile's columns in c, where they do not form runs */
};

static void pack(const struct gemm_code *code, const struct gemm_side *side, size_t line, size_t lines,
                 size_t k, size_t k_count, size_t width, char *out)
{
    (side->pack ? side->pack : code->pack)(side, side->first_line + line, lines, k, k_count, width, out);
}

/* Panels of a have as many rows as are there: each number of rows has its tile. */
static void pack_rows(const struct block *block, const struct gemm_side *a, size_t row, size_t k)
{
    size_t line_bytes = block->k_count * block->code->element_bytes;
    for (size_t i = 0, rows; i < block->rows; i += rows) {
        rows = least(block->tile_rows, block->rows - i);
        pack(block->code, a, row + i, rows, k, block->k_count, rows, block->a + i * line_bytes);
    }
}

/* Panels of b have all columns of a tile; the last one's are filled up with zeros. */
static void pack_columns(const struct block *block, const struct gemm_side *b, size_t column, size_t k)
{
    size_t width = block->code->columns, line_bytes = block->k_count * block->code->element_bytes;
    for (size_t j = 0; j < block->columns; j += width)
        pack(block->code, b, column + j, least(width, block->columns - j), k, block->k_count, width,
             block->b + j * line_bytes);
}

/* c from this row on. */
static char *row_of(const struct block *block, size_t row)
{
    int64_t offset = (int64_t)(block->row + row) * block->gemm->next_row;
    return (char *)block->gemm->c + offset * (int64_t)block->code->element_bytes;
}

/* Where an element of c lies; *out_left: how many columns follow each other from there on. Columns of c are counted as
 * those of b are. */
static char *place(const struct block *block, size_t row, size_t column, size_t *out_left)
{
    const struct gemm *gemm = block->gemm;
    size_t at = gemm->b.first_line + block->column + column, run = gemm->run ? at / gemm->run : 0;
    size_t in_run = at - run * gemm->run;
    int64_t offset = (int64_t)run * gemm->next_run + (int64_t)in_run;
    *out_left = gemm->run ? gemm->run - in_run : block->columns - column;
    return row_of(block, row) + offset * (int64_t)block->code->element_bytes;
}

static void multiply_tile(const struct block *block, size_t row, size_t rows, size_t column)
{
    const struct gemm_code *code = block->code;
    size_t line_bytes = block->k_count * code->element_bytes, left;
    size_t columns = least(code->columns, block->columns - column);
    const char *a = block->a + row * line_bytes, *b = block->b + column * line_bytes;
    gemm_tile_fn *tile = code->tiles[rows - 1];
    if (block->gemm->find_columns) {
        tile(block->k_count, a, b, (int64_t)code->columns, block->tile, (int64_t)code->columns, false);
        code->put_apart(block->tile, rows, columns, row_of(block, row), block->gemm->next_row, block->offsets,
                        block->adds);
        return;
    }
    char *c = place(block, row, column, &left);
    if (code->columns <= columns && columns <= left) {
        tile(block->k_count, a, b, (int64_t)code->columns, c, block->gemm->next_row, block->adds);
        return;
    }
    tile(block->k_count, a, b, (int64_t)code->columns, block->tile, (int64_t)code->columns, false);
    for (size_t j = 0, some; j < columns; j += some) {
        c = place(block, row, column + j, &left);
        some = least(left, columns - j);
        code->put(block->tile + j * code->element_bytes, rows, some, c, block->gemm->next_row, block->adds);
    }
}

static void multiply_block(struct block *block)
{
    const struct gemm *gemm = block->gemm;
    for (size_t j = 0; j < block->columns; j += block->code->columns) {
        if (gemm->find_columns)
            gemm->find_columns(&gemm->b, gemm->b.first_line + block->column + j,
                               least(block->code->columns, block->columns - j), block->offsets);
        for (size_t i = 0; i < block->rows; i += block->tile_rows)
            multiply_tile(block, i, least(block->tile_rows, block->rows - i), j);
    }
}

/* --- all blocks --------------------------------------------------------------------------------------------- */

/* Of one block of columns and of k. */
static void multiply_columns(struct block *block, size_t k)
{
    const struct gemm *gemm = block->gemm;
    pack_columns(block, &gemm->b, block->column, k);
    for (block->row = 0; block->row < gemm->rows; block->row += ROW_BLOCK) {
        block->rows = least(ROW_BLOCK, gemm->rows - block->row);
        /* Tiles of much the same size: those of few rows wait for their sums. */
        block->tile_rows = pieces_of(block->rows, pieces_of(block->rows, block->code->rows));
        if (block->column == 0 || !block->keeps_a)
            pack_rows(block, &gemm->a, block->row, k);
        multiply_block(block);
    }
}

void gemm_run(const struct gemm_code *code, const struct gemm *gemm, void *scratch)
{
    struct block block = {code, gemm, scratch, (char *)scratch + A_BYTES,
                          (char *)scratch + A_BYTES + B_BYTES};
    size_t depth_block = gemm_depth_block(gemm->depth), line_bytes = gemm->rows * code->element_bytes;
    block.keeps_a = gemm->rows <= ROW_BLOCK && gemm->depth * line_bytes + PADDING <= A_BYTES;
    for (; block.column < gemm->columns; block.column += COLUMN_BLOCK) {
        block.columns = least(COLUMN_BLOCK, gemm->columns - block.column);
        /* A depth of 0 is one empty block, whose sums are 0. */
        for (size_t k = 0; k == 0 || k < gemm->depth; k += depth_block) {
            block.k_count = least(depth_block, gemm->depth - k);
            block.adds = gemm->adds || k > 0;
            block.a = (char *)scratch + (block.keeps_a ? k * line_bytes : 0);
            multiply_columns(&block, k);
        }
    }
}

/* --- sharing it out ----------------------------------------------------------------------------------------- */

/* Into so many parts or a few less, of whole tiles. */
static void share(size_t whole, size_t parts, size_t multiple, size_t *out_part, size_t *out_parts)
{
    *out_part = pieces_of(pieces_of(whole, parts), multiple) * multiple;
    *out_parts = pieces_of(whole, *out_part);
}

struct gemm_cut gemm_cut(size_t rows, size_t columns, size_t depth)
{
    struct gemm_cut cut = {1, 1, 0, 0};
    if (rows == 0 || columns == 0)
        return cut;
    share(rows, pieces_of(rows, PIECE), TILE_ROWS, &cut.rows, &cut.row_pieces);
    share(columns, pieces_of(columns, PIECE), TILE_COLUMNS, &cut.columns, &cut.column_pieces);
    while (cut.row_pieces * cut.column_pieces < PIECES_ENOUGH &&
           2. * (double)cut.rows * (double)cut.columns * (double)depth > PIECE_FLOP) {
        if (cut.rows >= 2 * PIECE_LEAST && cut.rows >= cut.columns)
            share(rows, 2 * cut.row_pieces, TILE_ROWS, &cut.rows, &cut.row_pieces);
        else if (cut.columns >= 2 * PIECE_LEAST)
            share(columns, 2 * cut.column_pieces, TILE_COLUMNS, &cut.columns, &cut.column_pieces);
        else
            break;
    }
    return cut;
}

size_t gemm_grain(const struct gemm_cut *cut, size_t depth)
{
    return 1 + (size_t)(WORTH_A_THREAD / (1 + 2. * (double)cut->rows * (double)cut->columns * (double)depth));
}

static struct gemm piece_of(const struct gemm *gemm, const struct gemm_cut *cut, size_t piece,
                            size_t element_bytes)
{
    size_t row = piece / cut->column_pieces * cut->rows, column = piece % cut->column_pieces * cut->columns;
    struct gemm part = *gemm;
    part.rows = least(cut->rows, gemm->rows - row);
    part.columns = column < gemm->columns ? least(cut->columns, gemm->columns - column) : 0;
    part.a.first_line += row;
    part.b.first_line += column;
    part.c =
        (char *)gemm->c + (int64_t)row * gemm->next_row * (int64_t)element_bytes; /* column 0: see place */
    return part;
}

size_t gemm_run_piece(const struct gemm_code *code, const struct gemm *gemm, const struct gemm_cut *cut,
                      size_t piece, size_t wanted, void *scratch)
{
    size_t pieces = cut->row_pieces * cut->column_pieces;
    if (piece == 0 && wanted >= pieces) {
        gemm_run(code, gemm, scratch);
        return pieces;
    }
    struct gemm part = piece_of(gemm, cut, piece, code->element_bytes);
    gemm_run(code, &part, scratch);
    return 1;
}
