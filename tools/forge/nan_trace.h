/* tools/forge/nan_trace.h - finds the operation that first made a value of a training non-finite.
 *
 * It keeps a copy of the slots that is at most 50 steps old and repeats the steps since then with checks.
 * Note: a repeated step gives the same bits. If all values are finite when it is repeated, the hardware made
 * an error in the first run.
 */
#ifndef FORGE_NAN_TRACE_H
#define FORGE_NAN_TRACE_H

#include <forge/nonfinite.h>
#include "trainee.h"

struct nan_trace {
    bool is_kept;
    forge_cursor from; /* position of the first step to repeat */
    char reason[600];  /* the finding, in words; empty: nothing was searched */
};

/* Call it before each step. Copies the slots once in 50 steps; without memory for the copy, nan_trace_find
 * finds nothing. */
void nan_trace_keep(struct nan_trace *nan_trace, struct trainee *trainee);
/* Call it after a step with a non-finite result. Sets `reason`. Afterwards the trainee must not train
 * further. */
void nan_trace_find(struct nan_trace *nan_trace, struct trainee *trainee);

#endif
