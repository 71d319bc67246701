/* backends/cpu/reduce.h - which reductions of f32 have fast kernels (isa/reduce.inc), and what they work on.
 *
 * Owns two forms: rows, where the elements of one result follow each other in one stretch or several, and columns, where
 * results do. Others are the reference's.
 */
#ifndef FORGE_CPU_REDUCE_H
#define FORGE_CPU_REDUCE_H

#include "forge/reference/walk.h"

enum { REDUCE_COLUMNS = 32 }; /* results at once */

struct reduction {
    forge_reduce_kind kind;
    struct walk heads; /* the first element of each result */
    struct walk line;  /* the elements of one */
    size_t depth;      /* how many */
    bool is_of_rows;
    size_t stretch; /* how many follow each other; of rows */
    size_t results;
    void *out;
};

bool reduce_takes_f32(const struct launch *launch);
bool reduce_takes_f64(const struct launch *launch);
struct reduction reduce_of(const struct launch *launch);
/* Results, or groups of REDUCE_COLUMNS. */
size_t reduce_pieces(const struct launch *launch, size_t *out_grain);

#endif
