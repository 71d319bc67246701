/* joule/cost/fit.h - the terms of a core and of a table, from kernels of which the work and the time or joules are known.
 *
 * Owns the fit (non-negative least squares on relative errors), the error on kernels that were not fitted (one family left out
 * after the other), and the reasons to refuse. Who runs kernels and reads sensors is the caller.
 * Newcomers: a core's time is no sum: its limits hide behind each other (core.h). So it is fitted in steps, each of them linear;
 * joules are a sum.
 */
#ifndef JOULE_COST_FIT_H
#define JOULE_COST_FIT_H

#include "joule/cost/calibration.h"

/* Kernels alike. Each term stands in several of them, so that one can be left out. */
enum fit_family {
    FIT_IDLE, /* nothing runs: has joules and no time */
    FIT_CHAINS,
    FIT_UNITS,
    FIT_VECTORS,
    FIT_BRANCHES,
    FIT_CACHES,
    FIT_LINE_MIXES,
    FIT_INT_MIXES,
    FIT_FLOAT_MIXES,
    FIT_FAMILIES
};
const char *fit_family_name(enum fit_family family); /* "chains" */

#define FIT_MOST_KERNELS 96

/* A kernel, by what one round of it is and takes. */
struct fit_kernel {
    const char *name;
    enum fit_family family;
    struct cost_features work;
    double chain[COST_FEATURES]; /* how many latencies of each wait for one another */
    double streamed;             /* as cost_flow's */
    /* Measured; NaN: not. */
    double cycles, cycles_log_sd;
    double seconds, joules, joules_log_sd;
};

/* The logarithm of modelled over measured. */
struct fit_errors {
    double residual[FIT_MOST_KERNELS];  /* of each kernel in the fit */
    double left_out[FIT_MOST_KERNELS];  /* with its family left out */
    double family_log_sd[FIT_FAMILIES]; /* of those; NaN: no kernel */
    double residual_log_sd, log_sd;     /* root of the mean square over all kernels; left out */
};

/* Fits a core, beginning with what is typical of its family; terms that no kernel tells of stay there, with the width that
 * this has. UNSUPPORTED, with the reason, where the result cannot be a core's. */
joule_status fit_speeds(const struct fit_kernel *kernels, size_t count, const struct cost_core *typical,
                        struct cost_speeds *out, struct fit_errors *out_errors, joule_error *out_error);
/* Cycles of a kernel on a core. */
double fit_cycles(const struct cost_core *core, const struct fit_kernel *kernel);

/* Fits a table in the same way; classes that the kernels cannot tell apart keep the ratio that is typical. All of a
 * package's idle energy counts, so the machine must do nothing else meanwhile. `cls` and `source` are left to the caller, who
 * knows the sensor. */
joule_status fit_prices(const struct fit_kernel *kernels, size_t count, const struct cost_table *typical,
                        struct cost_prices *out, struct fit_errors *out_errors, joule_error *out_error);

#endif
