/* backends/cpu/gemm.c - see gemm.h.
 *
 * The order of loops keeps packed data in caches. For each block of columns and each block of k, the block of
 * b is packed; it fits into the second level cache. Then each panel of rows of a is packed, which fits into
 * the first level cache, and multiplied by all panels of b. If neighbouring columns of b are neighbours in
 * memory, the first panel of rows packs b while it multiplies.
 */
#include "forge/backends/cpu/gemm.h"

#include <string.h>
#include "forge/backends/cpu/kernel.h"

enum {
    DEPTH_BLOCK = GEMM_DEPTH_BLOCK,
    PANELS_BYTES = 336 << 10, /* bytes for the packed panels of a; if the panels for all k fit, all are
                               * kept */
    BLOCK_BYTES = 768 << 10,  /* bytes for a packed block of b */
    /* maximum columns of a block of b, for the smallest element type */
    MAX_COLUMNS = BLOCK_BYTES / (DEPTH_BLOCK * 4),
    ELEMENT_BYTES = 8, /* size of the largest element type */
    PADDING = 64,      /* bytes that a packing function may write beyond the end */
    MAX_PIECE = 512,   /* rows and columns of a piece of work */
    /* minimum rows and columns of a piece; smaller pieces would use packed data too few times */
    MIN_PIECE = 128,
    MIN_PIECES = 4,             /* if there are fewer pieces, they are divided further */
    TILE_ROWS = GEMM_TILE_ROWS, /* a piece consists of whole tiles, even of the code with the largest tiles */
    TILE_COLUMNS = GEMM_TILE_COLUMNS,
};
#define MIN_THREAD_WORK 4e6  /* minimum work per thread, in FLOP */
#define PIECE_FLOP      24e6 /* a piece of less work (about 100 us) is not divided further */

#define A_BYTES (PANELS_BYTES + PADDING)
#define B_BYTES (BLOCK_BYTES + PADDING)
/* bytes for sums that are rounded when they are complete */
#define SUMS_BYTES ((size_t)512 << 10)
/* bytes of a tile, equal for all element types: tiles of larger elements have fewer columns */
#define TILE_BYTES (GEMM_TILE_ROWS * TILE_COLUMNS * 4)

_Static_assert(PANELS_BYTES >= GEMM_TILE_ROWS * DEPTH_BLOCK * ELEMENT_BYTES, "a panel of a fits");
_Static_assert(A_BYTES + B_BYTES + TILE_BYTES + SUMS_BYTES <= GEMM_SCRATCH_BYTES, "all blocks fit");
_Static_assert((int)GEMM_SCRATCH_BYTES < (int)KERNEL_SCRATCH_BYTES,
               "kernels have a rest of the scratch memory");

static size_t min(size_t a, size_t b)
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

/* --- one block ------------------------------------------------------------------------------------------ */

/* The current panel of c: some rows, all columns of a block of b, and a block of k. */
struct panel {
    const struct gemm_code *code;
    const struct gemm *gemm;
    char *a, *b, *tile;    /* packed panel of a, packed block of b, and memory for a tile */
    size_t row, column, k; /* indices of the first row, column and k */
    size_t rows, columns, k_count;
    bool adds;
    bool packs_b;     /* this panel is the first to use the block of b, and must pack it */
    int64_t *offsets; /* offsets of the columns in c, if they do not form runs */
};

static void pack(const struct gemm_code *code, const struct gemm_side *side, size_t line, size_t lines,
                 size_t k, size_t k_count, size_t width, char *out)
{
    (side->pack ? side->pack : code->pack)(side, side->first_line + line, lines, k, k_count, width, out);
}

static void pack_columns(const struct panel *panel, size_t column, char *out)
{
    size_t width = panel->code->columns, lines = min(width, panel->columns - column);
    pack(panel->code, &panel->gemm->b, panel->column + column, lines, panel->k, panel->k_count, width, out);
}

/* Returns the address of the panel's first row in c. */
static char *first_row(const struct panel *panel)
{
    int64_t offset = (int64_t)panel->row * panel->gemm->next_row;
    return (char *)panel->gemm->c + offset * (int64_t)panel->code->element_bytes;
}

/* Returns the address of a column of the panel in c. *out_left: number of contiguous columns from this column
 * on. Columns of c are numbered like columns of b. */
