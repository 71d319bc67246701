/* joulec/work/foresight.h - how often a core guesses wrong which way a branch goes.
 *
 * Owns the rates that are assumed where nobody measured: of branches that the data decide, and of the last round of a loop.
 * Newcomers: a core learns from the last few hundred branches. What is always the same it gets right, and a short loop's end, too.
 */
#ifndef JOULEC_FORESIGHT_H
#define JOULEC_FORESIGHT_H

#include "joulec/module/loops.h"
#include "joulec/work/sum.h"

/* Computes mispredictions at the end of `block` per execution. heat: heat of each block of the function;
 * NULL: all are normal. */
void foresight_of_block(const struct block *block, const enum heat *heat, double out_wrong[BOUNDS]);
/* ... at the end of a loop, each time that it is entered. ends_by_data: a block that may leave it is_by_data. */
void foresight_of_loop(const struct loop_times *times, bool ends_by_data, double out_wrong[BOUNDS]);

#endif
