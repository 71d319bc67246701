/* tools/joulec/check/instrumented_build.h - runs the user's build, with calls of libjoule in functions that
 * have budgets.
 *
 * A source with budgets passes through clang's front end, module_instrument (instrument.h), and the rest of
 * clang. All other sources are built by clang alone.
 */
#ifndef CHECK_INSTRUMENTED_BUILD_H
#define CHECK_INSTRUMENTED_BUILD_H

#include "arguments.h"
#include "joulec/verdict/instrument.h"

/* Runs the build that the user requested. plans[i] is the instrumentation of arguments->sources[i]. If one
 * run of clang completes the build, this process becomes clang and the function does not return. Otherwise
 * returns clang's exit code, or EXIT_OWN_FAILURE after a message. */
int build_all(struct arena *arena, const struct arguments *arguments, const struct instrument_plan *plans);
/* Runs the user's build after clang rejected the count build of `source`. Usually clang also rejects the
 * user's build and prints the reason. The function then returns clang's exit code. If clang accepts the
 * user's build, the budgets cannot be checked. In this case builds nothing, and returns EXIT_OWN_FAILURE
 * after a message. */
int build_unjudged(struct arena *arena, const struct arguments *arguments, const char *source);

#endif
