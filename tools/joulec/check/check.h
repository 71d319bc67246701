/* tools/joulec/check/check.h - one C source, judged: the count build, what LLVM says of it, and what is said then.
 *
 * Owns running clang for the count build. Newcomers: bitcode goes through memory, so that nobody who ends this program leaves a
 * file behind.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "arguments.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "joulec/report/report.h"
#include "joulec/verdict/instrument.h"
#include "outputs.h"

/* On which core it would run. */
struct machine {
    struct cost_cpu cpu;
    struct target target;
    struct cpu_calibration calibration;
};
/* This one, as it was calibrated, else as its family is. False: no memory. */
bool machine_read(struct machine *out);

/* What is to be checked, and how. */
struct order {
    const struct machine *machine;
    const struct arguments *arguments;
    const char *folder;  /* in which clang runs; NULL: this one */
    const char *source;  /* as clang finds it there */
    const char *name;    /* as it is called in messages */
    bool is_quiet;       /* what clang has to say is said later */
    struct arena *arena; /* for what the build is to do; NULL: none follows */
};

struct checked {
    enum outcome outcome;
    bool is_refused;             /* clang refuses the source */
    struct instrument_plan plan; /* what the build is to put into it, in order->arena */
};

/* Keeps standard input, which is a source, for each clang that reads it. False after a message. */
bool check_hold_input(void);
/* From its beginning for the next program, where it is kept. */
void check_rewind_input(void);
/* Runs the program words[0] with standard output to `fd`. Its exit code; -1, and errno: it cannot be run. */
int check_run(const struct order *order, const char **words, int fd);
/* The same of clang, after a message where it cannot be run. */
int check_run_clang(const struct order *order, const char **words, int fd);
/* What clang prints for `words`, in the arena; NULL: after a message, or clang refuses the source. */
char *check_read_clang(const struct order *order, struct arena *arena, const char **words,
                       struct checked *out);
/* False after a message: it could not be checked. */
bool check_source(const struct order *order, struct outputs *outputs, struct checked *out);
/* 0, 1 or 3. */
int check_exit_code(enum outcome outcome);

#endif
