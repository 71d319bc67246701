/* tools/forge/measured_run.h - runs a program repeatedly, measures its time and energy, and prints a table.
 *
 * Note: each run continues with the states of the previous run. The caller sets all inputs.
 */
#ifndef FORGE_MEASURED_RUN_H
#define FORGE_MEASURED_RUN_H

#include <forge/energy.h>
#include <joule/joule.h>

struct measured_run {
    const char *subcommand;
    forge_program *program;
    forge_device *device;
    forge_states *states;
    forge_instance *instance;
    joule_meter *meter; /* NULL: joules are unknown */
    int64_t begin_ns, end_ns;
    unsigned runs;        /* number of runs since measured_run_start */
    forge_energy_sum sum; /* set by measured_run_end */
};

/* Opens the device by name and loads the program. threads 0: all CPUs allowed to the process. is_compiled:
 * with compiled code (compiled_code.h). Takes ownership of `program`, also after an error. Sets *r even after
 * an error, so the caller may always call measured_run_close. */
joule_status measured_run_open(struct measured_run *r, const char *subcommand, forge_program *program,
                               const char *device, unsigned threads, bool is_compiled, uint64_t seed,
                               joule_error *error);
void measured_run_close(struct measured_run *r);

/* Resets the times and starts to measure. If energy cannot be measured, prints a message and continues
 * without joules. */
void measured_run_start(struct measured_run *r);
/* Runs the program `times` times, or until a run fails. */
joule_status measured_run_repeat(struct measured_run *r, unsigned times, joule_error *error);
/* Runs once to warm up, then measures runs for one second, but at least one run. On a device that only
 * estimates, measures one run. */
joule_status measured_run_for_second(struct measured_run *r, joule_error *error);
/* Computes the sum of the joules up to now. Call it before measured_run_print and step_page_write. */
void measured_run_end(struct measured_run *r);
/* Prints the heading and the table to standard output. */
void measured_run_print(struct measured_run *r);

#endif
