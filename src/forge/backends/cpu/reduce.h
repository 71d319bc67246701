/* backends/cpu/reduce.h - checks which reductions have fast kernels (isa/reduce.inc), and prepares the
 * kernels' arguments.
 *
 * The kernels have two forms. Form "rows": the elements of one result are in one or several stretches.
 * Stretches that are not contiguous are copied in blocks. Form "columns": the first elements of neighbouring
 * results are contiguous. Reference kernels compute products and the indices of maxima.
 */
#ifndef FORGE_CPU_REDUCE_H
#define FORGE_CPU_REDUCE_H

#include "forge/reference/reference_walk.h"

enum {
    REDUCE_COLUMNS = 32, /* number of results that are computed at once */
    REDUCE_BLOCK = 256,  /* elements that are copied at once */
};

struct reduction {
    forge_reduce_kind kind;
    struct walk heads; /* the first element of each result */
    struct walk line;  /* the elements of x that are reduced to one result */
    size_t depth;      /* number of elements that are reduced to one result */
    bool is_of_rows;
    size_t stretch; /* form "rows" only: number of elements of a stretch */
    int64_t step;   /* form "rows" only: distance of neighbouring elements of a stretch, in elements */
    size_t results;
    void *out;
};

/* Return true if the kernel for this type supports the launch. */
bool reduce_takes_f32(const struct launch *launch);
bool reduce_takes_f64(const struct launch *launch);
bool reduce_takes_bf16(const struct launch *launch);
bool reduce_takes_f16(const struct launch *launch);
struct reduction reduce_of(const struct launch *launch);
/* Returns the number of pieces. A piece is one result (rows), or REDUCE_COLUMNS results (columns).
 * *out_grain: minimum number of pieces per thread. */
size_t reduce_pieces(const struct launch *launch, size_t *out_grain);

#endif
