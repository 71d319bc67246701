/* joulec/work/foresight.c - see foresight.h. */
#include "joulec/work/foresight.h"

#include <math.h>
#include <string.h>

/* Of branches that the data decide, and nobody said how: half of them at worst, hardly any where the data have an order. Which of
 * two values is more, or whether a bit is set, is as good as a coin's toss, of which a predictor learns half. That two are equal
 * is true once in six (the opcode heuristic of Ball and Larus, 1993, in the numbers of Wu and Larus, 1994), of which it learns
 * half, too. Limits: the middle of 1/32 and 1/2, in logarithms (assumed). */
static const double wrong_by_data[] = {[QUESTION_LIMIT] = 1.0 / 8,
                                       [QUESTION_EQUAL] = 1.0 / 12,
                                       [QUESTION_ORDER] = 1.0 / 4,
                                       [QUESTION_BIT] = 1.0 / 4};

/* A branch to a cold block is assumed to be as rare as in ways.c. */
#define WRONG_IF_COLD (1.0 / 2001)
/* A predictor remembers the last 93 taken branches or more (Yavarzadeh and others, "Half&Half", 2023, of Intel's since Haswell),
 * so it sees the end of a loop that is shorter. */
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
        1 - 1 / fmax((double)choice.count, 1); /* misprediction rate where all edges are equally likely */
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
