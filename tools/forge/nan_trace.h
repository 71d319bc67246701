/* tools/forge/nan_trace.h - finds the operation that first made a value of a training non-finite.
 *
 * nan_trace_keep copies the slots every 50 steps. nan_trace_find restores the copy and repeats the later
 * steps with checks. Note: repeated steps compute the same bits. If all values of the repeated steps are
 * finite, the hardware made an error in the first run.
 */
#ifndef FORGE_NAN_TRACE_H
#define FORGE_NAN_TRACE_H

#include <forge/nonfinite.h>
#include "trainee.h"

struct nan_trace {
    bool has_copy;
    forge_cursor from; /* position of the first step to repeat */
    char reason[600];  /* description of the result; empty: nan_trace_find was not called or had no copy */
};

/* Copies the slots every 50 steps. Call it before each step. If there is no memory for the copy,
 * nan_trace_find finds nothing. */
void nan_trace_keep(struct nan_trace *nan_trace, struct trainee *trainee);
/* Searches for the first non-finite value and sets `reason`. Call it after a step with a non-finite result.
 * Afterwards the trainee must not train further. */
void nan_trace_find(struct nan_trace *nan_trace, struct trainee *trainee);

#endif
