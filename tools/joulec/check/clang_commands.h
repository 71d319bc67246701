/* tools/joulec/check/clang_commands.h - builds the command lines of clang: for the count build, and for the
 * steps of the user's build.
 *
 * All lists are terminated by NULL, in memory of `arena`, and NULL after a message if memory is exhausted.
 * Note: data between two steps stays in memory, so that joulec leaves no file behind if it is killed.
 */
#ifndef CHECK_CLANG_COMMANDS_H
#define CHECK_CLANG_COMMANDS_H

#include "arguments.h"
#include "joulec/module/module.h"

/* Count build of `source`: prints bitcode. It has the user's options, but loops stay whole and keep their
 * names. `dependencies`: path to which clang writes the names of the files read, as rules for make. */
const char **command_count(struct arena *arena, const struct arguments *arguments, const char *source,
                           const char *dependencies);
/* The same, with the bodies of C99 inline functions, which clang drops where it did not inline them. They are
 * kept only for link-time optimization, which joulec does not run. */
const char **command_count_with_bodies(struct arena *arena, const struct arguments *arguments,
                                       const char *source);
/* Returns the optimization level of the user's build if it is below -O2, at which code is counted: "-O0",
 * "-O1" or "-Og". NULL: it is not. -Os and -Oz do not count as lower. */
const char *command_low_level(const struct arguments *arguments);
/* Returns true if the count build ignores OpenMP's directives, so that one thread does the work of all. */
bool command_merges_threads(const struct arguments *arguments);
/* Returns which loop optimizations the user's build has enabled. */
struct module_build command_loop_build(const struct arguments *arguments);
/* Count build that prints LLVM's textual IR. */
const char **command_print_ir(struct arena *arena, const struct arguments *arguments, const char *source);
/* Prints bitcode of clang's front end alone, with the counts of a profile. */
const char **command_read_profile(struct arena *arena, const struct arguments *arguments, const char *source);
/* Prints the preprocessed source, as the count build sees it. */
const char **command_preprocess(struct arena *arena, const struct arguments *arguments, const char *source);
/* Prints bitcode of the user's build before optimization, for instrumentation. Writes the dependency files
 * that the user asked for. */
const char **command_front_end(struct arena *arena, const struct arguments *arguments, const char *source);
/* Returns the name that -save-temps gives to an intermediate file with this ending. NULL: not requested, or
 * out of memory. */
const char *command_saved_name(struct arena *arena, const struct arguments *arguments, const char *source,
                               const char *ending);
/* Writes the preprocessed source, as the user's build sees it, to `output`. */
const char **command_save_text(struct arena *arena, const struct arguments *arguments, const char *source,
                               const char *output);
/* Compiles as the user would, and writes nothing. */
const char **command_discard(struct arena *arena, const struct arguments *arguments, const char *source);
/* The user's command line for sources [first, end), without the other sources. The path bitcode[i] replaces
 * sources[i] unless it is NULL. `library` is appended. */
const char **command_build(struct arena *arena, const struct arguments *arguments, const char *const *bitcode,
                           size_t first, size_t end, const char *const *library);
/* Returns true if sources must be built one by one: each gets an object named after it, and bitcode in memory
 * has no name. */
bool command_builds_apart(const struct arguments *arguments);

#endif
