/* backends/cpu/fused_rows.h - the composite "fused_rows": a row operation with elementwise steps before and
 * after it (ir/fused.h).
 *
 * The kernel of the row operation runs on a launch whose views have computed elements (view.computed): when
 * it reads a row of an operand, the steps before it compute this row into scratch memory, and when it stores
 * a row of the result, the steps after it compute the elements that are stored. So a result has the same
 * bits as without fusion. A kernel that reads an operand several times computes it several times.
 */
#ifndef FORGE_CPU_FUSED_ROWS_H
#define FORGE_CPU_FUSED_ROWS_H

#include "forge/backends/cpu/fused.h"
#include "forge/ir/infer.h"

enum {
    FUSED_COMPUTED = 2, /* maximum number of computed operands */
    /* minimum number of elements in a row, if rows are not taken in order: then each row has the cost of
     * calling the steps */
    FUSED_MIN_ROW = 256,
    /* scratch memory for the steps: their tiles, and blocks of rows */
    FUSED_TILES_BYTES =
        FUSED_OPERANDS * FUSED_VALUE_BYTES + (FUSED_COMPUTED + 1) * FUSED_TILE * (int)sizeof(float),
};

/* A launch of fused_rows, divided into the launch of the row operation and the steps before and after it. It
 * points into itself. */
struct fused_rows {
    struct launch row;
    uint32_t kernel; /* enum fused_row; FUSED_ROWS for a reduction */
    struct view inputs[FUSED_MAX_OPERANDS], outputs[OP_MAX_OUTPUTS];
    struct composite_attributes composite;
    struct reduce_attributes reduce;
    struct fused_part before[FUSED_COMPUTED], after;
    uint32_t before_count;
    size_t ordered_row;               /* elements of a row, if rows are taken in order; otherwise 0 */
    bool has_after;                   /* results are computed in scratch memory, and stored by `after` */
    uint8_t computed[FUSED_COMPUTED]; /* the operand that before[i] computes */
};

/* Divides a launch. Returns false if there is no kernel for it. */
bool fused_rows_divide(const struct launch *launch, struct fused_rows *out);
/* Return true if there is a kernel for the launch that works in one round, or in two rounds (kernel.h). */
bool fused_rows_take(const struct launch *launch);
bool fused_rows_take_rounds(const struct launch *launch);
size_t fused_rows_pieces(const struct launch *launch, size_t *out_grain);
size_t fused_rows_second_pieces(const struct launch *launch, size_t *out_grain);
size_t fused_rows_shared_bytes(const struct launch *launch);

#endif
