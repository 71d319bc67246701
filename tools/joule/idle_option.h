/* tools/joule/idle_option.h - the option --idle of subcommands that run commands: reads it, and measures the
 * baseline. */
#ifndef JOULE_IDLE_OPTION_H
#define JOULE_IDLE_OPTION_H

#include "measurement.h"

/* Reads the value of --idle (NULL: not given): "auto", "none" or a time. Sets options->uses_idle, and
 * *out_seconds to the time for which to measure the baseline (0: do not measure it). options->root must be
 * set. Returns false after a message. `subject`: the subcommand, for messages. */
bool idle_option_read(const char *subject, const char *text, struct measurement_options *options,
                      double *out_seconds);
/* Measures the baseline for `seconds` (0: not at all) with a separate meter, sets options->idle and stores
 * it, unless the machine is a recorded one. Warns if the machine was busy. Call it before any file or process
 * exists that an interrupt could leave behind, and before signals are blocked. Returns false after a
 * message. */
bool idle_option_measure(const char *subject, struct measurement_options *options, double seconds);

#endif
