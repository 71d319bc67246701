/* backends/estimated/reference_rates.c - see reference_rates.h.
 *
 * The figures are from bench/reference.c on one core of an AMD EPYC (Zen 4, 2.6 GHz, virtual), 23 November
 * 2026, f32. */
#include "forge/backends/estimated/reference_rates.h"

#include <math.h>

/* Additional time of a copy for each run of contiguous elements. Measured: 23 to 110 ns for runs of 1 to 64
 * elements. */
#define PIECE_SECONDS 60e-9

static const struct {
    double per_s; /* FLOP/s, or elements read and written per s, whichever is larger */
    bool copies;  /* true: the kernel copies whole runs of elements */
} rates[OP_COUNT] = {
    [OP_IOTA] = {2.2e8},
    [OP_UNARY] = {3.1e8},
    [OP_BINARY] = {8.2e8},
    [OP_SELECT] = {5.2e8},
    [OP_CAST] = {5.5e8},
    [OP_REDUCE] = {5.9e8},
    [OP_MATMUL] = {5.0e9},
    [OP_RESHAPE] = {4.8e9, true},
    [OP_BROADCAST] = {3.2e9, true},
    [OP_TRANSPOSE] = {3.2e8},
    [OP_CONCAT] = {4.3e9, true},
    [OP_SLICE] = {4.8e9, true},
    [OP_PAD] = {3.1e9, true},
    [OP_CONV] = {1.3e9},
    [OP_WINDOW] = {3.7e8},
    [OP_UNFOLD] = {1.3e8},
    [OP_FOLD] = {4.4e8},
    [OP_RANDOM] = {1.8e9},
    [OP_GATHER] = {5.2e9, true},
    [OP_SCATTER] = {6.5e8},
    [OP_SCAN] = {4.1e8},
    [OP_SORT] = {1.9e7},
    [OP_SHARE] = {5.4e7},
    [OP_TRANSFER] = {4.8e9, true},
    [OP_COLLECTIVE] = {4.6e9, true},
    [OP_STOP_GRADIENT] = {4.6e9, true},
};

double reference_rate(enum op op)
{
    return rates[op].per_s > 0 ? rates[op].per_s : NAN;
}

/* Returns the number of contiguous elements along the last dimensions of a view. */
static double run_of(const struct view *view)
{
    int64_t run = 1;
    for (uint32_t i = view->shape.rank; i-- > 0; run *= view->shape.dims[i])
        if (view->shape.dims[i] != 1 && view->strides[i] != run)
            break;
    return (double)run;
}

/* Returns the maximum number of elements that the kernel copies at once: a part of one input of a concat, the
 * elements of one index of a gather, or one row. */
static double joint_of(const struct launch *launch, const struct view *input)
{
    const struct axis_attributes *a = launch->attributes;
    double run = 1;
    if (launch->op != OP_CONCAT && launch->op != OP_GATHER)
        return input->shape.rank ? fmax((double)input->shape.dims[input->shape.rank - 1], 1) : 1;
    for (uint32_t i = a->axis + (launch->op == OP_GATHER); i < input->shape.rank; i++)
        run *= (double)input->shape.dims[i];
    return fmax(run, 1);
}

/* Returns the number of runs of elements that a copy moves; 1 for a packed input that is copied as a
 * whole. */
static double pieces_of(const struct launch *launch)
{
    double pieces = 0;
    size_t count = launch->op == OP_GATHER ? 1 : launch->input_count;
    for (size_t i = 0; i < count; i++) {
        const struct view *input = &launch->inputs[i];
        const struct view *moved = launch->op == OP_GATHER ? &launch->outputs[0] : input;
        bool is_cut = launch->op == OP_CONCAT || launch->op == OP_GATHER || launch->op == OP_PAD;
        double run = is_cut ? fmin(run_of(input), joint_of(launch, input)) : run_of(input);
        pieces += (double)forge_shape_elements(&moved->shape) / fmax(run, 1);
    }
    return pieces;
}

double reference_units(const struct launch *launch, const struct program_cost *cost)
{
    size_t size_bytes = forge_dtype_size_bytes(launch->outputs[0].dtype, 1);
    double elements = (cost->read_bytes + cost->written_bytes) / (double)(size_bytes ? size_bytes : 1);
    double seconds = fmax(cost->flop, elements) / rates[launch->op].per_s;
    if (rates[launch->op].copies)
        seconds += pieces_of(launch) * PIECE_SECONDS;
    return rates[launch->op].per_s > 0 ? seconds / REFERENCE_UNIT_SECONDS : 0;
}
