/* tools/joulec/check/build.h - runs the user's build, with calls of libjoule in functions that have budgets.
 *
 * A source with budgets passes through clang's front end, module_instrument (instrument.h), and the rest of
 * clang. All other sources are built by clang alone.
 */
#ifndef CHECK_BUILD_H
#define CHECK_BUILD_H

#include "arguments.h"
#include "joulec/verdict/instrument.h"

/* Builds what the user asked for; plans[i] is for arguments->sources[i]. Becomes clang if one run of clang
 * does all that is left. Returns clang's exit code, or EXIT_OWN_FAILURE after a message. */
int build_all(struct arena *arena, const struct arguments *arguments, const struct instrument_plan *plans);
/* Builds after clang rejected the count build of `source`. Usually clang also rejects the user's build and
 * says why. If it accepts that, the budgets are unchecked: nothing is built, and EXIT_OWN_FAILURE is returned
 * after a message. Else returns clang's exit code. */
int build_unjudged(struct arena *arena, const struct arguments *arguments, const char *source);

#endif
