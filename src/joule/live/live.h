/* joule/live/live.h - attributes energy to the machine's processes while they run.
 *
 * At each update, processes get the new energy of the CPUs in proportion to their CPU time. They get the new
 * energy of a device in proportion to the time in which they kept the device active. For the energy of a
 * single command from begin to end, see attribute.h.
 * Note: energy is conserved. For the CPUs and for each device, total = alive + ended + idle + rest. `rest` is
 * active energy without a visible process. Idle energy belongs to no process. If a device does not report how
 * busy it is, none of its energy counts as idle.
 */
#ifndef JOULE_LIVE_H
#define JOULE_LIVE_H

#include "joule/meter/engine.h"
#include "joule/attribute/attribute_table.h"

/* Joules of the CPUs or of one device since their first reading. alive_joules, ended_joules, idle_joules and
 * rest_joules add up to total_joules. */
struct live_sum {
    char device[16]; /* "cpu" for all of JOULE_CPU; otherwise joule_device.name, such as "gpu:0" */
    double total_joules;
    double alive_joules; /* energy of processes that still run */
    double ended_joules; /* energy of processes that have ended */
    double idle_joules;
    double rest_joules;
    double busy;        /* busy part of the time between the last two updates, 0 to 1; NaN: unknown */
    joule_class cls;    /* class of the shares; JOULE_CLASS_NONE: nothing measured yet */
    double relative_sd; /* relative error of total_joules, common to all shares */
};

struct live;

/* Returns the accounts of the processes for a meter, or NULL if out of memory. The caller frees them with
 * live_close; until then the meter must stay open. Devices are included if the meter was opened with
 * JOULE_OPEN_DEVICES. Use one object from one thread only. */
struct live *live_open(joule_meter *meter);
void live_close(struct live *live);

/* Sets the idle power of the meter's JOULE_CPU, in watts. Without it the cost model estimates the idle part
 * of the CPUs' energy, and the class of the shares is MODELLED. */
void live_set_idle(struct live *live, const struct estimate *cpu_watts);

/* Reads /proc and the meter, and divides the energy since the last update among the processes. Takes about 10
 * us per process. If /proc cannot be read, returns the reason and changes nothing; the next update then
 * includes this time. After JOULE_NO_MEMORY, energy of a process may be counted as rest or idle. */
joule_status live_update(struct live *live);

/* Returns the processes of the last update, sorted by process id; valid until the next update. */
const struct seen_process *live_processes(const struct live *live, size_t *out_count);
/* Returns the sums: of the CPUs in [0], then of the devices in the order in which they were found. Valid
 * until the next update. */
const struct live_sum *live_sums(const struct live *live, size_t *out_count);
/* Returns true if the process has used the device. name: live_sum.device. */
bool live_uses(const struct live *live, const struct seen_process *process, const char *name);

/* Returns `joules`, a part of a sum, with its interval. The interval includes the error of the sensors, and
 * that of treating all active time alike. Unknown if nothing was measured yet. */
joule_quantity live_quantity(const struct live_sum *sum, double joules);

#endif
