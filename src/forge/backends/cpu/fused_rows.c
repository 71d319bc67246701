/* backends/cpu/fused_rows.c - see fused_rows.h. */
#include "forge/backends/cpu/fused_rows.h"

#include <string.h>
#include "forge/backends/cpu/batch_norm.h"
#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/norm.h"
#include "forge/backends/cpu/packed.h"
#include "forge/backends/cpu/reduce.h"
#include "forge/backends/cpu/softmax.h"

/* --- the kernels of row operations ---------------------------------------------------------------------- */

static size_t softmax_row(const struct launch *launch)
{
    return softmax_of(launch).count;
}

static size_t norm_row(const struct launch *launch)
{
    return norm_of(launch).count;
}

static size_t batch_norm_row(const struct launch *launch)
{
    return batch_norm_of(launch).run;
}

static size_t reduce_row(const struct launch *launch)
{
    return reduce_of(launch).depth;
}

/* Returns true if the reduced axes are the last ones, so that the elements of a result are a row of x. */
static bool takes_reduction(const struct launch *launch)
{
    const struct reduce_attributes *a = launch->attributes;
    const struct view *x = &launch->inputs[0];
    uint32_t all = (1u << x->shape.rank) - 1, kept = all & ~a->axes;
    if (a->axes & ~all || (kept & (kept + 1)) != 0 || !reduce_takes_f32(launch) || !view_is_packed(x))
        return false;
    struct reduction r = reduce_of(launch);
    return r.is_of_rows && r.depth > 0 && r.stretch == r.depth &&
           forge_shape_elements(&launch->outputs[0].shape) == r.results;
}

static const struct row_kernel {
    bool (*takes)(const struct launch *launch);
    size_t (*row)(const struct launch *launch); /* returns the elements of a row */
    size_t (*pieces)(const struct launch *launch, size_t *out_grain);
    /* the number of rows of f32 in scratch memory, if no operand has f32 in memory */
    size_t buffers;
    bool takes_order; /* its pieces are rows, and it takes them in order, each once */
    bool has_rounds;
    bool writes_early; /* writes a row of the result before it has read all operands of this row */
} row_kernels[FUSED_ROWS + 1] = {
    [FUSED_SOFTMAX] = {softmax_takes, softmax_row, softmax_pieces, 3, .takes_order = true},
    [FUSED_LOG_SOFTMAX] = {softmax_takes, softmax_row, softmax_pieces, 3, .takes_order = true},
    [FUSED_LAYER_NORM] = {norm_takes, norm_row, norm_pieces, NORM_BUFFERS, .takes_order = true},
    [FUSED_RMS_NORM] = {norm_takes, norm_row, norm_pieces, NORM_BUFFERS, .takes_order = true},
    [FUSED_BATCH_NORM_TRAINING] = {batch_norm_takes_training, batch_norm_row, batch_norm_pieces, 3},
    [FUSED_SOFTMAX_GRADIENT] = {softmax_takes_gradient, softmax_row, softmax_pieces, 3, .takes_order = true,
                                .writes_early = true},
    [FUSED_LOG_SOFTMAX_GRADIENT] = {softmax_takes_gradient, softmax_row, softmax_pieces, 3,
                                    .takes_order = true, .writes_early = true},
    [FUSED_LAYER_NORM_GRADIENT] = {norm_takes_gradient, norm_row, norm_blocks, NORM_GRADIENT_BUFFERS,
                                   .has_rounds = true},
    [FUSED_RMS_NORM_GRADIENT] = {norm_takes_gradient, norm_row, norm_blocks, NORM_GRADIENT_BUFFERS,
                                 .has_rounds = true},
    [FUSED_BATCH_NORM_GRADIENT] = {batch_norm_takes_gradient, batch_norm_row, batch_norm_pieces, 3},
    [FUSED_ROWS] = {takes_reduction, reduce_row, reduce_pieces, 1, .takes_order = true},
};

/* --- division ------------------------------------------------------------------------------------------- */

/* Sets the operands of the row operation. Returns false if too many of them are computed. */
static bool set_operands(const struct launch *launch, const struct fused *steps, const struct fused_step *row,
                         struct fused_rows *out)
{
    for (uint32_t k = 0; k < row->operand_count; k++) {
        if (row->operands[k] < FUSED_MAX_INPUTS) {
            out->inputs[k] = launch->inputs[row->operands[k]];
            continue;
        }
        if (out->before_count == FUSED_COMPUTED)
            return false;
        struct fused_part *part = &out->before[out->before_count];
        if (!fused_take_part(launch, steps, row->operands[k], FUSED_MAX_STEPS, NULL, NULL, part) ||
            part->output.dtype != FORGE_F32)
            return false;
        out->inputs[k] = part->output;
        out->computed[out->before_count++] = (uint8_t)k;
    }
    return true;
}