static char *place(const struct panel *panel, size_t column, size_t *out_left)
{
    const struct gemm *gemm = panel->gemm;
    size_t at = gemm->b.first_line + panel->column + column - gemm->first_column;
    size_t run = gemm->run ? at / gemm->run : 0;
    size_t in_run = at - run * gemm->run;
    int64_t offset = (int64_t)run * gemm->next_run + (int64_t)in_run;
    *out_left = gemm->run ? gemm->run - in_run : panel->columns - column;
    return first_row(panel) + offset * (int64_t)panel->code->element_bytes;
}

/* Returns the address of the line of a that a tile prefetches. The next panel packs this line. Each tile
 * prefetches a different line. Returns `fallback` if a prefetch is not useful. */
static const void *next_line(const struct panel *panel, size_t line, const void *fallback)
{
    const struct gemm_side *a = &panel->gemm->a;
    size_t at = panel->row + panel->rows + line;
    if (a->pack || a->next_k != 1 || line >= panel->rows || at >= panel->gemm->rows)
        return fallback;
    int64_t offset = (int64_t)(a->first_line + at) * a->next_line + (int64_t)panel->k;
    return (const char *)a->data + offset * (int64_t)panel->code->element_bytes;
}

/* Sets the tile's panel of b. If the panel is not packed yet, packs it here, or sets tile->copy so that the
 * tile packs it. */
static void set_columns(const struct panel *panel, size_t column, struct gemm_tile *tile)
{
    const struct gemm_code *code = panel->code;
    const struct gemm_side *b = &panel->gemm->b;
    char *packed = panel->b + column * panel->k_count * code->element_bytes;
    tile->b = packed;
    tile->next_b = (int64_t)code->columns;
    if (!panel->packs_b)
        return;
    if (b->pack || b->next_line != 1 || panel->columns - column < code->columns) {
        pack_columns(panel, column, packed);
        return;
    }
    int64_t offset = (int64_t)(b->first_line + panel->column + column) + (int64_t)panel->k * b->next_k;
    tile->b = (const char *)b->data + offset * (int64_t)code->element_bytes;
    tile->next_b = b->next_k;
    tile->copy = packed;
}

/* Stores or adds the first `columns` columns of panel->tile to c. */
static void store_tile(const struct panel *panel, size_t column, size_t columns)
{
    const struct gemm_code *code = panel->code;
    int64_t next_row = panel->gemm->next_row;
    if (panel->gemm->find_columns) {
        code->put_apart(panel->tile, panel->rows, columns, first_row(panel), next_row,
                        panel->offsets + column, panel->adds);
        return;
    }
    for (size_t j = 0, some, left; j < columns; j += some) {
        char *c = place(panel, column + j, &left);
        some = min(left, columns - j);
        code->put(panel->tile + j * code->element_bytes, panel->rows, some, c, next_row, panel->adds);
    }
}

static void multiply_tile(const struct panel *panel, size_t column)
{
    const struct gemm_code *code = panel->code;
    size_t columns = min(code->columns, panel->columns - column), left;
    struct gemm_tile tile = {.k_count = panel->k_count,
                             .a = panel->a,
                             .c = place(panel, column, &left),
                             .next_row = panel->gemm->next_row,
                             .adds = panel->adds,
                             .ahead = next_line(panel, column / code->columns, panel->a)};
    bool is_whole = !panel->gemm->find_columns && code->columns <= columns && columns <= left;
    if (!is_whole) {
        tile.c = panel->tile;
        tile.next_row = (int64_t)code->columns;
        tile.adds = false;
    }
    set_columns(panel, column, &tile);
    code->tiles[panel->rows - 1](&tile);
    if (!is_whole)
        store_tile(panel, column, columns);
}

/* --- all blocks ----------------------------------------------------------------------------------------- */

/* Multiplies all panels of rows with one block of columns and one block of k. If keeps_a is true, `a` holds
 * the packed panels for all k, one block of k after the other. These panels are packed once, for the first
 * block of columns. If keeps_a is false, `a` holds one panel, which is packed each time. */
