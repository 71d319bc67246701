/* tools/joulec/check/build.h - the build that the user gets, with libjoule's calls in it where functions have budgets.
 *
 * Owns the way of such a source: clang's front end, instrument.h, and the rest of clang; and what a link needs beside. A source
 * without budgets is built by clang as if joulec were not there.
 */
#ifndef CHECK_BUILD_H
#define CHECK_BUILD_H

#include "arguments.h"
#include "joulec/verdict/instrument.h"

/* Builds what the user asked for; plans[i] is of arguments->sources[i]. Becomes clang where it can. The exit code: clang's, or
 * EXIT_OWN_FAILURE after a message. */
int build_all(struct arena *arena, const struct arguments *arguments, const struct instrument_plan *plans);
/* Where clang refuses what joulec would count of `source`. Mostly it refuses what the user asked for, too, and says why. The exit
 * code: clang's; where it takes that, EXIT_OWN_FAILURE after a message, as budgets would go by unseen. */
int build_unjudged(struct arena *arena, const struct arguments *arguments, const char *source);

#endif
