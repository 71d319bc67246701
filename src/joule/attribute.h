/* joule/attribute.h - which part of the machine's work a command did.
 *
 * Owns finding out how much CPU time a command and all its descendants used, by the best means that this machine
 * allows: a cgroup of its own (v2, also in hybrid set-ups, found through mountinfo), else child subreaper and task
 * statistics, else wait4; and the rule that turns the share of busy time into a share of energy.
 * Newcomers: the share is of *active* energy; idle energy belongs to nobody and is reported on its own.
 */
#ifndef JOULE_ATTRIBUTE_H
#define JOULE_ATTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "joule/estimate.h"
#include "joule/host/host.h"

enum attribute_method {
    ATTRIBUTE_NONE = 0,
    ATTRIBUTE_CGROUP,    /* counts children that have ended, and those that made themselves daemons */
    ATTRIBUTE_SUBREAPER, /* children and orphans that we reaped, and those still alive at the end */
    ATTRIBUTE_WAIT4,     /* what the command itself waited for */
};
const char *attribute_method_name(enum attribute_method method); /* "cgroup", "subreaper", "wait4", "none" */

struct attribution {
    enum attribute_method method;
    double command_cpu_s;      /* CPU seconds of the command and its descendants; NaN: unknown */
    double machine_busy_cpu_s; /* of all CPUs over the same time; NaN: unknown */
    double machine_cpu_s;      /* CPUs times seconds; NaN: unknown */
    double share;              /* command / busy, 0 to 1; NaN: unknown */
};

/* A command about to be measured. */
struct attribute_group;
/* Chooses the method and prepares it (makes a cgroup, becomes subreaper). Never fails: WAIT4 is always there. */
struct attribute_group *attribute_begin(struct joule_host *host);
/* In the child, before exec: joins the group. Async-signal-safe. */
void attribute_join(struct attribute_group *group);
/* In the parent: starts counting; takes the machine's busy time. */
void attribute_start(struct attribute_group *group);
/* In the parent, for every child that wait4 reaped: its usage in seconds. */
void attribute_reaped(struct attribute_group *group, pid_t pid, double cpu_s);
/* In the parent, at the end. */
struct attribution attribute_finish(struct attribute_group *group);
/* Processes of the group still alive (0 when unknown). */
size_t attribute_alive(struct attribute_group *group, pid_t *out_pids, size_t size);
/* Removes the cgroup where one was made. Frees. */
void attribute_free(struct attribute_group *group);

/* The command's joules: share of the active energy (total less idle, where idle is known; else of the total). Class
 * derived at best; the share carries its own error. */
struct estimate attribute_energy(const struct attribution *attribution, const struct estimate *total,
                                 const struct estimate *idle);

#endif
