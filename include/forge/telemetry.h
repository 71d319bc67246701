/* forge/telemetry.h - energy, power and temperature of a device.
 *
 * The figures come from libjoule's default meter. For a device that only estimates, they are the expected
 * figures of its runs. If a figure is unknown, the quantity is NaN, never 0, and the status is the reason.
 * Note: the energy of a CPU includes the energy of all processes that run on the CPU.
 */
#ifndef FORGE_TELEMETRY_H
#define FORGE_TELEMETRY_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the joules since forge_reset_counters, or since libjoule's default meter was opened. Statuses:
 * those of joule_window_joules; with JOULE_PENDING the quantity is what is known so far. Any thread. */
FORGE_API joule_status forge_energy_consumed(forge_device *device, joule_quantity *out_joules);
/* Returns the present power in watts. For a device that only estimates, returns the mean power of the last
 * run, or the idle power before the first run. Statuses: those of joule_power_watts. Any thread. */
FORGE_API joule_status forge_power_draw(forge_device *device, joule_quantity *out_watts);
/* Returns the temperature of the device's hottest sensor, in degrees Celsius. The interval is unknown,
 * because drivers do not report the error of sensors. JOULE_ABSENT: no sensor. Any thread. */
FORGE_API joule_status forge_temperature(forge_device *device, joule_quantity *out_celsius);
/* Makes forge_energy_consumed count from 0 again. Hardware counters and other users of the meter are not
 * affected. Opens the default meter if it is not open. Any thread. */
FORGE_API joule_status forge_reset_counters(forge_device *device);

/* Return the estimates of the functions above as numbers, in joules, watts and degrees Celsius; NaN if
 * unknown. Any thread. */
FORGE_API double forge_energy_consumed_joules(forge_device *device);
FORGE_API double forge_power_draw_watts(forge_device *device);
FORGE_API double forge_temperature_celsius(forge_device *device);

#ifdef __cplusplus
}
#endif
#endif
