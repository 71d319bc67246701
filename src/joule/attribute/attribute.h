/* joule/attribute/attribute.h - measures a command's share of the machine's CPU time and turns it into
 * energy.
 *
 * The CPU time of a command and its descendants comes from the best method that works here. The best method
 * is a separate v2 cgroup (also in hybrid set-ups), the second a child subreaper and /proc, the last wait4.
 * Note: the share is a share of *active* energy. Idle energy is attributed to no command and is reported
 * separately.
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
/* Returns the CPU time of the machine from /proc/stat; NaN if it cannot be read. */
struct machine_time attribute_machine(struct joule_host *host);

/* Methods of attribution, best first. */
enum attribute_method {
    ATTRIBUTE_NONE = 0,
    ATTRIBUTE_CGROUP,                /* includes descendants that have ended or became daemons */
    ATTRIBUTE_SUBREAPER,             /* children and orphans that were reaped, and those alive at the end */
    ATTRIBUTE_WAIT4,                 /* the command and the children that it waited for */
    ATTRIBUTE_TREE,                  /* a process that was already running and its descendants, from /proc */
    ATTRIBUTE_LAST = ATTRIBUTE_TREE, /* recordings store these numbers: add new methods at the end */
};
const char *attribute_method_name(enum attribute_method method); /* "cgroup" ... "tree"; "none" */

/* The CPU time and share of a command. */
struct attribution {
    enum attribute_method method;
    double command_cpu_s; /* CPU seconds of the command and its descendants; NaN: unknown */
    /* CPU seconds of all CPUs over the same time; NaN: unknown, for example over less than a clock tick. */
    double machine_busy_cpu_s;
    double machine_cpu_s; /* number of CPUs times elapsed seconds; NaN: unknown */
    double share;         /* command / busy, 0 to 1; NaN: unknown */
    double share_sd; /* standard error of `share` as a share of energy, see attribute_finish; NaN: unknown */
};

/* A command to be measured. Call the functions below in the thread that called attribute_begin. */
struct attribute_group;
/* Prepares the best method that works here, `best` or a later one: creates a cgroup, or makes this process a
 * subreaper. Removes cgroups that killed runs left behind. The caller frees the group with attribute_free.
 * Returns NULL only if out of memory. */
struct attribute_group *attribute_begin(struct joule_host *host, enum attribute_method best);
/* Returns a group that measures a process that is already running, without changing it. The caller frees the
 * group with attribute_free. Returns NULL with errno ESRCH or ENOMEM. */
struct attribute_group *attribute_attach(struct joule_host *host, pid_t pid);
/* Updates the CPU time of an attached process; call it periodically, because the time is lost when the
 * process ends. Returns false if the process has ended. */
bool attribute_update(struct attribute_group *group);
/* Returns the method that the group uses. attribute_spawn may change it to a later one. */
enum attribute_method attribute_group_method(const struct attribute_group *group);
/* Starts counting CPU time. */
void attribute_start(struct attribute_group *group);
/* Creates a child process in the group. The child calls be(context) on the caller's memory, see spawn.h.
 * Returns the child's process id, or -1 with errno. Call it once per group. */
pid_t attribute_spawn(struct attribute_group *group, spawn_fn be, void *context);
/* Adds the CPU seconds of a process that wait4 reaped. Children that existed before attribute_begin are
 * ignored. */
void attribute_reaped(struct attribute_group *group, pid_t pid, double cpu_s);
/* Returns the CPU time and share since attribute_start. share_sd includes two errors: the machine's busy time
 * is counted in clock ticks, and different programs use different power per CPU second. */
struct attribution attribute_finish(struct attribute_group *group);
/* Writes up to `size` process ids of the group's living processes to out_pids (NULL if size is 0). Returns
 * their number; 0 with ATTRIBUTE_WAIT4 and ATTRIBUTE_TREE. */
size_t attribute_alive(struct attribute_group *group, pid_t *out_pids, size_t size);
/* Moves living processes out of the cgroup, removes it, and frees the group. NULL is allowed. */
void attribute_free(struct attribute_group *group);

/* Returns the method that `joule run` would use now, tested with a process that ends at once;
 * ATTRIBUTE_NONE: none works. */
enum attribute_method attribute_try(void);

/* Standard deviation of the logarithm of a program's power per CPU second, relative to other programs.
 * Published ratios between programs of 2 to 3 are assumed to be the 90 % interval of a log-normal
 * distribution. */
#define ATTRIBUTE_SPREAD_LOG_SD 0.3

/* Returns the command's joules: its share of the active energy (total minus idle; the total if `idle` is NULL
 * or unknown). The result includes the error of the share. Its class is derived at best. */
struct estimate attribute_energy(const struct attribution *attribution, const struct estimate *total,
                                 const struct estimate *idle);

#endif
