/* joule/meter.h - the running measurement.
 *
 * A meter finds the sensors of the machine, samples them in threads of its own, and answers questions about
 * energy and power. Most programs need one; the functions that take no meter, and those given NULL, use the
 * process's default meter, which opens on first use and stops at exit.
 * Newcomers: energy is counted from the moment of joule_open, and every figure is a joule_quantity.
 */
#ifndef JOULE_METER_H
#define JOULE_METER_H

#include <joule/domain.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct joule_meter joule_meter;

/* How to open a meter. Zero everything, set struct_size, then what should differ from the default. */
typedef struct joule_options {
    uint32_t struct_size; /* sizeof(joule_options) */
    uint32_t flags;       /* JOULE_OPEN_..., or 0 */
    double period_s;      /* mean time between readings, 0.001 to 60; 0: 0.1 s */
    double wait_s;        /* how long joule_open waits for slow sources; 0: 0.25 s; negative: not at all */
    const char *sources;  /* comma list of source names to use, "-name" to leave one out; NULL: all */
    const char *root;     /* read a recorded machine below this folder instead of the real one; NULL: real */
} joule_options;

#define JOULE_OPEN_NO_SESSION 1u /* ignore JOULE_SESSION: measure here although a parent measures already */
#define JOULE_OPEN_DEVICES    2u /* also look at memory, limits and processes of devices: <joule/devices.h> */

/* Totals leave out boards that the environment hides from programs (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES,
 * HIP_VISIBLE_DEVICES, ZE_AFFINITY_MASK), where it is certain which are meant. Meters opened with JOULE_OPEN_DEVICES speak of the
 * machine and leave none out. */

/* Ids that stand for sums and may be used wherever a domain id is asked for. */
#define JOULE_TOTAL (-1) /* the outermost trusted domains that do not overlap */
#define JOULE_CPU   (-2) /* those of them that are CPU packages and memory */
#define JOULE_GPU   (-3) /* those of them that are GPUs and accelerators */

/* Opens a meter. `options` may be NULL. On success *out_meter is owned by the caller: joule_close. Works on any
 * machine: where there is no sensor the `estimated` source still answers, with class modelled.
 * On failure it is NULL. JOULE_INVALID: an option is out of range. JOULE_UNSUPPORTED: a flag or member that this library
 * does not know. JOULE_ABSENT: root is no folder. JOULE_NO_MEMORY: no memory or no thread. Any thread. */
JOULE_API joule_status joule_open(const joule_options *options, joule_meter **out_meter,
                                  joule_error *out_error);

/* Stops sampling and frees the meter and its budgets, within 1 s even if a vendor's library hangs. NULL: nothing is
 * done. No other thread may be using the meter; not from a budget's callback. Regions may run on and end later. */
JOULE_API void joule_close(joule_meter *meter);

/* Number of domains found so far; grows while slow sources arrive. 0 in a process whose parent measures, and for a meter
 * that is not to be had or from before fork. Any thread. */
JOULE_API size_t joule_domain_count(joule_meter *meter);

/* Describes domain number `index`, 0 to count - 1; out_domain->struct_size must be set. JOULE_INVALID: index out
 * of range or struct_size too small. Any thread. */
JOULE_API joule_status joule_domain_get(joule_meter *meter, size_t index, joule_domain *out_domain);

/* Takes a reading of every prompt source now, in the calling thread. Slow sources keep their own pace. Costs a
 * few microseconds for each file or counter. Regions are joined one reading behind: those that end before this one have
 * their joules after the next. Does nothing where a parent measures. Any thread. */
JOULE_API joule_status joule_sample_now(joule_meter *meter);

/* Energy in joules of a domain (or JOULE_TOTAL ...) since joule_open, up to the last tick of each sensor that belongs to it.
 * Later answers are not smaller, as long as no better sensor takes the place of one. For other than JOULE_OK the quantity is
 * unknown (NaN). JOULE_PENDING: no two readings yet, or a parent measures and has told nothing of that sum. JOULE_INVALID:
 * no such domain, or a gauge. JOULE_ABSENT: nothing here belongs to that sum. JOULE_DENIED, JOULE_UNSUPPORTED,
 * JOULE_FAILED: it is there and does not answer, see the domain's remedy. Any thread. */
JOULE_API joule_status joule_energy_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules);

/* Energy in joules of a domain (or JOULE_TOTAL ...) between two moments of CLOCK_MONOTONIC, neither before joule_open nor in
 * the future. Windows add up: any split of a window sums to it. *out_coverage (may be NULL) is the part of it, 0 to 1, that
 * sensors saw. JOULE_PENDING: the sensors have not ticked past its end; *out_joules holds what is known. JOULE_ABSENT: they have,
 * and saw none of it. JOULE_INVALID: end before begin, or outside those bounds. Otherwise as joule_energy_joules. Any thread. */
JOULE_API joule_status joule_window_joules(joule_meter *meter, int32_t domain, int64_t begin_ns,
                                           int64_t end_ns, joule_quantity *out_joules, double *out_coverage);

/* The moments after `after_ns` (CLOCK_MONOTONIC) at which the energy of a domain (or JOULE_TOTAL ...) is known without
 * interpolating: the ticks of its sensor, of a sum's slowest. Windows between them err least. Writes the first `capacity`,
 * oldest first, and returns how many there are. Long after a moment only some of the ticks around it are kept. Where a
 * parent measures these are the moments at which it showed its sums. 0 for no such domain, and a gauge. Any thread. */
JOULE_API size_t joule_ticks(joule_meter *meter, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                             size_t capacity);

/* What a domain used since joule_open beside the parts of it that are listed: a package less its cores and graphics.
 * JOULE_ABSENT: no part is listed. Otherwise as joule_energy_joules. Any thread. */
JOULE_API joule_status joule_rest_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules);

/* Mean power in watts of a domain (or JOULE_TOTAL ...) over the last readings (at least 2, at least 50 ms). Of a sensor of
 * watts that has been read once: what it said. Errors as above, and JOULE_STALE. Any thread. */
JOULE_API joule_status joule_power_watts(joule_meter *meter, int32_t domain, joule_quantity *out_watts);

/* Last value of a gauge domain: degrees Celsius, megahertz or a share 0 to 1; NaN for other than JOULE_OK. JOULE_INVALID:
 * not a gauge. Otherwise as joule_power_watts. Any thread. */
JOULE_API joule_status joule_gauge(joule_meter *meter, int32_t domain, double *out_value);

/* Power of the machine now in watts, from the default meter; NaN where unknown. The first call opens the meter
 * and waits for a second reading: for half a second at most. Any thread. */
JOULE_API double joule_current_power_watts(void);

#ifdef __cplusplus
}
#endif
#endif
