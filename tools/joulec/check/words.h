/* tools/joulec/check/words.h - builds the command lines of clang: for the count build, and for the steps of
 * the user's build.
 *
 * All lists are terminated by NULL, in memory of `arena`, and NULL after a message if memory is exhausted.
 * Note: data between two steps stays in memory, so that joulec leaves no file behind if it is killed.
 */
#ifndef JOULEC_WORDS_H
#define JOULEC_WORDS_H

#include "arguments.h"
#include "joulec/module/module.h"

/* Count build of `source`: prints bitcode. It has the user's options, but loops stay whole and keep their
 * names. `dependencies`: path to which clang writes the names of the files read, as rules for make. */
const char **words_of_count(struct arena *arena, const struct arguments *arguments, const char *source,
                            const char *dependencies);
/* The same, with the bodies of C99 inline functions, which clang drops where it did not inline them. They are
 * kept only for link-time optimization, which joulec does not run. */
const char **words_of_count_with_bodies(struct arena *arena, const struct arguments *arguments,
                                        const char *source);
/* Returns the optimization level of the user's build if it is below -O2, at which code is counted: "-O0",
 * "-O1" or "-Og". NULL: it is not. -Os and -Oz do not count as lower. */
const char *words_low_level(const struct arguments *arguments);
/* Returns true if the count build ignores OpenMP's directives, so that one thread does the work of all. */
bool words_merge_threads(const struct arguments *arguments);
/* Returns which loop optimizations the user's build has enabled. */
struct module_build words_on_loops(const struct arguments *arguments);
/* Count build that prints LLVM's textual IR. */
const char **words_of_ir(struct arena *arena, const struct arguments *arguments, const char *source);
/* Prints bitcode of clang's front end alone, with the counts of a profile. */
const char **words_of_profile(struct arena *arena, const struct arguments *arguments, const char *source);
/* Prints the preprocessed source, as the count build sees it. */
const char **words_of_text(struct arena *arena, const struct arguments *arguments, const char *source);
/* Prints bitcode of the user's build before optimization, for instrumentation. Writes the dependency files
 * that the user asked for. */
const char **words_of_ship(struct arena *arena, const struct arguments *arguments, const char *source);
/* Returns the name that -save-temps gives to an intermediate file with this ending. NULL: not requested, or
 * out of memory. */
const char *words_saved_name(struct arena *arena, const struct arguments *arguments, const char *source,
                             const char *ending);
/* Writes the preprocessed source, as the user's build sees it, to `output`. */
const char **words_of_saved_text(struct arena *arena, const struct arguments *arguments, const char *source,
                                 const char *output);
/* Compiles as the user would, and writes nothing. */
const char **words_of_nothing(struct arena *arena, const struct arguments *arguments, const char *source);
/* The user's command line for sources [first, end), without the other sources. The path bitcode[i] replaces
 * sources[i] unless it is NULL. `library` is appended. */
const char **words_of_build(struct arena *arena, const struct arguments *arguments,
                            const char *const *bitcode, size_t first, size_t end, const char *const *library);
/* Returns true if sources must be built one by one: each gets an object named after it, and bitcode in memory
 * has no name. */
bool words_of_build_are_apart(const struct arguments *arguments);

#endif
