/* tools/joulec/check/check.h - checks one C source: runs the count build, analyses its bitcode, and prints
 * the findings.
 *
 * The count build compiles at -O2 without transforming loops. Its code is analysed but never run. Note:
 * bitcode stays in memory, so that joulec leaves no file behind if it is killed.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "arguments.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "joulec/report/function_report.h"
#include "joulec/verdict/instrument.h"
#include "outputs.h"

/* The core for which costs are modelled. */
struct machine {
    struct cost_cpu cpu;
    struct target target;
    struct cpu_calibration calibration;
};
/* Describes the core of this machine by its calibration if there is one, else by its CPU family. Returns
 * false if out of memory. */
bool machine_read(struct machine *out);

/* A source to check. */
struct order {
    const struct machine *machine;
    const struct arguments *arguments;
    const char *folder;  /* folder in which clang runs; NULL: the current folder */
    const char *source;  /* path of the source, relative to that folder */
    const char *name;    /* path of the source for messages */
    bool is_quiet;       /* the messages of clang and other programs are discarded */
    struct arena *arena; /* memory for checked.plan; NULL: no build follows */
};

/* The result of a check. */
struct checked {
    enum outcome outcome;
    bool is_refused;             /* clang rejects the source */
    struct instrument_plan plan; /* instrumentation for the build, in order->arena */
};

/* Replaces standard input, which is a source, by a copy that several runs of clang can read. Returns false
 * after a message. */
bool check_hold_input(void);
/* Rewinds the copy of standard input, if there is one, for the next program. */
void check_rewind_input(void);
/* Runs the program words[0] with its standard output redirected to `fd`, and waits for its end. Returns its
 * exit code, or 128 + the signal that ended it. Returns -1 and sets errno if the program cannot be run. */
int check_run(const struct order *order, const char **words, int fd);
/* Like check_run, but prints a message if clang cannot be run. */
int check_run_clang(const struct order *order, const char **words, int fd);
/* Runs clang and returns its output, allocated in `arena`. Returns NULL if clang rejects the source (sets
 * out->is_refused), or after a message. */
char *check_read_clang(const struct order *order, struct arena *arena, const char **words,
                       struct checked *out);
/* Checks one source and prints its findings. Returns false after a message if it could not be checked. */
bool check_source(const struct order *order, struct outputs *outputs, struct checked *out);
/* Returns the exit code of joulec for an outcome: 0 (good), 1 (violated) or 3 (undecided). */
int check_exit_code(enum outcome outcome);

#endif
