/* tools/forge/timing.c - see timing.h. */
#include "timing.h"

#include <forge/energy.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "peak.h"
#include "energy_table.h"

#define METER_WAIT_S 0.3 /* maximum time to wait for a last reading after the last run */

enum { MIN_RUNS = 3, MAX_RUNS = 20000, COLLECT_RUNS = 64 };

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sets *out_seconds to the time of all launches since the last reset, and FLOP and bytes of *timing to those
 * of one run. */
static void sum_launches(const forge_instance *instance, double *out_seconds, struct timing *timing)
{
    forge_launch_facts launch = {.struct_size = sizeof launch};
    *out_seconds = timing->flop = timing->bytes = 0;
    for (size_t i = 0; forge_instance_launch(instance, i, &launch) == JOULE_OK; i++) {
        *out_seconds += launch.seconds;
        timing->flop += launch.flop;
        timing->bytes += launch.read_bytes + launch.written_bytes;
    }
}

static joule_status run_for(forge_instance *instance, double seconds, const volatile sig_atomic_t *stop,
                            double *each, struct timing *timing, joule_error *error)
{
    int64_t begin_ns = clock_now_ns();
    double all_s;
    joule_status status = JOULE_OK;
    while (status == JOULE_OK && timing->runs < MAX_RUNS && !*stop &&
           clock_seconds(clock_now_ns() - begin_ns) < (timing->runs < MIN_RUNS ? 5 * seconds : seconds)) {
        forge_instance_reset_times(instance);
        status = forge_instance_run(instance, error);
        sum_launches(instance, &all_s, timing);
        each[timing->runs++] = all_s;
    }
    return status;
}

/* Runs for `seconds` without resetting the launch times, because joules are attributed by these times. */
static joule_status run_metered(forge_instance *instance, joule_meter *meter, double seconds,
                                const volatile sig_atomic_t *stop, struct timing *timing, joule_error *error)
{
    forge_instance_reset_times(instance);
    joule_status status = forge_energy_start(instance, meter, JOULE_TOTAL, error);
    int64_t begin_ns = clock_now_ns();
    for (uint64_t i = 1; status == JOULE_OK && !*stop && clock_seconds(clock_now_ns() - begin_ns) < seconds;
         i++) {
        status = forge_instance_run(instance, error);
        if (i % COLLECT_RUNS == 0)
            forge_energy_collect(instance);
    }
    forge_energy_finish(instance, METER_WAIT_S);
    forge_step_energy(instance, FORGE_ALL_PHASES, &timing->joules);
    forge_energy_sum sum = {.struct_size = sizeof sum};
    forge_energy_total(instance, &sum);
    timing->basis = sum.basis;
    forge_energy_stop(instance);
    return status;
}

joule_status timing_measure(forge_instance *instance, joule_meter *meter, double seconds,
                            const volatile sig_atomic_t *stop, struct timing *out_timing, joule_error *error)
{
    double *each = calloc(MAX_RUNS, sizeof *each);
    out_timing->runs = 0;
    out_timing->seconds = NAN;
    out_timing->basis = FORGE_ENERGY_UNKNOWN;
    out_timing->joules = (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    if (!each)
        return error_set(error, JOULE_NO_MEMORY, "cannot measure times: out of memory");
    joule_status status = forge_instance_run(instance, error); /* maps pages and warms caches */
    if (status == JOULE_OK)
        status = run_for(instance, meter ? seconds / 2 : seconds, stop, each, out_timing, error);
    if (status == JOULE_OK && meter)
        status = run_metered(instance, meter, seconds, stop, out_timing, error);
    qsort(each, out_timing->runs, sizeof *each, by_value);
    if (out_timing->runs)
        out_timing->seconds = each[out_timing->runs / 2];
    free(each);
    return status;
}

/* --- comparison with the limits ------------------------------------------------------------------------- */

void timing_limits(struct timing *timing, const char *isa, unsigned threads)
{
    timing->limit_gflops = isa ? peak_gflops(isa, threads) : NAN;
    timing->limit_gb_per_s = isa ? peak_copy_gb_per_s(threads) : NAN;
}

double timing_gflops(const struct timing *timing)
{
    return timing->flop / timing->seconds * 1e-9;
}

double timing_gb_per_s(const struct timing *timing)
{
    return timing->bytes / timing->seconds * 1e-9;
}

static double share_of(const struct timing *timing)
{
    return fmax(timing_gflops(timing) / timing->limit_gflops,
                timing_gb_per_s(timing) / timing->limit_gb_per_s);
}

const char timing_head[] = "    median   GFLOP/s     GB/s     share";

const char *timing_text(const struct timing *timing, char out[TIMING_TEXT])
{
    char time[32], share[16] = "";
    joule_format(timing->seconds, JOULE_DIMENSION_TIME, 3, time, sizeof time);
    if (!isnan(share_of(timing)))
        string_print(share, sizeof share, "%.1f %%", share_of(timing) * 100);
    string_print(out, TIMING_TEXT, "%10s %9.2f %8.2f %9s", time, timing_gflops(timing),
                 timing_gb_per_s(timing), share);
    return out;
}

void timing_json(struct json *json, const struct timing *timing)
{
    joule_quantity joules = timing->joules;
    json_double(json, "median_seconds", timing->seconds);
    json_double(json, "flop", timing->flop);
    json_double(json, "bytes", timing->bytes);
    json_double(json, "limit_gflops", timing->limit_gflops);
    json_double(json, "limit_gb_per_s", timing->limit_gb_per_s);
    json_double(json, "share_of_limit", share_of(timing));
    json_double(json, "energy_joules", joules.value);
    if (isnan(joules.value)) {
        json_null(json, "interval_joules");
    } else {
        json_open(json, "interval_joules", '[');
        json_double(json, NULL, joules.low);
        json_double(json, NULL, joules.high);
        json_close(json, ']');
    }
    json_string(json, "class", joule_class_name(isnan(joules.value) ? JOULE_CLASS_NONE : joules.cls));
    json_string(json, "energy_of", isnan(joules.value) ? NULL : basis_name(timing->basis));
}
