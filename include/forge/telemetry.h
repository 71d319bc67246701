/* forge/telemetry.h - what a device uses, in joules.
 *
 * Owns the energy telemetry that every backend has: from libjoule's default meter, or, on a device that only estimates, what
 * its runs were expected to use. Newcomers: a CPU's joules are those of all that runs on it. Unknown is a status and a
 * quantity of NaN, never 0.
 */
#ifndef FORGE_TELEMETRY_H
#define FORGE_TELEMETRY_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Joules since forge_reset_counters, or since libjoule's default meter was opened. Statuses as joule_window_joules; while it
 * is PENDING the quantity holds what is known. Any thread. */
FORGE_API joule_status forge_energy_consumed(forge_device *device, joule_quantity *out_joules);
/* Watts now. Statuses as joule_power_watts. Estimated: the mean of the last run, before it those of an idle machine. Any
 * thread. */
FORGE_API joule_status forge_power_draw(forge_device *device, joule_quantity *out_watts);
/* Degrees Celsius of the hottest sensor of the device; the bounds are unknown: drivers do not tell them. ABSENT: no sensor. */
FORGE_API joule_status forge_temperature(forge_device *device, joule_quantity *out_celsius);
/* Energy counts from now on. The hardware's counters are left as they are, and so is everybody else's view of them. Opens
 * the default meter if need be. Any thread. */
FORGE_API joule_status forge_reset_counters(forge_device *device);

/* The same as plain numbers: NaN where unknown. */
FORGE_API double forge_energy_consumed_joules(forge_device *device);
FORGE_API double forge_power_draw_watts(forge_device *device);
FORGE_API double forge_temperature_celsius(forge_device *device);

#ifdef __cplusplus
}
#endif
#endif
