/* forge/telemetry.h - energy, power and temperature of a device.
 *
 * The figures come from libjoule's default meter. For a device that only estimates, they are the expected
 * figures of its runs. An unknown figure is a status and a quantity of NaN, never 0.
 * Note: the energy of a CPU includes all that runs on it.
 */
#ifndef FORGE_TELEMETRY_H
#define FORGE_TELEMETRY_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the joules since forge_reset_counters, or since libjoule's default meter was opened. Statuses:
 * those of joule_window_joules; with JOULE_PENDING the quantity holds what is known. Any thread. */
FORGE_API joule_status forge_energy_consumed(forge_device *device, joule_quantity *out_joules);
/* Returns the present power in watts. Statuses: those of joule_power_watts. A device that only estimates
 * returns the mean of the last run, and before it the idle power. Any thread. */
FORGE_API joule_status forge_power_draw(forge_device *device, joule_quantity *out_watts);
/* Returns the temperature in degrees Celsius of the device's hottest sensor. The interval is unknown, because
 * drivers do not report it. JOULE_ABSENT: no sensor. Any thread. */
FORGE_API joule_status forge_temperature(forge_device *device, joule_quantity *out_celsius);
/* Starts the energy of forge_energy_consumed from 0. Hardware counters and other users of the meter are not
 * affected. Opens the default meter if it is not open. Any thread. */
FORGE_API joule_status forge_reset_counters(forge_device *device);

/* Return the joules, watts and degrees Celsius of the functions above as plain numbers; NaN if unknown. Any
 * thread. */
FORGE_API double forge_energy_consumed_joules(forge_device *device);
FORGE_API double forge_power_draw_watts(forge_device *device);
FORGE_API double forge_temperature_celsius(forge_device *device);

#ifdef __cplusplus
}
#endif
#endif
