/* tools/forge/timing.h - how long a program takes, and how many joules.
 *
 * Owns repeated runs, their median, and how that is shown beside the limits. Newcomers: a run's time is that of its launches; joules are shared out of what the meter
 * saw, so they need a second or so, and are unknown without.
 */
#ifndef FORGE_TIMING_H
#define FORGE_TIMING_H

#include <forge/energy.h>
#include <joule/joule.h>
#include <signal.h>
#include "joule/report/json.h"

struct timing {
    uint64_t runs;
    double seconds;        /* median of a run; NaN: there was none */
    double flop, bytes;    /* of a run */
    joule_quantity joules; /* joules of a run and of the time until the next; NaN: unknown */
    forge_energy_basis basis;
    double limit_gflops, limit_gb_per_s; /* of the processor, by timing_limits; NaN: not measured */
};

/* Measures what the processor can do just now, by this instruction set; NULL: by none that is known. */
void timing_limits(struct timing *timing, const char *isa, unsigned threads);

double timing_gflops(const struct timing *timing);
double timing_gb_per_s(const struct timing *timing);
/* Median, GFLOP/s, GB/s and share of the nearer limit as columns; timing_head has their names. */
enum { TIMING_TEXT = 64 };
extern const char timing_head[];
const char *timing_text(const struct timing *timing, char out[TIMING_TEXT]);
/* As members of an object. */
void timing_json(struct json *json, const struct timing *timing);

/* Runs for so long, or for up to 5 times as long where it would be fewer than 3 runs, unless *stop is set. meter NULL: no joules are asked for. The limits stay as they
 * are. */
joule_status timing_take(forge_instance *instance, joule_meter *meter, double seconds,
                         const volatile sig_atomic_t *stop, struct timing *out_timing, joule_error *error);

#endif
