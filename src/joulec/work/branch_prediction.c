/* joulec/work/branch_prediction.c - see branch_prediction.h. */
#include "joulec/work/branch_prediction.h"

#include <math.h>
#include <string.h>

/* Misprediction rates of branches that depend on data, if no probability is known. The rate is near 0 if the
 * data has an order, and at most 1/2. Comparisons of order and tests of bits: 1/2, of which a predictor
 * learns half. Tests for equality: true in 1/6 (opcode heuristic of Ball and Larus, 1993, with the figures of
 * Wu and Larus, 1994), of which a predictor learns half. Limits: the geometric mean of 1/32 and 1/2
 * (assumed). */
static const double misprediction_rates[] = {[BRANCH_TEST_LIMIT] = 1.0 / 8,
                                             [BRANCH_TEST_EQUAL] = 1.0 / 12,
                                             [BRANCH_TEST_ORDER] = 1.0 / 4,
                                             [BRANCH_TEST_BIT] = 1.0 / 4};

/* A branch to a cold block is assumed to be as rare as in branch_probability.c. */
#define COLD_MISPREDICTION_RATE (1.0 / 2001)
/* Maximum iterations of a loop whose end is predicted. A predictor remembers at least the last 93 taken
 * branches (Yavarzadeh and others, "Half&Half", 2023, for Intel's predictors since Haswell). */
#define MAX_PREDICTED_ITERATIONS 90
/* Edges among which a predictor chooses; edges that end the program are not counted. */
struct branch_edges {
    size_t count;
    double max_probability; /* probability of the most likely edge */
    bool is_known;          /* all probabilities are known */
    bool has_cold, has_normal;
};

static struct branch_edges branch_edges_of(const struct block *block, const enum heat *heat)
{
    struct branch_edges branch_edges = {.is_known = true};
    for (size_t i = 0; i < block->edge_count; i++) {
        enum heat to = heat ? heat[block->edges[i].to] : HEAT_NORMAL;
        if (heat_is_dead(to))
            continue;
        branch_edges.count++;
        branch_edges.is_known = branch_edges.is_known && !isnan(block->edges[i].probability);
        branch_edges.max_probability = fmax(branch_edges.max_probability, block->edges[i].probability);
        branch_edges.has_cold = branch_edges.has_cold || to == HEAT_COLD;
        branch_edges.has_normal = branch_edges.has_normal || to == HEAT_NORMAL;
    }
    return branch_edges;
}

void misprediction_of_block(const struct block *block, const enum heat *heat,
                            double out_mispredictions[BOUNDS])
{
    struct branch_edges branch_edges = branch_edges_of(block, heat);
    /* misprediction rate if all edges are equally likely */
    double even = 1 - 1 / fmax((double)branch_edges.count, 1);
    memset(out_mispredictions, 0, BOUNDS * sizeof *out_mispredictions);
    if (!block->is_by_data || branch_edges.count < 2)
        return;
    out_mispredictions[BOUND_EST] =
        branch_edges.is_known ? 1 - branch_edges.max_probability : misprediction_rates[block->branch_test];
    out_mispredictions[BOUND_HIGH] =
        branch_edges.is_known ? fmin(2 * (1 - branch_edges.max_probability), even) : even;
    if (!branch_edges.is_known && branch_edges.has_cold && branch_edges.has_normal)
        out_mispredictions[BOUND_EST] = fmin(out_mispredictions[BOUND_EST], COLD_MISPREDICTION_RATE);
}

void misprediction_of_loop(const struct loop_times *times, bool ends_by_data,
                           double out_mispredictions[BOUNDS])
{
    bool is_predicted = !ends_by_data && times->times[BOUND_HIGH] <= MAX_PREDICTED_ITERATIONS;
    out_mispredictions[BOUND_LOW] = 0;
    out_mispredictions[BOUND_EST] = is_predicted ? 0 : fmin(times->times[BOUND_EST], 1);
    out_mispredictions[BOUND_HIGH] = is_predicted ? 0 : fmin(times->times[BOUND_HIGH], 1);
}
