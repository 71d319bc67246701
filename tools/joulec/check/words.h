/* tools/joulec/check/words.h - the words of each build that joulec asks clang for.
 *
 * Owns them: of the build that is only counted, and of the steps of that which the user gets. Newcomers: all end with NULL, and are
 * NULL where there is no memory. What is between two steps goes through memory, so that nobody who ends joulec leaves a file.
 */
#ifndef JOULEC_WORDS_H
#define JOULEC_WORDS_H

#include "arguments.h"
#include "joulec/module/module.h"

/* Words that print LLVM's bitcode of `source`: as the user's, but loops stay whole and named. The files that it is made of go
 * to `dependencies`, as rules of make. */
const char **words_of_count(struct arena *arena, const struct arguments *arguments, const char *source,
                            const char *dependencies);
/* The same, with the bodies of C99 inline functions, which clang drops where it did not inline them. They are
 * kept only for a link with optimisation, which joulec does not do. */
const char **words_of_count_with_bodies(struct arena *arena, const struct arguments *arguments,
                                        const char *source);
/* The level of the user's build where that is below the -O2 that is counted: "-O0"; NULL: it is not. -Os and -Oz are not. */
const char *words_low_level(const struct arguments *arguments);
/* Returns true if the count build leaves out OpenMP's threads: it counts the work of all threads as that of
 * one. */
bool words_merge_threads(const struct arguments *arguments);
/* What the user's build does with loops, by its words. */
struct module_build words_on_loops(const struct arguments *arguments);
/* Words that print the same as LLVM's text. */
const char **words_of_ir(struct arena *arena, const struct arguments *arguments, const char *source);
/* Words that print bitcode of clang's front end alone, with the counts of a profile. */
const char **words_of_profile(struct arena *arena, const struct arguments *arguments, const char *source);
/* Words that print what the preprocessor makes of it. */
const char **words_of_text(struct arena *arena, const struct arguments *arguments, const char *source);
/* Words that print bitcode of it with the user's own flags, before anything is optimised; what the preprocessor writes beside
 * is written. */
const char **words_of_ship(struct arena *arena, const struct arguments *arguments, const char *source);
/* What -save-temps calls a step of `source`, by its ending; NULL: it is not asked for, or there is no memory. */
const char *words_saved_name(struct arena *arena, const struct arguments *arguments, const char *source,
                             const char *ending);
/* Words that write what the preprocessor makes of it, as that build sees it, to `output`. */
const char **words_of_saved_text(struct arena *arena, const struct arguments *arguments, const char *source,
                                 const char *output);
/* Words that compile it as the user would, and leave nothing. */
const char **words_of_nothing(struct arena *arena, const struct arguments *arguments, const char *source);
/* The user's words, with the path bitcode[i] for sources[i] where it is not NULL, without the sources outside [first, end); and
 * those of `library` behind them. */
const char **words_of_build(struct arena *arena, const struct arguments *arguments,
                            const char *const *bitcode, size_t first, size_t end, const char *const *library);
/* Several files make an object each, called after it: bitcode has no name, so that sources are built one by one. */
bool words_of_build_are_apart(const struct arguments *arguments);

#endif
