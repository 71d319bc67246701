/* backends/cpu/reduce.h - tells which reductions have fast kernels (isa/reduce.inc), and prepares them.
 *
 * There are two forms. Rows: the elements of one result are contiguous, in one stretch or several. Columns:
 * the results are contiguous. The reference computes all other reductions.
 */
#ifndef FORGE_CPU_REDUCE_H
#define FORGE_CPU_REDUCE_H

#include "forge/reference/reference_walk.h"

enum { REDUCE_COLUMNS = 32 }; /* results computed at once */

struct reduction {
    forge_reduce_kind kind;
    struct walk heads; /* the first element of each result */
    struct walk line;  /* the elements of x that are reduced to one result */
    size_t depth;      /* number of these elements */
    bool is_of_rows;
    size_t stretch; /* rows: number of contiguous elements */
    size_t results;
    void *out;
};

bool reduce_takes_f32(const struct launch *launch);
bool reduce_takes_f64(const struct launch *launch);
struct reduction reduce_of(const struct launch *launch);
/* Returns the number of pieces. A piece is one result (rows), or REDUCE_COLUMNS results (columns). */
size_t reduce_pieces(const struct launch *launch, size_t *out_grain);

#endif
