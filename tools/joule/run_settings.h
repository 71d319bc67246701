/* tools/joule/run_settings.h - the options of `joule run` and `joule record`, and checks of their
 * combinations. */
#ifndef JOULE_RUN_SETTINGS_H
#define JOULE_RUN_SETTINGS_H

#include <stdbool.h>
#include "common/options.h"
#include "measurement.h"

struct settings {
    const char *subject; /* the subcommand: "run" or "record" */
    const char *json, *csv, *idle, *record;
    bool quiet, wait_all;
    bool plot; /* show the power over time after the report */
    unsigned runs;
    double idle_s; /* duration of the baseline measurement; 0: none */
    double grace_s;
    unsigned pid; /* process to measure instead of a command; 0: a command */
    double max_s; /* maximum duration for a process; 0: until it ends */
    struct measurement_options measurement;
    struct option_list labels;
    char **command;
};

/* Reads the options; `subject` is "run" or "record". Returns false, with the exit code, after --help or a
 * message. */
bool settings_read(const char *subject, int argc, char **argv, struct settings *out, int *out_code);

#endif