static void multiply_block(struct panel *panel, char *a, bool keeps_a)
{
    const struct gemm *gemm = panel->gemm;
    const struct gemm_code *code = panel->code;
    /* All tiles get nearly the same number of rows, because the latency of additions limits a tile with few
     * rows. */
    size_t tile_rows = pieces_of(gemm->rows, pieces_of(gemm->rows, code->rows));
    size_t kept = panel->k * gemm->rows * code->element_bytes;
    for (panel->row = 0; panel->row < gemm->rows; panel->row += panel->rows) {
        panel->rows = min(tile_rows, gemm->rows - panel->row);
        panel->a = a + (keeps_a ? kept + panel->row * panel->k_count * code->element_bytes : 0);
        panel->packs_b = panel->row == 0;
        if (panel->column == 0 || !keeps_a)
            pack(code, &gemm->a, panel->row, panel->rows, panel->k, panel->k_count, panel->rows, panel->a);
        for (size_t column = 0; column < panel->columns; column += code->columns)
            multiply_tile(panel, column);
    }
}

/* Calls gemm->finish for all rows of a block of columns. */
static void finish_block(struct panel *panel, void *scratch)
{
    const struct gemm_finish *finish = panel->gemm->finish;
    for (panel->row = 0; panel->row < panel->gemm->rows; panel->row++)
        for (size_t column = 0, some, left; column < panel->columns; column += some) {
            char *c = place(panel, column, &left);
            some = min(left, panel->columns - column);
            finish->fn(finish->context, NULL, c, some, (char *)scratch + GEMM_SCRATCH_BYTES);
        }
}

/* Computes a product whose sums have the type of c. */
static void run_wide(const struct gemm_code *code, const struct gemm *gemm, void *scratch)
{
    int64_t offsets[MAX_COLUMNS];
    struct panel panel = {.code = code,
                          .gemm = gemm,
                          .b = (char *)scratch + A_BYTES,
                          .tile = (char *)scratch + A_BYTES + B_BYTES,
                          .offsets = offsets};
    size_t depth_block = gemm_depth_block(gemm->depth);
    size_t column_block = BLOCK_BYTES / (DEPTH_BLOCK * code->element_bytes);
    bool keeps_a = gemm->rows * gemm->depth * code->element_bytes <= PANELS_BYTES;
    for (; gemm->rows && panel.column < gemm->columns; panel.column += column_block) {
        panel.columns = min(column_block, gemm->columns - panel.column);
        if (gemm->find_columns)
            gemm->find_columns(&gemm->b, gemm->b.first_line + panel.column, panel.columns, offsets);
        /* With a depth of 0 there is one empty block, which writes sums of 0. */
        for (panel.k = 0; panel.k == 0 || panel.k < gemm->depth; panel.k += depth_block) {
            panel.k_count = min(depth_block, gemm->depth - panel.k);
            panel.adds = gemm->adds || panel.k > 0;
            multiply_block(&panel, scratch, keeps_a);
        }
        if (gemm->finish)
            finish_block(&panel, scratch);
    }
}

/* --- narrow results ------------------------------------------------------------------------------------- */

/* Rounds `columns` sums of one row, from column `column` of the product on, and stores them in c, or calls
 * gemm->finish. row: the address of the row in c. offsets: of the columns, if gemm->find_columns is set. */
static void store_narrow(const struct gemm *gemm, float *sums, size_t column, size_t columns, char *row,
                         const int64_t *offsets, void *scratch)
{
    char narrow[GEMM_NARROW_BYTES * MAX_COLUMNS];
    if (gemm->find_columns) {
        gemm->narrow(sums, columns, narrow);
        for (size_t j = 0; j < columns; j++)
            memcpy(row + offsets[j] * GEMM_NARROW_BYTES, narrow + j * GEMM_NARROW_BYTES, GEMM_NARROW_BYTES);
        return;
    }
    for (size_t j = 0, some; j < columns; j += some) {
        size_t at = column + j, run = gemm->run ? at / gemm->run : 0, in_run = at - run * gemm->run;
        int64_t offset = (int64_t)run * gemm->next_run + (int64_t)in_run;
        some = gemm->run ? min(gemm->run - in_run, columns - j) : columns - j;
        if (gemm->finish)
            gemm->finish->fn(gemm->finish->context, sums + j, row + offset * (int64_t)gemm->finish->c_bytes,
                             some, (char *)scratch + GEMM_SCRATCH_BYTES);
        else
            gemm->narrow(sums + j, some, row + offset * GEMM_NARROW_BYTES);
    }
}

