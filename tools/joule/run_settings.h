/* tools/joule/run_settings.h - what people ask of `joule run` and `joule record`.
 *
 * Owns the options of both, and what goes together. Newcomers: there is a command or a process's number, never both.
 */
#ifndef JOULE_RUN_SETTINGS_H
#define JOULE_RUN_SETTINGS_H

#include <stdbool.h>
#include "common/options.h"
#include "measuring.h"

struct settings {
    const char *subject; /* what people typed: run or record */
    const char *json, *csv, *idle, *record;
    bool quiet, wait_all;
    unsigned runs;
    double idle_s; /* measure the baseline for so long; 0: do not */
    double grace_s;
    unsigned pid;     /* of the process to measure instead of a command; 0: a command */
    double longest_s; /* measure it no longer; 0: until it ends */
    struct measuring_options measuring;
    struct option_list labels;
    char **command;
};

/* Reads them; `subject` is "run" or "record". True, or false with the exit code after --help or a message. */
bool settings_read(const char *subject, int argc, char **argv, struct settings *out, int *out_code);

#endif
