/* joule/meter.h - a running measurement of this machine's energy and power.
 *
 * A meter finds the sensors of the machine, samples them in its own threads, and answers questions about
 * energy and power. It counts energy from the call of joule_open. Most programs need one meter. Functions
 * without a meter, and functions that get NULL as meter, use the default meter of the process: it opens at
 * first use and stops at exit.
 */
#ifndef JOULE_METER_H
#define JOULE_METER_H

#include <joule/domain.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct joule_meter joule_meter;

/* How to open a meter. Set the structure to zero, set struct_size, then set the members that differ from the
 * default. */
typedef struct joule_options {
    uint32_t struct_size; /* sizeof(joule_options) */
    uint32_t flags;       /* JOULE_OPEN_..., or 0 */
    double period_s;      /* mean time between readings, 0.001 to 60; 0: 0.1 s */
    double wait_s;        /* longest wait of joule_open for slow sources; 0: 0.25 s; negative: no wait */
    const char *sources;  /* source names to use, separated by commas; "-name" excludes one; NULL: all */
    const char *root;     /* folder of a recorded machine to read instead of this one; NULL: this machine */
} joule_options;

#define JOULE_OPEN_NO_SESSION 1u /* ignore JOULE_SESSION: measure here although a parent measures */
#define JOULE_OPEN_DEVICES    2u /* read memory, limits and processes of devices, too: <joule/devices.h> */

/* Totals exclude GPUs that the environment hides from programs (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES,
 * HIP_VISIBLE_DEVICES, ZE_AFFINITY_MASK), if the variable identifies them with certainty. A meter opened with
 * JOULE_OPEN_DEVICES describes the whole machine and excludes none. */

/* Ids of sums. Each may be used as a domain id. */
#define JOULE_TOTAL (-1) /* the outermost trusted domains; they do not overlap */
#define JOULE_CPU   (-2) /* the CPU packages and memory of JOULE_TOTAL */
#define JOULE_GPU   (-3) /* the GPUs and accelerators of JOULE_TOTAL */

/* Opens a meter. It works on any machine: without a sensor, the source `estimated` answers with class
 * modelled. options: may be NULL. On success the caller owns *out_meter and closes it with joule_close; on
 * failure it is NULL. JOULE_INVALID: an option is out of range. JOULE_UNSUPPORTED: unknown flag or member.
 * JOULE_ABSENT: root is not a folder. JOULE_NO_MEMORY: out of memory or threads. Any thread. */
JOULE_API joule_status joule_open(const joule_options *options, joule_meter **out_meter,
                                  joule_error *out_error);

/* Stops sampling and frees the meter and its budgets. Takes at most 1 s, even if a vendor's library hangs.
 * NULL: no effect. No other thread may use the meter during the call. Must not be called from a budget's
 * callback. Regions that still run may end later. */
JOULE_API void joule_close(joule_meter *meter);

/* Returns the number of domains found so far. It grows while slow sources open. 0 if a parent measures for
 * this process, if the meter cannot be opened, or if it was opened before fork. Any thread. */
JOULE_API size_t joule_domain_count(joule_meter *meter);

/* Describes domain number `index`, 0 to count - 1. Set out_domain->struct_size before the call.
 * JOULE_INVALID: index out of range or struct_size too small. Any thread. */
JOULE_API joule_status joule_domain_get(joule_meter *meter, size_t index, joule_domain *out_domain);

/* Reads all fast sources now, in the calling thread; slow sources keep their own period. Takes a few
 * microseconds for each file or counter. Has no effect if a parent measures for this process.
 * Note: the energy of a region that ended before this reading is known after the next reading. Any thread. */
JOULE_API joule_status joule_sample_now(joule_meter *meter);

/* Returns the energy in joules of a domain (or JOULE_TOTAL ...) since joule_open, up to the last update of
 * each of its sensors. Later results are not smaller, unless a better sensor replaces one. If the status is
 * not JOULE_OK, the quantity is unknown (NaN).
 * JOULE_PENDING: fewer than two readings, or the measuring parent has not published this sum. JOULE_INVALID:
 * no such domain, or a gauge. JOULE_ABSENT: this sum has no domain on this machine. JOULE_DENIED,
 * JOULE_UNSUPPORTED, JOULE_FAILED: the sensor does not answer; see the domain's remedy. Any thread. */
JOULE_API joule_status joule_energy_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules);

/* Returns the energy in joules of a domain (or JOULE_TOTAL ...) between two times of CLOCK_MONOTONIC.
 * Neither time may be before joule_open or in the future. If a window is split, the energies of its parts
 * add up to its energy. out_coverage: the part of the window, 0 to 1, that sensors covered; may be NULL.
 * JOULE_PENDING: a sensor has no update after the end yet; *out_joules holds the energy known so far.
 * JOULE_ABSENT: sensors have updates after the end, but covered no part of the window. JOULE_INVALID: end
 * before begin, or a time out of range. Other statuses: those of joule_energy_joules. Any thread. */
JOULE_API joule_status joule_window_joules(joule_meter *meter, int32_t domain, int64_t begin_ns,
                                           int64_t end_ns, joule_quantity *out_joules, double *out_coverage);

/* Returns how many times after `after_ns` (CLOCK_MONOTONIC) the energy of a domain (or JOULE_TOTAL ...) is
 * known without interpolation, and writes the first `capacity` of them, oldest first. These are the updates
 * of its sensor; for a sum, those of its slowest sensor. If a parent measures, they are the times at which it
 * published its sums. Windows between two such times have the smallest error. Of old times, only some are
 * kept. Returns 0 for a gauge, and if there is no such domain. Any thread. */
JOULE_API size_t joule_ticks(joule_meter *meter, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                             size_t capacity);

/* Returns the energy in joules of a domain since joule_open minus the energy of its listed parts, for
 * example of a package without its cores and graphics. JOULE_ABSENT: no part is listed. Other statuses:
 * those of joule_energy_joules. Any thread. */
JOULE_API joule_status joule_rest_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules);

/* Returns the mean power in watts of a domain (or JOULE_TOTAL ...) over the last readings: at least 2
 * readings and at least 50 ms. For a power sensor with one reading, returns that reading. Errors: those of
 * joule_energy_joules, and JOULE_STALE. Any thread. */
JOULE_API joule_status joule_power_watts(joule_meter *meter, int32_t domain, joule_quantity *out_watts);

/* Returns the last value of a gauge domain: degrees Celsius, megahertz or a ratio 0 to 1. NaN if the status
 * is not JOULE_OK. JOULE_INVALID: not a gauge. Other statuses: those of joule_power_watts. Any thread. */
JOULE_API joule_status joule_gauge(joule_meter *meter, int32_t domain, double *out_value);

/* Returns the machine's present power in watts, from the default meter; NaN if unknown. The first call opens
 * the meter and waits at most 0.5 s for a second reading. Any thread. */
JOULE_API double joule_current_power_watts(void);

#ifdef __cplusplus
}
#endif
#endif
