/* tools/joulec/check/clang_commands.h - builds the command lines of clang: for the count build, and for the
 * steps of the user's build.
 *
 * A function that returns `const char **` returns a command line: a list of arguments with NULL at its end,
 * in memory of `arena`. If out of memory it prints a message and returns NULL. "Count build" is the build
 * whose code joulec analyses.
 * Note: data between two steps stays in memory, so that joulec leaves no file behind if it is killed.
 */
#ifndef CHECK_CLANG_COMMANDS_H
#define CHECK_CLANG_COMMANDS_H

#include "arguments.h"
#include "joulec/module/module.h"

/* Returns the count build of `source`, which prints bitcode. It has the user's options, but loops are not
 * transformed and keep their names. `dependencies`: path to which clang writes the names of the files that it
 * read, as rules for make. */
const char **command_count(struct arena *arena, const struct arguments *arguments, const char *source,
                           const char *dependencies);
/* Returns a count build that keeps the bodies of C99 inline functions. Otherwise clang drops a body that
 * it did not inline. Clang keeps these bodies for link-time optimization, which joulec requests but does
 * not run. */
const char **command_count_with_bodies(struct arena *arena, const struct arguments *arguments,
                                       const char *source);
/* Returns the optimization level of the user's build if it is below that of the count build, -O2: "-O0",
 * "-O1" or "-Og". Otherwise returns NULL, also for -Os and -Oz. */
const char *command_low_level(const struct arguments *arguments);
/* Returns true if the count build ignores OpenMP's directives, so that one thread does the work of all. */
bool command_merges_threads(const struct arguments *arguments);
/* Returns which loop optimizations the user's build has enabled. */
struct module_build command_loop_build(const struct arguments *arguments);
/* Returns a count build that prints LLVM's textual IR. */
const char **command_print_ir(struct arena *arena, const struct arguments *arguments, const char *source);
/* Returns the command that prints bitcode of clang's front end, without optimization, with the counts of the
 * user's profile. */
const char **command_read_profile(struct arena *arena, const struct arguments *arguments, const char *source);
/* Returns the command that prints the preprocessed source as the count build sees it. */
const char **command_preprocess(struct arena *arena, const struct arguments *arguments, const char *source);
/* Returns the command that prints bitcode of the user's build before optimization, for instrumentation. It
 * also writes the dependency files that the user requested. */
const char **command_front_end(struct arena *arena, const struct arguments *arguments, const char *source);
/* Returns the name that -save-temps gives to an intermediate file with this ending, in memory of `arena`.
 * NULL: the user did not request -save-temps, or out of memory. */
const char *command_saved_name(struct arena *arena, const struct arguments *arguments, const char *source,
                               const char *ending);
/* Returns the command that writes the preprocessed source to `output`, as the user's build sees it. */
const char **command_save_text(struct arena *arena, const struct arguments *arguments, const char *source,
                               const char *output);
/* Returns the command that compiles `source` with the user's options and discards the result. */
const char **command_discard(struct arena *arena, const struct arguments *arguments, const char *source);
/* Returns the user's command line with only sources first to end - 1. The path bitcode[i] replaces sources[i]
 * unless it is NULL. The arguments of `library`, a list with NULL at its end, are appended. */
const char **command_build(struct arena *arena, const struct arguments *arguments, const char *const *bitcode,
                           size_t first, size_t end, const char *const *library);
/* Returns true if each source must be built by its own command. This is so if each source gets an object that
 * is named after it, because bitcode in memory has no name. */
bool command_builds_apart(const struct arguments *arguments);

#endif
