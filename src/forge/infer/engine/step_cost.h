/* infer/engine/step_cost.h - the joules that a cost model expects for the rows of a step.
 *
 * The weights of the model are read once per step, and this cost is shared equally by all rows. The cache is
 * read for each sequence, up to the last position that the step computes; its capacity has no influence.
 * Energies per FLOP and byte: ir/operation_cost.h.
 * Note: FLOP are those of products with weights and of attention, as if every row had logits. Bytes are a
 * lower bound, because rows of a sequence share what a step reads, and intermediate values are not
 * counted. */
#ifndef FORGE_INFER_STEP_COST_H
#define FORGE_INFER_STEP_COST_H

#include "forge/infer/model/model_file.h"

struct step_cost {
    double row_flop;       /* FLOP of the products with weights, per row */
    double position_flop;  /* FLOP of attention, per row and position to which it attends */
    double position_bytes; /* bytes of keys and values, per position */
    double row_bytes;      /* bytes that are read from tables, per row */
    double weight_bytes;   /* bytes of weights, per step */
};

/* Computes the costs of a model whose cache has this element type. */
struct step_cost step_cost_of(const struct model_file *file, forge_dtype cache_dtype);

/* The parts of the cost of rows. The energy of each part has an error of its own, whose standard deviation is
 * COST_JOULES_LOG_SD. Weights and cache are separate, because they may be in different levels of memory. */
enum cost_part { COST_OF_FLOP, COST_OF_WEIGHTS, COST_OF_CACHE, COST_PARTS };
/* Expected joules of each part. */
struct row_cost {
    double joules[COST_PARTS];
};

/* Returns the cost of `count` rows of one sequence from position `first` on, in a step of `rows` rows. */
struct row_cost step_cost_rows(const struct step_cost *cost, size_t first, size_t count, size_t rows);
/* Returns the joules of all parts. */
static inline double row_cost_sum(const struct row_cost *cost)
{
    return cost->joules[COST_OF_FLOP] + cost->joules[COST_OF_WEIGHTS] + cost->joules[COST_OF_CACHE];
}
/* Adds a cost to *sum. */
static inline void row_cost_add(struct row_cost *sum, const struct row_cost *cost)
{
    for (int part = 0; part < COST_PARTS; part++)
        sum->joules[part] += cost->joules[part];
}

#endif
