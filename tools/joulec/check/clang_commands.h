/* tools/joulec/check/clang_commands.h - builds the command lines of clang: for the count build, and for the
 * steps of the user's build.
 *
 * Functions that return `const char **` return a command line: a list of arguments, terminated by NULL and
 * allocated in `arena`. If out of memory they print a message and return NULL.
 * Note: data between two steps stays in memory, so that joulec leaves no file behind if it is killed.
 */
#ifndef CHECK_CLANG_COMMANDS_H
#define CHECK_CLANG_COMMANDS_H

#include "arguments.h"
#include "joulec/module/module.h"

/* Returns the count build of `source`, which prints bitcode. It has the user's options, but does not
 * transform loops, and keeps the names of values. `dependencies`: path of the file to which clang writes the
 * names of the files that it read, as a rule for make. */
const char **command_count(struct arena *arena, const struct arguments *arguments, const char *source,
                           const char *dependencies);
/* Returns a count build that keeps all bodies of C99 inline functions; otherwise clang drops bodies that it
 * did not inline. To keep them, the command requests link-time optimization, which is never run. */
const char **command_count_with_bodies(struct arena *arena, const struct arguments *arguments,
                                       const char *source);
/* Returns the optimization level of the user's build if it is below that of the count build, -O2: "-O0",
 * "-O1" or "-Og". Otherwise returns NULL, also for -Os and -Oz. */
const char *command_low_level(const struct arguments *arguments);
/* Returns true if the count build ignores OpenMP's directives, so that one thread does the work of all
 * threads. */
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
/* Returns true if each source must be built by its own command, because the build writes an object for each
 * source. Clang names an object after its input, but bitcode in memory has no such name. */
bool command_builds_apart(const struct arguments *arguments);

#endif
