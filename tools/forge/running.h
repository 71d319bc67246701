/* tools/forge/running.h - runs a program repeatedly, measures its time and energy, and prints the table of
 * its launches.
 *
 * Note: each run continues with the states of the previous one; the caller sets all inputs.
 */
#ifndef FORGE_RUNNING_H
#define FORGE_RUNNING_H

#include <forge/energy.h>
#include <joule/joule.h>

struct running {
    const char *subcommand;
    forge_program *program;
    forge_device *device;
    forge_states *states;
    forge_instance *instance;
    joule_meter *meter; /* NULL: joules are unknown */
    int64_t begin_ns, end_ns;
    unsigned runs;
    forge_energy_sum sum; /* set by running_end */
};

/* Opens the device by name and loads the program. threads 0: all CPUs allowed to the process. Takes ownership
 * of program, also after an error. Sets all of *r, so running_close is valid after an error, too. */
joule_status running_open(struct running *r, const char *subcommand, forge_program *program,
                          const char *device, unsigned threads, uint64_t seed, joule_error *error);
void running_close(struct running *r);

/* Resets the times and starts to measure. If energy cannot be measured, prints a message and continues
 * without joules. */
void running_start(struct running *r);
joule_status running_run(struct running *r, unsigned times, joule_error *error);
/* Runs once to warm up, then measures runs for one second, but at least one run. */
joule_status running_measure(struct running *r, joule_error *error);
/* Computes the sum of the joules up to now. Call it before running_print and step_page_write. */
void running_end(struct running *r);
/* Prints the heading and the table to standard output. */
void running_print(struct running *r);

#endif
