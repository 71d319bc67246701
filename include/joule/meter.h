/* joule/meter.h - a running measurement of this machine's energy and power.
 *
 * A meter finds the sensors of the machine, samples them in its own threads, and returns energy and power. It
 * counts energy from the call of joule_open. Most programs need one meter. The default meter of the process
 * opens at first use and stops at exit. Functions use it if they have no meter argument or if that argument
 * is NULL.
 */
#ifndef JOULE_METER_H
#define JOULE_METER_H

#include <joule/domain.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct joule_meter joule_meter;

/* Options of joule_open. Set the structure to zero, set struct_size, then set the members that differ from
 * the default. */
typedef struct joule_options {
    uint32_t struct_size; /* sizeof(joule_options) */
    uint32_t flags;       /* JOULE_OPEN_..., or 0 */
    double period_s;      /* mean time between readings, 0.001 to 60; 0 means 0.1 s */
    double wait_s;        /* longest wait of joule_open for slow sources; 0 means 0.25 s; negative: no wait */
    const char *sources;  /* source names to use, separated by commas; "-name" excludes one; NULL: all */
    const char *root;     /* folder of a recorded machine to read instead of this one; NULL: this machine */
} joule_options;

#define JOULE_OPEN_NO_SESSION 1u /* ignore the variable JOULE_SESSION: measure although a parent measures */
#define JOULE_OPEN_DEVICES    2u /* also read memory, limits and processes: see <joule/devices.h> */

/* Totals exclude GPUs that the environment hides from programs (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES,
 * HIP_VISIBLE_DEVICES, ZE_AFFINITY_MASK), if the variable identifies them with certainty. A meter opened with
 * JOULE_OPEN_DEVICES describes the whole machine and excludes none. */

/* Ids of sums of domains. Functions with a comment "domain or sum" accept them as domain id. */
#define JOULE_TOTAL (-1) /* all devices: the largest trusted domains that do not overlap */
#define JOULE_CPU   (-2) /* the CPU packages and memory of JOULE_TOTAL */
#define JOULE_GPU   (-3) /* the GPUs and accelerators of JOULE_TOTAL */

/* Opens a meter. On a machine without a sensor, the source `estimated` supplies energies of class modelled.
 * options: may be NULL. On success the caller owns *out_meter and closes it with joule_close. On failure
 * *out_meter is NULL. JOULE_INVALID: an option is out of range. JOULE_UNSUPPORTED: unknown flag or member.
 * JOULE_ABSENT: root is not a folder. JOULE_NO_MEMORY: out of memory or threads. Any thread. */
JOULE_API joule_status joule_open(const joule_options *options, joule_meter **out_meter,
                                  joule_error *out_error);

/* Stops sampling and frees the meter and its budgets. Takes at most 1 s, even if a vendor's library hangs.
 * NULL: no effect. No other thread may use the meter during the call. Must not be called from a budget's
 * callback. Regions that have not ended may end later. */
JOULE_API void joule_close(joule_meter *meter);

/* Returns the number of domains found so far, which grows while slow sources open. Returns 0 if a parent
 * measures for this process, if the meter cannot be opened, or if it was opened before fork. Any thread. */
JOULE_API size_t joule_domain_count(joule_meter *meter);

/* Writes the description of domain number `index`, 0 to joule_domain_count - 1, to *out_domain. Set
 * out_domain->struct_size before the call. JOULE_INVALID: index out of range or struct_size too small. Any
 * thread. */
JOULE_API joule_status joule_domain_get(joule_meter *meter, size_t index, joule_domain *out_domain);

/* Reads all fast sources now, in the calling thread. Slow sources keep their own period. Takes a few
 * microseconds for each file or counter. Has no effect if a parent measures for this process.
 * Note: the final energy of a region that ended before this reading may be known only after the next reading.
 * Any thread. */
JOULE_API joule_status joule_sample_now(joule_meter *meter);

/* Writes the energy in joules of a domain or sum since joule_open to *out_joules, up to the last update of
 * each of its sensors. Later results are not smaller, unless a better sensor replaces the sensor of a part.
 * If the status is not JOULE_OK, the quantity is unknown (NaN).
 * JOULE_PENDING: fewer than two readings, or the measuring parent has not published this sum. JOULE_INVALID:
 * no such domain, or the domain is a gauge. JOULE_ABSENT: this sum has no domain on this machine.
 * JOULE_DENIED, JOULE_UNSUPPORTED, JOULE_FAILED: the sensor cannot be read; see joule_domain.remedy. Any
 * thread. */
JOULE_API joule_status joule_energy_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules);

/* Writes the energy in joules of a domain or sum between two times of CLOCK_MONOTONIC, in ns, to *out_joules.
 * Neither time may be before joule_open or in the future. If a window is split, the energies of its parts add
 * up to its energy. *out_coverage: the part of the window, 0 to 1, that sensors covered; out_coverage may be
 * NULL. JOULE_PENDING: a sensor has no update after the end yet; *out_joules is the energy known so far.
 * JOULE_ABSENT: sensors have updates after the end, but covered no part of the window. JOULE_INVALID: end
 * before begin, or a time out of range. Other statuses: those of joule_energy_joules. Any thread. */
JOULE_API joule_status joule_window_joules(joule_meter *meter, int32_t domain, int64_t begin_ns,
                                           int64_t end_ns, joule_quantity *out_joules, double *out_coverage);

/* Returns the number of ticks after `after_ns`, and writes the times of the first `capacity` ticks in ns of
 * CLOCK_MONOTONIC, oldest first. A tick is a time at which the energy of a domain or sum is known without
 * interpolation. The ticks are the updates of its sensor; for a sum, those of its slowest sensor. If a parent
 * measures, they are the times at which it published its sums. Windows between two ticks have the smallest
 * error. Some old ticks are dropped. Returns 0 if the domain is a gauge or does not exist. Any thread. */
JOULE_API size_t joule_ticks(joule_meter *meter, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                             size_t capacity);

/* Writes the energy in joules of a domain since joule_open, minus the energy of its child domains, to
 * *out_joules. For example, the energy of a package without its cores and graphics. JOULE_ABSENT: the domain
 * has no children. JOULE_INVALID: also for a sum. Other statuses: those of joule_energy_joules. Any
 * thread. */
JOULE_API joule_status joule_rest_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules);

/* Writes the mean power in watts of a domain or sum over its last readings to *out_watts: at least 2 readings
 * and at least 50 ms. After one reading of a power sensor, this reading is the result. JOULE_STALE: the last
 * reading is too old. Other statuses: those of joule_energy_joules. Any thread. */
JOULE_API joule_status joule_power_watts(joule_meter *meter, int32_t domain, joule_quantity *out_watts);

/* Writes the last value of a gauge domain to *out_value: degrees Celsius, megahertz or a ratio 0 to 1. The
 * value is NaN if the status is not JOULE_OK. JOULE_INVALID: not a gauge. Other statuses: those of
 * joule_power_watts. Any thread. */
JOULE_API joule_status joule_gauge(joule_meter *meter, int32_t domain, double *out_value);

/* Returns the machine's current power in watts from the default meter, or NaN if it is unknown. The first
 * call opens the meter and waits at most 0.5 s for a second reading. Any thread. */
JOULE_API double joule_current_power_watts(void);

#ifdef __cplusplus
}
#endif
#endif
