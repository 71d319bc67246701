/* tools/forge/timing.h - measures the time and energy of a run of a program, and formats them beside the
 * limits.
 *
 * Note: a run's time is the sum of its launches. Joules are attributed from the meter's readings, so they
 * need about a second, and are unknown without a meter.
 */
#ifndef FORGE_TIMING_H
#define FORGE_TIMING_H

#include <forge/energy.h>
#include <joule/joule.h>
#include <signal.h>
#include "base/json_writer.h"

struct timing {
    uint64_t runs;
    double seconds;        /* median per run; NaN: it has not run */
    double flop, bytes;    /* per run */
    joule_quantity joules; /* per run, including the time until the next; NaN: unknown */
    forge_energy_basis basis;
    /* limits of the processor, set by timing_limits; NaN: not measured */
    double limit_gflops, limit_gb_per_s;
};

/* Measures the processor's limits now. isa: instruction set; NULL: limits become NaN. */
void timing_limits(struct timing *timing, const char *isa, unsigned threads);

double timing_gflops(const struct timing *timing);
double timing_gb_per_s(const struct timing *timing);
/* Formats median, GFLOP/s, GB/s and share of the nearer limit as columns; timing_head holds their titles. */
enum { TIMING_TEXT = 64 };
extern const char timing_head[];
const char *timing_text(const struct timing *timing, char out[TIMING_TEXT]);
/* Adds the timing's members to the open JSON object. */
void timing_json(struct json *json, const struct timing *timing);

/* Measures runs for `seconds`, or for up to 5 times as long until there are 3 runs; ends when *stop is set.
 * meter NULL: measures no joules. The limits remain unchanged. */
joule_status timing_measure(forge_instance *instance, joule_meter *meter, double seconds,
                            const volatile sig_atomic_t *stop, struct timing *out_timing, joule_error *error);

#endif
