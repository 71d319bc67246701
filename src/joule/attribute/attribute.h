/* joule/attribute/attribute.h - which part of the machine's work a command did.
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
#include "joule/curve/estimate.h"
#include "joule/host/host.h"
#include "joule/host/spawn.h"

/* CPU seconds of all CPUs since boot; NaN: unknown. */
struct machine_time {
    double busy_s, total_s;
};
struct machine_time attribute_machine(struct joule_host *host);

/* Best first. */
enum attribute_method {
    ATTRIBUTE_NONE = 0,
    ATTRIBUTE_CGROUP,    /* counts children that have ended, and those that made themselves daemons */
    ATTRIBUTE_SUBREAPER, /* children and orphans that we reaped, and those still alive at the end */
    ATTRIBUTE_WAIT4,     /* what the command itself waited for */
    ATTRIBUTE_TREE,      /* a process that ran before, and those below it, as /proc shows them */
    ATTRIBUTE_LAST = ATTRIBUTE_TREE, /* records hold these numbers: a new one comes behind it */
};
const char *attribute_method_name(enum attribute_method method); /* "cgroup" ... "tree"; "none" */

struct attribution {
    enum attribute_method method;
    double command_cpu_s; /* CPU seconds of the command and its descendants; NaN: unknown */
    double
        machine_busy_cpu_s; /* of all CPUs over the same time; NaN: unknown, as over less than a tick of their clock */
    double machine_cpu_s; /* CPUs times seconds; NaN: unknown */
    double share;         /* command / busy, 0 to 1; NaN: unknown */
    double share_sd;      /* error of `share` as a share of energy, see attribute_finish; NaN: unknown */
};

/* A command about to be measured. The functions below belong to the thread that called attribute_begin. */
struct attribute_group;
/* Prepares the best method from `best` on that works here: makes a cgroup, becomes subreaper. Cgroups that dead runs
 * left behind are removed. NULL only when memory is used up. */
struct attribute_group *attribute_begin(struct joule_host *host, enum attribute_method best);
/* The same for a process that runs already, which nothing is done to. NULL with errno: ESRCH, or no memory. */
struct attribute_group *attribute_attach(struct joule_host *host, pid_t pid);
/* Such a process takes its times with it when it ends, so they must be looked at now and then. False: it has ended. */
bool attribute_look(struct attribute_group *group);
enum attribute_method attribute_group_method(const struct attribute_group *group);
/* Starts counting. */
void attribute_start(struct attribute_group *group);
/* Makes a child in the group that calls be(context), on the caller's memory (spawn.h). Its process id; -1 with errno. Once
 * for each group. */
pid_t attribute_spawn(struct attribute_group *group, spawn_fn be, void *context);
/* For every process that wait4 reaped: its usage in seconds. Children from before attribute_begin do not count. */
void attribute_reaped(struct attribute_group *group, pid_t pid, double cpu_s);
/* What was used since attribute_start. Two errors make share_sd: the machine's busy time is counted in clock ticks,
 * and a CPU second of the command need not take the power of anybody else's. */
struct attribution attribute_finish(struct attribute_group *group);
/* Puts up to `size` pids of the group's living processes into out_pids (NULL where size is 0); how many there are.
 * WAIT4 knows of none but the command. */
size_t attribute_alive(struct attribute_group *group, pid_t *out_pids, size_t size);
/* Moves what still lives out of the cgroup and removes it. Frees. NULL is allowed. */
void attribute_free(struct attribute_group *group);

/* The method that `joule run` would take now, tried with a process that ends at once; NONE: there is none. */
enum attribute_method attribute_try(void);

/* How much more or less than another's a program's CPU second may take: the published spread of a factor of 2 to 3
 * between programs, read as 90 % of a log-normal. */
#define ATTRIBUTE_SPREAD_LOG_SD 0.3

/* The command's joules: share of the active energy (total less idle, where idle is known; else of the total). Class
 * derived at best; the share carries its own error. `idle` may be NULL. */
struct estimate attribute_energy(const struct attribution *attribution, const struct estimate *total,
                                 const struct estimate *idle);

#endif
