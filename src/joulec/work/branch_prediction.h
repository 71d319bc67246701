/* joulec/work/branch_prediction.h - misprediction rates of branches.
 *
 * Without measurements, rates are assumed for branches that depend on data and for the last iteration of a
 * loop.
 * Note: a predictor uses the history of the last few hundred branches. It predicts constant branches and the
 * ends of short loops.
 */
#ifndef JOULEC_BRANCH_PREDICTION_H
#define JOULEC_BRANCH_PREDICTION_H

#include "joulec/module/loops.h"
#include "joulec/work/sum.h"

/* Computes the mispredictions of the branch at the end of `block`, per execution of the block. heat: heat of
 * each block of the function; NULL: all blocks are normal. */
void misprediction_of_block(const struct block *block, const enum heat *heat,
                            double out_mispredictions[BOUNDS]);
/* Computes the mispredictions of a loop's exits, per entry of the loop. ends_by_data: an exit depends on
 * data. */
void misprediction_of_loop(const struct loop_times *times, bool ends_by_data,
                           double out_mispredictions[BOUNDS]);

#endif
