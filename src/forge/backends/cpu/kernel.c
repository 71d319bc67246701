/* backends/cpu/kernel.c - see kernel.h. */
#include "forge/backends/cpu/kernel.h"

#include <string.h>
#include "forge/backends/cpu/scatter.h"
#include "forge/ir/operation_cost.h"
#include "forge/reference/reference.h"

/* Minimum work per thread, in elements: a few microseconds, several times the cost of waking a thread. */
#define MIN_THREAD_WORK 16384

bool kernel_takes(const struct cpu_kernel *kernel, const struct launch *launch)
{
    const struct composite_attributes *composite = launch->attributes;
    return kernel->op == launch->op &&
           (kernel->op != OP_COMPOSITE || strcmp(kernel->composite, composite->name) == 0) &&
           (!kernel->takes || kernel->takes(launch));
}

/* Returns the number of pieces. A piece is one row of the output. The work of a row is the number of input
 * elements divided by the number of rows. */
static size_t rows(const struct launch *launch, size_t *out_grain)
{
    size_t count = launch_rows(launch), touched = 0;
    for (size_t i = 0; i < launch->input_count; i++)
        touched += forge_shape_elements(&launch->inputs[i].shape);
    size_t of_row = touched / (count ? count : 1) + 1;
    *out_grain = MIN_THREAD_WORK / of_row + 1;
    return count;
}

/* Returns the number of pieces. A piece is one row of the output. The work of a row is the size of the right
 * matrix, because each row of a product reads the whole right matrix. */
static size_t product_rows(const struct launch *launch, size_t *out_grain)
{
    const forge_shape *right = &launch->inputs[1].shape;
    size_t of_row = (size_t)right->dims[right->rank - 1] * (size_t)right->dims[right->rank - 2] + 1;
    *out_grain = MIN_THREAD_WORK / of_row + 1;
    return launch_rows(launch);
}

/* Returns the number of pieces. A piece is one row of the output. The work of a row is the FLOP of the launch
 * divided by the number of rows. */
static size_t sliding_rows(const struct launch *launch, size_t *out_grain)
{
    size_t count = launch_rows(launch);
    double of_row = cost_of_launch(launch).flop / (double)(count ? count : 1) + 1;
    *out_grain = (size_t)(MIN_THREAD_WORK / of_row) + 1;
    return count;
}

/* Returns the number of pieces. A piece is one line of the output along the axis. The work of a line is the
 * FLOP of the launch divided by the number of lines. */
static size_t lines(const struct launch *launch, size_t *out_grain)
{
    size_t count = launch_pieces(launch);
    double of_line = cost_of_launch(launch).flop / (double)(count ? count : 1) + 1;
    *out_grain = (size_t)(MIN_THREAD_WORK / of_line) + 1;
    return count;
}

static bool group_of_one(const struct launch *launch)
{
    return ((const struct collective_attributes *)launch->attributes)->size == 1;
}

const struct cpu_kernel reference_kernels[] = {
    {"reference_iota", OP_IOTA, IN_PLACE_NOT, NULL, rows, reference_iota},
    {"reference_unary", OP_UNARY, IN_PLACE_ANY, NULL, rows, reference_unary},
    {"reference_binary", OP_BINARY, IN_PLACE_ANY, NULL, rows, reference_binary},
    {"reference_select", OP_SELECT, IN_PLACE_ANY, NULL, rows, reference_select},
    {"reference_cast", OP_CAST, IN_PLACE_NOT, NULL, rows, reference_cast},
    {"reference_reduce", OP_REDUCE, IN_PLACE_NOT, NULL, rows, reference_reduce},
    {"reference_matmul", OP_MATMUL, IN_PLACE_NOT, NULL, product_rows, reference_matmul},
    {"reference_reshape", OP_RESHAPE, IN_PLACE_NOT, NULL, rows, reference_reshape},
    {"reference_transfer", OP_TRANSFER, IN_PLACE_NOT, NULL, rows, reference_transfer},
    {"reference_stop_gradient", OP_STOP_GRADIENT, IN_PLACE_NOT, NULL, rows, reference_stop_gradient},
    {"reference_collective", OP_COLLECTIVE, IN_PLACE_NOT, group_of_one, rows, reference_collective},
    {"reference_broadcast", OP_BROADCAST, IN_PLACE_NOT, NULL, rows, reference_broadcast},
    {"reference_transpose", OP_TRANSPOSE, IN_PLACE_NOT, NULL, rows, reference_transpose},
    {"reference_concat", OP_CONCAT, IN_PLACE_NOT, NULL, rows, reference_concat},
    {"reference_slice", OP_SLICE, IN_PLACE_NOT, NULL, rows, reference_slice},
    {"reference_pad", OP_PAD, IN_PLACE_NOT, NULL, rows, reference_pad},
    {"reference_conv", OP_CONV, IN_PLACE_NOT, NULL, sliding_rows, reference_conv},
    {"reference_window", OP_WINDOW, IN_PLACE_NOT, NULL, sliding_rows, reference_window},
    {"reference_unfold", OP_UNFOLD, IN_PLACE_NOT, NULL, rows, reference_unfold},
    {"reference_fold", OP_FOLD, IN_PLACE_NOT, NULL, sliding_rows, reference_fold},
    {"reference_share", OP_SHARE, IN_PLACE_NOT, NULL, sliding_rows, reference_share},
    {"reference_random", OP_RANDOM, IN_PLACE_NOT, NULL, sliding_rows, reference_random},
    {"reference_gather", OP_GATHER, IN_PLACE_NOT, NULL, rows, reference_gather},
    {"reference_scatter", OP_SCATTER, IN_PLACE_FIRST, NULL, scatter_pieces, reference_scatter},
    {"reference_scan", OP_SCAN, IN_PLACE_NOT, NULL, lines, reference_scan},
    {"reference_sort", OP_SORT, IN_PLACE_NOT, NULL, lines, reference_sort},
    {NULL},
};
