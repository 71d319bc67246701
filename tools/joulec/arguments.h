/* tools/joulec/arguments.h - parses the command line of a C compiler, and separates joulec's options from
 * those for clang.
 *
 * Note: every option that is not joulec's is passed to clang, so joulec can replace any compiler.
 */
#ifndef JOULEC_ARGUMENTS_H
#define JOULEC_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

#define MAX_JOBS 128 /* each one needs several open files */

struct baseline;

/* Output that replaces the build. */
enum page_kind { PAGE_NONE, PAGE_C, PAGE_IR, PAGE_EIR, PAGE_LIFT };

/* Handling of warnings, from clang's -w and -Werror. */
enum warnings_kind { WARNINGS_SHOWN, WARNINGS_HIDDEN, WARNINGS_ARE_ERRORS };

struct arguments {
    bool is_plain;     /* no option was removed from, or added to, the user's command line */
    bool checks;       /* an option requests a check */
    bool is_strict;    /* a budget that is not proved is an error */
    bool is_for_clang; /* clang only preprocesses, or compiles nothing that could be checked */
    enum page_kind page;
    enum warnings_kind warnings;
    bool advises_all; /* advice is given for all functions, not only for those with budgets */
    bool runs;        /* functions with budgets are also measured at run time */
    bool compiles;    /* clang produces objects */
    bool links;       /* clang links a program or a library */
    bool is_github;   /* findings are also printed as annotations for GitHub */
    const char *report, *sarif, *gitlab, *html; /* paths; NULL: not requested */
    const char *database; /* path of a compilation database to check without building; NULL: none */
    const char *baseline; /* path of the stored report to compare with; NULL: none */
    double fail_over;     /* accepted relative growth: 0.05; NaN: not given */
    const char *only;     /* check only entries whose file or output contains this; NULL: all entries */
    unsigned jobs;        /* parallel checks; 0: one for each processor */
    double default_trips; /* assumed iterations of loops without a bound; NaN: not given */
    /* temperature of the machine above that of the price table, in K; NaN: not given */
    double warmer_kelvin;
    double file_joules;              /* budget of a whole file, in J; NaN: none */
    const char *profile;             /* path of a raw or merged profile; NULL: none */
    const char *counts;              /* path of the merged profile; NULL: not merged yet */
    const struct baseline *compared; /* the stored report; NULL: none, or not read yet */
    const char **clang;              /* arguments for clang, terminated by NULL; [0]: the program */
    size_t clang_count;
    /* Input files. The elements are equal pointers to those in `clang`, because the value of an option may be
     * an equal string. */
    const char **inputs;
    size_t input_count;
    const char **sources;   /* input files in C */
    const char **languages; /* language of each source from -x; NULL: clang derives it from the file name */
    size_t source_count;
    bool has_headers;             /* an input file is a header to precompile */
    const char **others;          /* input files in C++ and Objective-C, whose budgets are not checked */
    const char **other_languages; /* as `languages`, for `others` */
    size_t other_count;
};

/* Parses argv into *out, whose lists are allocated in `arena`. `folder`: the folder in which clang will run;
 * NULL: the current folder. Returns false after a message about an invalid option of joulec, or if out of
 * memory. */
bool arguments_read(struct arena *arena, const char *folder, char **argv, struct arguments *out);
/* Returns true if the pointer `word` itself is in the list of input files, or of sources. */
bool arguments_has_input(const struct arguments *arguments, const char *word);
bool arguments_has_source(const struct arguments *arguments, const char *word);

/* Returns the last value of an option of clang's, such as "-o", given as "-oFILE" or "-o FILE". NULL: not
 * given. */
const char *arguments_value(const struct arguments *arguments, const char *option);
/* Returns the last argument for clang that is in `wanted`, a list terminated by NULL. NULL: there is none. */
const char *arguments_last_of(const struct arguments *arguments, const char *const *wanted);
/* Replaces this process by clang with the command line `words`. If clang cannot be run, prints a message and
 * returns an exit code. */
int arguments_become_clang(const char **words);
/* Parses one of the options that joulec adds to those of clang (own_options.c). Returns the number of
 * arguments that it used: 1 or 2; 0: the option is not joulec's; -1: it is invalid, after a message. `next`:
 * the argument after `word`, or NULL. */
int own_options_parse(struct arguments *out, const char *word, const char *next);

#endif
