/* joulec/verdict/baseline.h - reads a stored report of joulec, with which functions are compared.
 *
 * Note: figures of two reports are comparable only if core, prices and assumptions are equal: see
 * baseline_check.
 */
#ifndef JOULEC_BASELINE_H
#define JOULEC_BASELINE_H

#include "joulec/verdict/analysis.h"

/* A function as stored in the report. */
struct baseline_function {
    const char *name, *file;    /* file NULL: unknown */
    unsigned line;              /* 0: unknown */
    double joules[BOUNDS];      /* joules of a call at the table's middle prices; NaN: unknown */
    double part[COST_FEATURES]; /* parts of joules[BOUND_EST] */
    const char **missing;       /* work without a figure: names of callees, or kinds of doubts */
    size_t missing_count;
    size_t guess_count; /* doubts about trip counts and lengths that are guessed */
    size_t loop_count;
};

/* One line of the report: a C file. */
struct baseline_unit {
    const char *program;
    const char
        *version; /* version of the joulec that wrote it; NULL: a release that did not write versions */
    const char *table, *core, *figures, *assumptions, *build;
    struct baseline_function *functions; /* sorted by name */
    size_t function_count;
};

struct baseline {
    struct arena arena;
    const char *path;
    struct baseline_unit *units;
    size_t unit_count;
    double fail_over; /* accepted relative growth: 0.05 */
};

/* Parses `text` in place. `text` and `path`, the name for messages, must outlive the baseline. The caller
 * frees the baseline by baseline_free, also after an error. INVALID: it is not a report; the message names
 * the line. NO_MEMORY. */
joule_status baseline_read(char *text, size_t size, const char *path, struct baseline *out_baseline,
                           joule_error *out_error);
void baseline_free(struct baseline *baseline);
/* Returns OK if every unit has the core, prices and assumptions of this run; else INVALID, and the message
 * names the difference. */
joule_status baseline_check(const struct baseline *baseline, const struct target *target,
                            const struct analysis_options *options, joule_error *out_error);
/* Finds the unit of a C file by its path, or by a path that ends with it; of several, the one with the same
 * `build`. NULL: none. */
const struct baseline_unit *baseline_find(const struct baseline *baseline, const char *program,
                                          const char *build);
/* NULL: there is none. */
const struct baseline_function *baseline_find_function(const struct baseline_unit *unit, const char *name);

/* Writes 16 hexadecimal digits for the prices and the description of the core, without its clock rate. */
void baseline_print_figures(const struct target *target, char out_digits[17]);
/* Writes the options that change figures but not the code: "--thermal-state=+15K --profile-use"; empty:
 * none. */
void baseline_print_assumptions(const struct analysis_options *options, char *out_words, size_t size);
/* Returns the key of a doubt about `function`, as in baseline_function.missing: the name of a callee, or the
 * kind if that callee is the function itself. */
const char *baseline_doubt_key(const char *kind, const char *name, const char *function);

#endif
