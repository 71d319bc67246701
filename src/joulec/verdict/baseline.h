/* joulec/verdict/baseline.h - reads a stored report of joulec, to compare its functions with those of this
 * run.
 *
 * Note: figures of two reports are comparable only if core, prices and assumptions are equal
 * (baseline_check).
 */
#ifndef JOULEC_BASELINE_H
#define JOULEC_BASELINE_H

#include "joulec/verdict/analysis.h"

/* A function as stored in the report. */
struct baseline_function {
    const char *name, *file;    /* file NULL: unknown */
    unsigned line;              /* 0: unknown */
    double joules[BOUNDS];      /* joules of a call at the middle prices of the table; NaN: unknown */
    double part[COST_FEATURES]; /* joules[BOUND_EST] by category, in J */
    const char **missing;       /* keys of doubts about work without a figure (baseline_doubt_key) */
    size_t missing_count;
    size_t guess_count; /* number of guessed trip counts and lengths */
    size_t loop_count;
};

/* One line of the report: a C file. */
struct baseline_unit {
    const char *program;
    /* version of joulec that wrote the line; NULL: an old version, which writes no version */
    const char *version;
    const char *table, *core, *figures, *assumptions, *build;
    struct baseline_function *functions; /* sorted by name */
    size_t function_count;
};

/* A stored report. */
struct baseline {
    struct arena arena;
    const char *path;
    struct baseline_unit *units;
    size_t unit_count;
    double fail_over; /* accepted relative growth, such as 0.05 */
};

/* Parses text[0..size) in place. `text`, and `path` (the name for messages), must outlive the baseline. The
 * caller frees the baseline with baseline_free, also after an error. Returns JOULE_OK, JOULE_NO_MEMORY, or
 * JOULE_INVALID if the text is not a report; the message contains the line number. */
joule_status baseline_read(char *text, size_t size, const char *path, struct baseline *out_baseline,
                           joule_error *out_error);
void baseline_free(struct baseline *baseline);
/* Returns JOULE_OK if every unit has the core, prices and assumptions of this run. Otherwise returns
 * JOULE_INVALID; the message states the first difference. */
joule_status baseline_check(const struct baseline *baseline, const struct target *target,
                            const struct analysis_options *options, joule_error *out_error);
/* Returns the unit of the C file `program`; the baseline owns the unit. A unit matches if its path equals
 * `program`. If no path is equal, a unit matches if its path ends with `program`, or `program` ends with its
 * path. If several units of one path match, prefers the unit with the options `build`. Returns NULL if no
 * path, or several different paths, match. */
const struct baseline_unit *baseline_find(const struct baseline *baseline, const char *program,
                                          const char *build);
/* Returns the function of the unit with this name; NULL: there is none. The baseline owns the function. */
const struct baseline_function *baseline_find_function(const struct baseline_unit *unit, const char *name);

/* Writes 16 hexadecimal digits and a NUL: a hash of the prices and of the core's description, except its
 * clock rate. */
void baseline_print_figures(const struct target *target, char out_digits[17]);
/* Writes the options that change figures but not the code, such as "--thermal-state=+15K --profile-use", to
 * out_words[0..size). Writes "" if there are none. */
void baseline_print_assumptions(const struct analysis_options *options, char *out_words, size_t size);
/* Returns the key of a doubt of `function`, as in baseline_function.missing. The key is `name`, the name of a
 * callee. If `name` is NULL or is the name of `function`, the key is `kind`. */
const char *baseline_doubt_key(const char *kind, const char *name, const char *function);

#endif
