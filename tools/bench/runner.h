/* bench/runner.h - runs a command once and measures it, with one meter for all runs.
 *
 * The measurement is that of `joule run` (tools/joule/measurement.h).
 */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include <regex.h>
#include "child.h"
#include "measurement.h"
#include "run.h"

/* How commands run. */
struct runner_options {
    const char *subject; /* subcommand, for messages */
    struct measurement_options measurement;
    bool shows_output;        /* pass the commands' standard output on; default: discard it */
    const regex_t *work_line; /* finds the amount of work in the output, as subexpression 1; NULL: none */
};

struct runner {
    struct runner_options options;
    struct signals signals;
    struct measurement measurement;
    int null_fd;
    int interrupted_by; /* the signal that requested the end; 0: none */
    int exec_errno;     /* errno of a failed exec; 0: commands ran */
};

/* Opens the meter and takes signals. max_runs: maximum number of runner_run calls. Prints nothing. */
joule_status runner_open(struct runner *runner, const struct runner_options *options, size_t max_runs,
                         joule_error *out_error);
/* Runs a command, waits until its energy is known, and fills *out_run, except block and is_warm_up. A run
 * that must not count has a reason in `rejected`. Returns FAILED with a message if the command could not be
 * started. */
joule_status runner_run(struct runner *runner, char **argv, struct run *out_run, joule_error *out_error);
/* Runs `text` with sh -c, not measured. Returns the exit code, or -1 with errno. */
int runner_do(struct runner *runner, const char *text);
/* Returns the highest temperature of CPUs and GPUs in degrees Celsius; NaN: none is readable. */
double runner_temperature(struct runner *runner);
/* Returns the time on the clock of the runs, in nanoseconds. */
int64_t runner_now_ns(void);
/* Sleeps, or until a signal requests the end. */
void runner_pause(struct runner *runner, double seconds);
/* Writes the sources of the total ("rapl"), its domains ("package-0") and the processor's model. Unknown: "".
 */
void runner_describe(struct runner *runner, char *out_sources, size_t sources_size, char *out_machine,
                     size_t machine_size);
/* Removes the shared session. */
void runner_close(struct runner *runner);

#endif