/* Computes `rows` rows and `columns` columns of a product with narrow results. */
static void run_narrow_block(const struct gemm_code *code, const struct gemm *gemm, size_t row, size_t rows,
                             size_t column, size_t columns, void *scratch)
{
    int64_t offsets[MAX_COLUMNS];
    float *sums = (float *)(void *)((char *)scratch + A_BYTES + B_BYTES + TILE_BYTES);
    struct gemm block = *gemm;
    block.narrow = NULL;
    block.finish = NULL;
    block.find_columns = NULL;
    block.run = 0;
    block.rows = rows;
    block.columns = columns;
    block.a.first_line += row;
    block.b.first_line += column;
    block.first_column = block.b.first_line;
    block.c = sums;
    block.next_row = (int64_t)columns;
    run_wide(code, &block, scratch);
    if (gemm->find_columns)
        gemm->find_columns(&gemm->b, block.b.first_line, columns, offsets);
    int64_t row_bytes = gemm->next_row * (int64_t)gemm_c_bytes(gemm->finish, gemm->narrow, 0);
    for (size_t i = 0; i < rows; i++)
        store_narrow(gemm, sums + i * columns, block.b.first_line, columns,
                     (char *)gemm->c + (int64_t)(row + i) * row_bytes, offsets, scratch);
}

/* Computes a product with narrow results, block by block. The sums of a block fit into SUMS_BYTES. */
static void run_narrow(const struct gemm_code *code, const struct gemm *gemm, void *scratch)
{
    size_t most_rows = MAX_PIECE / TILE_ROWS * TILE_ROWS, rows, columns;
    for (size_t row = 0; row < gemm->rows; row += rows) {
        rows = min(most_rows, gemm->rows - row);
        size_t most_columns =
            min(SUMS_BYTES / sizeof(float) / rows, BLOCK_BYTES / (DEPTH_BLOCK * sizeof(float)));
        most_columns = most_columns / TILE_COLUMNS * TILE_COLUMNS;
        for (size_t column = 0; column < gemm->columns; column += columns) {
            columns = min(most_columns, gemm->columns - column);
            run_narrow_block(code, gemm, row, rows, column, columns, scratch);
        }
    }
}

void gemm_run(const struct gemm_code *code, const struct gemm *gemm, void *scratch)
{
    (gemm->narrow ? run_narrow : run_wide)(code, gemm, scratch);
}

/* --- pieces of work ------------------------------------------------------------------------------------- */

/* Divides `whole` into at most `parts` parts. The size of a part is a multiple of `multiple`. */
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
    share(rows, pieces_of(rows, MAX_PIECE), TILE_ROWS, &cut.rows, &cut.row_pieces);
    share(columns, pieces_of(columns, MAX_PIECE), TILE_COLUMNS, &cut.columns, &cut.column_pieces);
    while (cut.row_pieces * cut.column_pieces < MIN_PIECES &&
           2. * (double)cut.rows * (double)cut.columns * (double)depth > PIECE_FLOP) {
        if (cut.rows >= 2 * MIN_PIECE && cut.rows >= cut.columns)
            share(rows, 2 * cut.row_pieces, TILE_ROWS, &cut.rows, &cut.row_pieces);
        else if (cut.columns >= 2 * MIN_PIECE)
            share(columns, 2 * cut.column_pieces, TILE_COLUMNS, &cut.columns, &cut.column_pieces);
        else
            break;
    }
    return cut;
}

size_t gemm_grain(const struct gemm_cut *cut, size_t depth)
{
    return 1 +
           (size_t)(MIN_THREAD_WORK / (1 + 2. * (double)cut->rows * (double)cut->columns * (double)depth));
}

static struct gemm piece_of(const struct gemm *gemm, const struct gemm_cut *cut, size_t piece,
                            size_t element_bytes)
{
    size_t row = piece / cut->column_pieces * cut->rows, column = piece % cut->column_pieces * cut->columns;
    struct gemm part = *gemm;
    part.rows = min(cut->rows, gemm->rows - row);
    part.columns = column < gemm->columns ? min(cut->columns, gemm->columns - column) : 0;
    part.a.first_line += row;
    part.b.first_line += column;
    /* `place` adds the offset of the column, so part.c is the address of column 0. */
    part.c = (char *)gemm->c +
             (int64_t)row * gemm->next_row * (int64_t)gemm_c_bytes(gemm->finish, gemm->narrow, element_bytes);
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
