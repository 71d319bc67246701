/* tools/forge/timing.h - measures the time and energy of a run of a program, and compares them with the
 * processor's limits.
 *
 * Note: a run's time is the sum of its launches. Joules come from the meter's readings, so a measurement of
 * joules needs about a second. Without a meter they are unknown.
 */
#ifndef FORGE_TIMING_H
#define FORGE_TIMING_H

#include <forge/energy.h>
#include <joule/joule.h>
#include <signal.h>
#include "base/json_writer.h"

struct timing {
    uint64_t runs;
    double seconds;           /* median per run; NaN: no run */
    double flop, bytes;       /* per run */
    joule_quantity joules;    /* per run, including the time until the next run; NaN: unknown */
    forge_energy_basis basis; /* what the joules include */
    /* limits of the processor, set by timing_limits; NaN: not measured */
    double limit_gflops, limit_gb_per_s;
};

/* Measures the limits of the processor with `threads` threads. isa: instruction set; NULL: the limits become
 * NaN. */
void timing_limits(struct timing *timing, const char *isa, unsigned threads);

double timing_gflops(const struct timing *timing);
double timing_gb_per_s(const struct timing *timing);
/* Writes median, GFLOP/s, GB/s and share of the nearer limit as columns to `out`. Returns `out`. timing_head
 * contains the titles of the columns. */
enum { TIMING_TEXT = 64 };
extern const char timing_head[];
const char *timing_text(const struct timing *timing, char out[TIMING_TEXT]);
/* Adds the timing's members to the open JSON object. */
void timing_json(struct json *json, const struct timing *timing);

/* Measures the time of runs for `seconds`, or for up to 5 times as long until there are 3 runs. With a meter,
 * does so for half the time, then measures joules for `seconds`. meter NULL: measures no joules. Ends early
 * when *stop is not 0. Does not change the limits. */
joule_status timing_measure(forge_instance *instance, joule_meter *meter, double seconds,
                            const volatile sig_atomic_t *stop, struct timing *out_timing, joule_error *error);

#endif
