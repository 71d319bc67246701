/* tools/forge/blame.h - why a training's numbers are no longer finite.
 *
 * Owns the slots' values of some steps ago, and the repeating of the steps since then with checks. Newcomers: a step gives the
 * same bits whenever it is repeated; where it does not, the machine has erred.
 */
#ifndef FORGE_BLAME_H
#define FORGE_BLAME_H

#include <forge/nonfinite.h>
#include "trainee.h"

struct blame {
    bool is_kept;
    forge_cursor from; /* the step before which the values were kept */
    char reason[600];  /* what was found, in words; empty: nothing was looked for */
};

/* Before each step: now and then it keeps the slots. Without memory for that a NaN stays unexplained. */
void blame_keep(struct blame *blame, struct trainee *trainee);
/* After a step that went wrong: fills in the reason. The trainee is of no use afterwards. */
void blame_find(struct blame *blame, struct trainee *trainee);

#endif