/* Sets the outputs of the row operation, and the steps after it. */
static bool set_outputs(const struct launch *launch, const struct fused *steps, uint32_t product,
                        struct fused_rows *out)
{
    for (size_t k = 0; k < launch->output_count; k++)
        out->outputs[k] = launch->outputs[k];
    out->has_after = product + 1 < steps->count || row_kernels[out->kernel].writes_early;
    if (out->has_after && fused_is_gradient((enum fused_row)out->kernel) && !(steps->row.wanted & 1))
        return false; /* the first output is no array of rows */
    if (out->has_after)
        out->outputs[0] = view_packed(FORGE_F32, NULL, launch->outputs[0].shape);
    return fused_take_part(launch, steps, (uint8_t)(FUSED_MAX_INPUTS + steps->count - 1), product,
                           &out->outputs[0], &launch->outputs[0], &out->after);
}

/* Returns true if the rows that the kernel keeps in scratch memory leave room for the tiles of the steps. */
static bool has_room(const struct fused_rows *r)
{
    const struct row_kernel *kernel = &row_kernels[r->kernel];
    size_t elements = kernel->row(&r->row), limit = KERNEL_SCRATCH_BYTES - FUSED_TILES_BYTES;
    return (kernel->takes_order || elements >= FUSED_MIN_ROW) &&
           elements <= limit / sizeof(float) / kernel->buffers - 16;
}

/* Like fused_rows_divide, but does not set ordered_row, because the kernel may not support the operands. */
static bool divide(const struct launch *launch, struct fused_rows *out)
{
    struct fused steps;
    if (launch->output_count > OP_MAX_OUTPUTS || !fused_read_launch(launch, &steps))
        return false;
    uint32_t product = fused_product(&steps);
    if (product == steps.count || !fused_is_row((enum op)steps.steps[product].op))
        return false;
    const struct fused_step *row = &steps.steps[product];
    bool is_reduction = row->op == OP_REDUCE;
    if (launch->output_count != fused_outputs(&steps) || (is_reduction && product + 1 < steps.count))
        return false;
    out->kernel = is_reduction ? FUSED_ROWS : row->kind;
    out->before_count = 0;
    out->composite = steps.row;
    out->reduce = steps.reduce;
    out->reduce.accumulate = FORGE_F32;
    out->row = (struct launch){.op = (enum op)row->op,
                               .attributes = is_reduction ? (const void *)&out->reduce : &out->composite,
                               .inputs = out->inputs,
                               .input_count = row->operand_count,
                               .outputs = out->outputs,
                               .output_count = launch->output_count};
    return set_operands(launch, &steps, row, out) && set_outputs(launch, &steps, product, out);
}

static bool takes(const struct launch *launch, bool has_rounds)
{
    struct fused_rows r;
    return divide(launch, &r) && row_kernels[r.kernel].has_rounds == has_rounds &&
           row_kernels[r.kernel].takes(&r.row) && has_room(&r);
}

bool fused_rows_divide(const struct launch *launch, struct fused_rows *out)
{
    if (!divide(launch, out))
        return false;
    const struct row_kernel *kernel = &row_kernels[out->kernel];
    out->ordered_row = kernel->takes_order ? kernel->row(&out->row) : 0;
    return true;
}

bool fused_rows_take(const struct launch *launch)
{
    return takes(launch, false);
}

bool fused_rows_take_rounds(const struct launch *launch)
{
    return takes(launch, true);
}

size_t fused_rows_pieces(const struct launch *launch, size_t *out_grain)
{
    struct fused_rows r;
    *out_grain = 1;
    return fused_rows_divide(launch, &r) ? row_kernels[r.kernel].pieces(&r.row, out_grain) : 0;
}

size_t fused_rows_second_pieces(const struct launch *launch, size_t *out_grain)
{
    struct fused_rows r;
    *out_grain = 1;
    return fused_rows_divide(launch, &r) ? norm_columns(&r.row, out_grain) : 0;
}

size_t fused_rows_shared_bytes(const struct launch *launch)
{
    struct fused_rows r;
    return fused_rows_divide(launch, &r) ? norm_shared_bytes(&r.row) : 0;
}
