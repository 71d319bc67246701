/* joule/live/live.h - attributes energy to the machine's processes while they run.
 *
 * At each update, the new energy of the CPUs is shared by CPU time. The new energy of a device is shared by
 * the time in which each process kept the device active. The energy of a command from begin to end is
 * computed by attribute.h.
 * Note: energy is conserved. For each meter, total = alive + ended + idle + rest. `rest` is active energy
 * without a visible process. If a device does not report how busy it is, none of its energy counts as idle.
 * Idle energy belongs to no process.
 */
#ifndef JOULE_LIVE_H
#define JOULE_LIVE_H

#include "joule/meter/engine.h"
#include "joule/attribute/attribute_table.h"

/* Joules of one meter since its first answer. alive_joules, ended_joules, idle_joules and rest_joules add up
 * to total_joules. */
struct live_sum {
    char device[16]; /* "cpu": all of JOULE_CPU; otherwise joule_device.name, as "gpu:0" */
    double total_joules;
    double alive_joules; /* processes that still run */
    double ended_joules;
    double idle_joules;
    double rest_joules;
    double busy;        /* 0 to 1: busy part of the time between the last two updates; NaN: unknown */
    joule_class cls;    /* class of the shares; JOULE_CLASS_NONE: nothing measured yet */
    double relative_sd; /* relative error of total_joules, common to all shares */
};

struct live;

/* Prepares accounts for a meter, which must stay open until live_close; devices need JOULE_OPEN_DEVICES.
 * Returns NULL if out of memory. Use it from one thread only. */
struct live *live_open(joule_meter *meter);
void live_close(struct live *live);

/* Sets the idle power of the meter's JOULE_CPU, in watts. Without it the cost model estimates the idle part
 * of the CPUs' energy, and the class of the shares is MODELLED. */
void live_set_idle(struct live *live, const struct estimate *cpu_watts);

/* Reads /proc and the meter, and shares the energy since the last update. Takes about 10 us per process. If
 * /proc cannot be read, nothing changes and the status says why; the next update then includes this time.
 * After JOULE_NO_MEMORY, energy of a process may be counted as rest or idle. */
joule_status live_update(struct live *live);

/* Returns the processes of the last update, sorted by process id; valid until the next update. */
const struct seen_process *live_processes(const struct live *live, size_t *out_count);
/* Returns the sums: [0] is the CPUs, then the devices in the order in which they were found. Valid until the
 * next update. */
const struct live_sum *live_sums(const struct live *live, size_t *out_count);
/* Returns true if the process has used a device. `name` is the device's name in live_sum. */
bool live_uses(const struct live *live, const struct seen_process *process, const char *name);

/* Returns `joules`, a part of a sum, with its interval. The interval includes the meter's error and the error
 * of treating all active time alike. Unknown if nothing was measured yet. */
joule_quantity live_quantity(const struct live_sum *sum, double joules);

#endif
