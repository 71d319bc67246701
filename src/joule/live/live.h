/* joule/live/live.h - whose joules these are, while they are used.
 *
 * Owns sharing out what the meter sees of CPUs and devices over the machine's processes, from one look to the next: CPUs by
 * CPU time, each device by the time in which a process kept it active. What a command used from begin to end is
 * attribute.h's.
 * Newcomers: energy is conserved. Of each meter seen = alive + ended + idle + rest, where `rest` is what was active and
 * belongs to no process that could be seen, or may have been active: of a device that does not tell how busy it is nothing is
 * called idle. Idle joules belong to nobody.
 */
#ifndef JOULE_LIVE_H
#define JOULE_LIVE_H

#include "joule/meter/engine.h"
#include "joule/attribute/attribute_table.h"

/* What one meter saw since the first look that it answered, in joules; the last four add up to the first. */
struct live_sum {
    char device[16]; /* "cpu": all of JOULE_CPU; "gpu:0" ... as joule_device.name */
    double seen_joules;
    double alive_joules; /* of processes that still run */
    double ended_joules;
    double idle_joules;
    double rest_joules;
    double busy;        /* 0 to 1: of the time between the last two looks; NaN: unknown */
    joule_class cls;    /* of the shares; NONE: nothing was seen yet */
    double relative_sd; /* error of what was seen; all shares have it in common */
};

struct live;

/* Prepares accounts for a meter that stays open until live_close; devices need JOULE_OPEN_DEVICES. NULL when memory is used
 * up. All is for one thread. */
struct live *live_open(joule_meter *meter);
void live_close(struct live *live);

/* What the meter's JOULE_CPU takes with nothing to do, in watts. Without it the cost model tells which part of the CPUs'
 * energy is idle, and what is shared out is modelled. */
void live_set_idle(struct live *live, const struct estimate *cpu_watts);

/* Looks at /proc and the meter, and shares out what was used since the last look; about 10 us for each process. Where
 * /proc cannot be read nothing changes, and the next look makes up for it; the status says why. NO_MEMORY: some of it may
 * have gone to rest or idle instead of to a process. */
joule_status live_look(struct live *live);

/* The processes of the last look, by process id; until the next one. */
const struct seen_process *live_processes(const struct live *live, size_t *out_count);
/* [0]: CPUs. Then devices, in the order in which they were found. Until the next look. */
const struct live_sum *live_sums(const struct live *live, size_t *out_count);
/* Whether a process has used a device (`name` as in its sum) since it was first seen. */
bool live_uses(const struct live *live, const struct seen_process *process, const char *name);

/* A part of a sum as a quantity: with the meter's error, and that of taking every second of activity for alike. */
joule_quantity live_quantity(const struct live_sum *sum, double joules);

#endif
