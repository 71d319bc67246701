/* tools/joulec/arguments.h - the command line of a C compiler, with joulec's own options taken out.
 *
 * Owns which words are joulec's, which are C sources, and the words of the build that is only counted.
 * Newcomers: all that is not known here is clang's, so that joulec stands wherever a compiler does.
 */
#ifndef JOULEC_ARGUMENTS_H
#define JOULEC_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

#define MOST_JOBS 128 /* each needs some open files */

struct arguments {
    bool checks, is_strict;
    bool is_github;                      /* its annotations are printed */
    const char *report, *sarif, *gitlab; /* FILE; NULL: none */
    const char *database;                /* FILE: its entries are checked, and nothing is built; NULL: none */
    const char *only;                    /* of them those with this in their file or output; NULL: all */
    unsigned jobs;                       /* at a time; 0: as many as there are processors */
    double default_trips;                /* of loops that nothing bounds */
    const char **clang;                  /* clang's words, ended by NULL; [0]: the program */
    size_t clang_count;
    const char **sources; /* C files among them */
    size_t source_count;
};

/* False after a message: a word of joulec's is wrong. */
bool arguments_read(struct arena *arena, int argc, char **argv, struct arguments *out);
/* Words that print LLVM's bitcode of `source`: as the user's, but loops stay whole and named. The files that it is made of go
 * to `dependencies`, as rules of make. Ended by NULL; NULL: no memory. */
const char **arguments_of_count(struct arena *arena, const struct arguments *arguments, const char *source,
                                const char *dependencies);
/* Words that print what the preprocessor makes of it. */
const char **arguments_of_text(struct arena *arena, const struct arguments *arguments, const char *source);

/* Becomes clang, which JOULEC_CLANG in the environment may name; returns the exit code after a message where it cannot. */
int arguments_become_clang(const struct arguments *arguments);

#endif
