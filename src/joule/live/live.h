/* joule/live/live.h - attributes energy to the machine's processes while they run.
 *
 * At each update, the new energy of CPUs is shared by CPU time, that of each device by the time in which a
 * process kept it active. The energy of a command from begin to end is computed by attribute.h.
 * Note: energy is conserved: for each meter total = alive + ended + idle + rest. `rest` is active energy
 * without a visible process. If a device does not report how busy it is, none of its energy counts as idle.
 * Idle energy belongs to no process.
 */
#ifndef JOULE_LIVE_H
#define JOULE_LIVE_H

#include "joule/meter/engine.h"
#include "joule/attribute/attribute_table.h"

/* Joules of one meter since its first answer; alive, ended, idle and rest add up to the total. */
struct live_sum {
    char device[16]; /* "cpu": all of JOULE_CPU; "gpu:0" ... as joule_device.name */
    double total_joules;
    double alive_joules; /* processes that still run */
    double ended_joules;
    double idle_joules;
    double rest_joules;
    double busy;        /* 0 to 1: busy part of the time between the last two updates; NaN: unknown */
    joule_class cls;    /* class of the shares; NONE: no energy was measured yet */
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

/* Reads /proc and the meter, and shares the energy since the last update; takes about 10 us per process. If
 * /proc cannot be read, nothing changes, the status says why, and the next update includes this time.
 * NO_MEMORY: some energy may have gone to rest or idle instead of to a process. */
joule_status live_update(struct live *live);

/* Returns the processes of the last update, sorted by process id; valid until the next update. */
const struct seen_process *live_processes(const struct live *live, size_t *out_count);
/* Returns the sums: [0] is the CPUs, then the devices in the order in which they were found. Valid until the
 * next update. */
const struct live_sum *live_sums(const struct live *live, size_t *out_count);
/* Returns true if a process has used a device since it was first seen. name: as in the device's sum. */
bool live_uses(const struct live *live, const struct seen_process *process, const char *name);

/* Returns a part of a sum with its interval: the meter's error, and the error of treating all active time
 * alike. */
joule_quantity live_quantity(const struct live_sum *sum, double joules);

#endif
