/* tools/joule/calibrate/measure_kernels.h - measures time and, with a sensor, energy of one round of each
 * kernel.
 *
 * Note: cycles are computed from the time and the clock. A chain of additions measures the clock just before
 * and after a kernel, because the clock of a core changes. Time is CPU time of the thread, so that other work
 * on the machine is not counted.
 */
#ifndef CALIBRATE_MEASURE_KERNELS_H
#define CALIBRATE_MEASURE_KERNELS_H

#include <signal.h>
#include <joule/joule.h>
#include "calibrate/kernels.h"

struct effort {
    double seconds; /* minimum time of a kernel in each repeat */
    /* minimum energy of a kernel in each repeat, if there is a sensor; limited to MAX_STRETCH times
     * `seconds` */
    double min_joules;
    unsigned repeats;
    bool has_energy;      /* use an energy sensor */
    bool prints_progress; /* print progress to standard error */
};
#define MAX_STRETCH 10

struct measured {
    struct fit_kernel
        list[FIT_MAX_KERNELS]; /* kernels that run here, in table order; with a sensor followed by idle */
    size_t count;
    struct cost_term hz;
    double hz_log_sd;
    joule_class energy_class; /* MEASURED or DERIVED; NONE: no sensor */
    char energy_source[48];
    double temperature_celsius; /* temperature at the end; NaN: unknown */
    int cpu;                    /* CPU of the measurement; -1: not pinned to one */
    double seconds;             /* total duration */
};

/* Measures all kernels that run here. Checks *stopped every few milliseconds. Returns JOULE_FAILED if
 * *stopped becomes nonzero, and JOULE_NO_MEMORY if out of memory. */
joule_status measure_kernels(const struct cost_core *core, const struct effort *effort,
                             const volatile sig_atomic_t *stopped, struct measured *out,
                             joule_error *out_error);

#endif
