/* joulec/work/branch_prediction.c - see branch_prediction.h. */
#include "joulec/work/foresight.h"

#include <math.h>
#include <string.h>

/* Misprediction rates of branches that depend on data, if no probability is known. The worst rate is one
 * half; it is near 0 if the data has an order. Order comparisons of values and tests of bits are random, and
 * a predictor learns half of them. Equality holds once in six (the opcode heuristic of Ball and Larus, 1993,
 * with the figures of Wu and Larus, 1994), of which a predictor learns half. Limits: the geometric mean of
 * 1/32 and 1/2 (assumed). */
static const double wrong_by_data[] = {[QUESTION_LIMIT] = 1.0 / 8,
                                       [QUESTION_EQUAL] = 1.0 / 12,
                                       [QUESTION_ORDER] = 1.0 / 4,
                                       [QUESTION_BIT] = 1.0 / 4};

/* A branch to a cold block is assumed to be as rare as in branch_probability.c. */
#define WRONG_IF_COLD (1.0 / 2001)
/* A predictor remembers at least the last 93 taken branches (Yavarzadeh and others, "Half&Half", 2023, for
 * Intel's since Haswell), so it predicts the end of a shorter loop. */
#define MOST_FORESEEN 90
/* Edges among which a predictor chooses; edges that end the program are not counted. */
struct choice {
    size_t count;
    double most;   /* probability of the most likely edge */
    bool is_known; /* all probabilities are known */
    bool has_cold, has_normal;
};

static struct choice choice_of(const struct block *block, const enum heat *heat)
{
    struct choice choice = {.is_known = true};
    for (size_t i = 0; i < block->edge_count; i++) {
        enum heat to = heat ? heat[block->edges[i].to] : HEAT_NORMAL;
        if (heat_is_dead(to))
            continue;
        choice.count++;
        choice.is_known = choice.is_known && !isnan(block->edges[i].probability);
        choice.most = fmax(choice.most, block->edges[i].probability);
        choice.has_cold = choice.has_cold || to == HEAT_COLD;
        choice.has_normal = choice.has_normal || to == HEAT_NORMAL;
    }
    return choice;
}

void foresight_of_block(const struct block *block, const enum heat *heat, double out_wrong[BOUNDS])
{
    struct choice choice = choice_of(block, heat);
    double even =
        1 - 1 / fmax((double)choice.count, 1); /* misprediction rate if all edges are equally likely */
    memset(out_wrong, 0, BOUNDS * sizeof *out_wrong);
    if (!block->is_by_data || choice.count < 2)
        return;
    out_wrong[BOUND_EST] = choice.is_known ? 1 - choice.most : wrong_by_data[block->question];
    out_wrong[BOUND_HIGH] = choice.is_known ? fmin(2 * (1 - choice.most), even) : even;
    if (!choice.is_known && choice.has_cold && choice.has_normal)
        out_wrong[BOUND_EST] = fmin(out_wrong[BOUND_EST], WRONG_IF_COLD);
}

void foresight_of_loop(const struct loop_times *times, bool ends_by_data, double out_wrong[BOUNDS])
{
    bool is_foreseen = !ends_by_data && times->times[BOUND_HIGH] <= MOST_FORESEEN;
    out_wrong[BOUND_LOW] = 0;
    out_wrong[BOUND_EST] = is_foreseen ? 0 : fmin(times->times[BOUND_EST], 1);
    out_wrong[BOUND_HIGH] = is_foreseen ? 0 : fmin(times->times[BOUND_HIGH], 1);
}
