/* tools/forge/running.h - runs a program with states repeatedly and measures time and energy.
 *
 * Holds program, states and meter, and prints the table of launches.
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

/* program: whose it becomes, also where this fails; device: its name; threads 0: all. Everything else of *r is zeroed, and
 * running_close may be called either way. */
joule_status running_open(struct running *r, const char *subcommand, forge_program *program,
                          const char *device, unsigned threads, uint64_t seed, joule_error *error);
void running_close(struct running *r);

/* Joules are worth having and no reason to fail: complains where there are none. Runs before this are not counted. */
void running_start(struct running *r);
joule_status running_run(struct running *r, unsigned times, joule_error *error);
/* Runs once for warmth, then so often that the meter ticks some dozens of times, or once where that takes longer. */
joule_status running_measure(struct running *r, joule_error *error);
/* Computes the sum of the joules up to now. Call it before running_print and before printing a page of the
 * step. */
void running_end(struct running *r);
/* Head and table, to standard output. */
void running_print(struct running *r);

#endif
