/* bench/settings.h - the options of `joule bench` and `joule compare`, and checks of their combinations. */
#ifndef BENCH_SETTINGS_H
#define BENCH_SETTINGS_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "common/options.h"
#include "conversion.h"
#include "fail_rule.h"
#include "measurement.h"
#include "sweep.h"
#include "work.h"

/* Exit codes of these subcommands, besides those of options.h. */
enum {
    EXIT_CONDITION = 1,      /* a condition of --fail-if holds */
    EXIT_COMMAND_FAILED = 3, /* a command failed, so the measurement is incomplete */
};

#define WARM_UP_AUTOMATIC UINT32_MAX

struct settings {
    const char *subject; /* "bench" or "compare" */
    struct arena arena;
    struct measurement_options measurement;
    double idle_s;      /* duration of the baseline measurement; 0: none */
    uint32_t warm_ups;  /* number of warm-up runs, or WARM_UP_AUTOMATIC */
    double warm_up_s;   /* warm-up time instead; 0: not given */
    double cool_down_s; /* longest pause before a run; 0: none */
    double target;      /* relative half-width of the interval */
    unsigned min_runs, max_runs;
    double max_s; /* longest time of all runs; 0: no limit */
    bool ignores_failure, shows_output, keeps_outliers, is_quiet, stores_nothing, uses_shell;
    const char *database, *json, *csv, *plot, *setup, *prepare, *baseline, *reference;
    struct option_list names, labels;
    struct work work; /* amount 0: none, or from the output */
    bool has_work_line;
    regex_t work_line;
    struct conversion conversion;
    struct sweep sweeps[SWEEPS_MAX];
    size_t sweep_count;
    uint64_t seed;
    double margin; /* of equivalence, such as 0.02; 0: none */
    struct fail_rule fail_rules[OPTION_LIST_MAX];
    const char *fail_texts[OPTION_LIST_MAX];
    size_t fail_count;
    char **command;        /* bench: program and arguments */
    const char **commands; /* compare: one text each */
    size_t command_count;
};

/* Reads the options; `subject` is "bench" or "compare". Returns false, with the exit code, after --help or a
 * message. */
bool settings_read(const char *subject, int argc, char **argv, struct settings *out, int *out_code);

#endif
