/* tools/joulec/arguments.h - the command line of a C compiler, with joulec's own options taken out.
 *
 * Owns whether the words go together, which are C sources, and how far clang is to go.
 * Newcomers: all that is not joulec's is clang's, so that joulec stands wherever a compiler does.
 */
#ifndef JOULEC_ARGUMENTS_H
#define JOULEC_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

#define MOST_JOBS 128 /* each needs some open files */

struct baseline;

/* What is printed of a source, instead of building it. */
enum page_kind { PAGE_NONE, PAGE_C, PAGE_IR, PAGE_EIR, PAGE_LIFT };

/* What becomes of warnings, as clang's -w and -Werror say. */
enum warnings_kind { WARNINGS_TOLD, WARNINGS_HIDDEN, WARNINGS_ARE_ERRORS };

struct arguments {
    bool is_plain; /* no word of it is joulec's, and clang is to have no other ones */
    bool checks, is_strict;
    bool is_for_clang; /* it is to preprocess alone, or the like: nothing is compiled that could be judged */
    enum page_kind page;
    enum warnings_kind warnings;
    bool advises_all;     /* advice for all functions, not only for those with budgets */
    bool runs;            /* budgets are watched at run time, too */
    bool compiles, links; /* clang goes as far as objects; as a program or a library */
    bool is_github;       /* its annotations are printed */
    const char *report, *sarif, *gitlab, *html; /* FILE; NULL: none */
    const char *database; /* FILE: its entries are checked, and nothing is built; NULL: none */
    const char *baseline; /* FILE: a stored report, with which functions are compared; NULL: none */
    double fail_over;     /* accepted relative growth against it; NaN: not given */
    const char *only;     /* of them those with this in their file or output; NULL: all */
    unsigned jobs;        /* at a time; 0: as many as there are processors */
    double default_trips; /* of loops that nothing bounds; NaN: nothing was said */
    double warmer_kelvin; /* the machine, than where its figures hold; NaN: nothing was said */
    double file_joules;   /* that a file may take; NaN: nothing was said */
    const char *profile;  /* FILE that a run wrote; NULL: none */
    const char *counts;   /* the same as clang reads it, once it is made; NULL: not yet */
    const struct baseline *compared; /* the stored report; NULL: not read yet */
    const char **clang;              /* arguments for clang, ended by NULL; [0]: the program */
    size_t clang_count;
    const char **inputs; /* files among them; the same pointers, as an option's value may read the same */
    size_t input_count;
    const char **sources;   /* those in C */
    const char **languages; /* of these, as -x says; NULL: their names say it */
    size_t source_count;
    bool has_headers;    /* one among them is to be precompiled */
    const char **others; /* those in C++ and Objective-C, of which no budget is judged; as the sources */
    const char **other_languages;
    size_t other_count;
};

/* `folder`: in which clang runs; NULL: this one. False after a message: a word of joulec's is wrong. */
bool arguments_read(struct arena *arena, const char *folder, char **argv, struct arguments *out);
/* One of a->inputs itself. */
bool arguments_has_input(const struct arguments *arguments, const char *word);
bool arguments_has_source(const struct arguments *arguments, const char *word);

/* The value of an option of clang's, such as "-o", that stands behind it in the same word or as the next; the last one counts.
 * NULL: it is not there. */
const char *arguments_value(const struct arguments *arguments, const char *option);
/* The last of clang's words that is one of `wanted`, which ends with NULL; NULL: none is. */
const char *arguments_last_of(const struct arguments *arguments, const char *const *wanted);
/* Becomes clang with these words; returns the exit code after a message where it cannot. */
int arguments_become_clang(const char **words);

#endif
