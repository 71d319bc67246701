/* joule/cost/fit.h - fits the speeds of a core and the prices of a table to measured kernels.
 *
 * The fit is non-negative least squares on relative errors. Its error is found by cross-validation, which
 * leaves out one family of kernels at a time. The caller runs the kernels and reads the sensors.
 * Note: energy is a linear sum over the work. Time is not a linear sum, because the limits of a core overlap
 * (core.h). So time is fitted in linear steps.
 */
#ifndef JOULE_COST_FIT_H
#define JOULE_COST_FIT_H

#include "joule/cost/calibration.h"

/* Families of similar kernels. Each term occurs in several families, so that any family can be left out. */
enum fit_family {
    FIT_IDLE, /* an idle machine: has joules and no cycles */
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
/* Returns a family's name, such as "chains"; static storage. */
const char *fit_family_name(enum fit_family family);

#define FIT_MAX_KERNELS 96

/* A kernel: the work of one iteration, and its measured cost. */
struct fit_kernel {
    const char *name;
    enum fit_family family;
    struct cost_features work;
    double chain[COST_FEATURES]; /* number of times that the latency of each feature occurs in the dependence
                                  * chain */
    double streamed;             /* see cost_flow.streamed */
    /* Measured values; NaN: not measured. */
    double cycles, cycles_log_sd;
    double seconds, joules, joules_log_sd;
};

/* Errors of a fit: ln(modelled / measured). */
struct fit_errors {
    double residual[FIT_MAX_KERNELS];   /* error of each kernel in the full fit */
    double left_out[FIT_MAX_KERNELS];   /* error of each kernel in the fit without its family */
    double family_log_sd[FIT_FAMILIES]; /* root mean square of left_out per family; NaN: no kernel */
    double residual_log_sd, log_sd;     /* root mean squares over all kernels, of residual and of left_out */
};

/* Fits the speeds of a core, starting from the typical core of its family. A term that no kernel depends on
 * keeps its typical value and error. Returns UNSUPPORTED, with the reason in the message, if the result
 * cannot describe a core. */
joule_status fit_speeds(const struct fit_kernel *kernels, size_t count, const struct cost_core *typical,
                        struct cost_speeds *out, struct fit_errors *out_errors, joule_error *out_error);
/* Returns the cycles of one iteration of a kernel on a core. */
double fit_cycles(const struct cost_core *core, const struct fit_kernel *kernel);

/* Fits the prices of a table like fit_speeds. Features that the kernels cannot separate keep their typical
 * ratio. The machine must do nothing else during the measurement, because the idle energy of the whole
 * package is included. Sets `cls` to NONE and `source` to ""; the caller fills in both. */
joule_status fit_prices(const struct fit_kernel *kernels, size_t count, const struct cost_table *typical,
                        struct cost_prices *out, struct fit_errors *out_errors, joule_error *out_error);

#endif
