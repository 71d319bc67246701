/* compiler/fuse_cost.c - the modelled joules that are saved if a value between a row operation and its
 * neighbours is not stored.
 *
 * Saved are the bytes that are written and read, and the launch. If they come from memory, this also saves
 * time; if they come from a cache, measurements show none. A kernel that does not take its rows in order
 * calls the steps for each row, and one that reads an operand several times computes it several times. Both
 * cost time, and so the power of the device. */
#include "forge/compiler/fuse.h"
#include "forge/ir/operation_cost.h"

/* Measured with AVX2: 30 to 220 ns for a call of the steps and the accesses in another order; 0.1 ns for an
 * element of a step in the cache. */
#define CALL_SECONDS    200e-9
#define ELEMENT_SECONDS 0.1e-9

static enum fused_row kind_of(const struct node *row)
{
    return row->op == OP_REDUCE ? FUSED_ROWS
                                : fused_row_of(((const struct composite_attributes *)row->attributes)->name);
}

uint32_t fuse_reads(const struct node *row)
{
    switch (kind_of(row)) {
    case FUSED_BATCH_NORM_TRAINING:
        return 3;
    case FUSED_BATCH_NORM_GRADIENT:
        return 4;
    default:
        return 1;
    }
}

/* Returns the number of calls of the steps that a separate launch does not need. */
static double extra_calls(const forge_graph *graph, const struct node *row, double elements)
{
    enum { STRETCH = 1024 }; /* elements of a call, at most */
    forge_shape shape = dim_max_shape(&graph->dims, &graph->values[node_input(graph, row, 0)].shape);
    double run = 1;
    if (fuse_reads(row) == 1)
        return 0;
    for (uint32_t i = 2; i < shape.rank; i++)
        run *= (double)shape.dims[i];
    return elements / (run < STRETCH ? run : STRETCH);
}

double fuse_saved_joules(const struct fusion *f, const struct node *row, forge_value value, bool is_before)
{
    const struct value *v = &f->graph->values[value];
    const struct device_rates *rates = &f->rates;
    forge_shape shape = dim_max_shape(&f->graph->dims, &v->shape);
    double elements = (double)forge_shape_elements(&shape),
           bytes = (double)forge_dtype_size_bytes(v->dtype, forge_shape_elements(&shape));
    double watts = rates->static_watts + rates->core_watts;
    uint32_t reads = is_before ? fuse_reads(row) : 1;
    enum rate_level level = rates_level(rates, 1, 2 * bytes);
    double transfer_s = level == RATE_MEMORY ? 2 * bytes / rates->core_bytes_per_s[level] : 0;
    double steps_s = reads * extra_calls(f->graph, row, elements) * CALL_SECONDS +
                     (reads - 1) * elements * ELEMENT_SECONDS;
    return 2 * bytes * rates->byte_joules[level] + (rates->launch_s + transfer_s - steps_s) * watts;
}
