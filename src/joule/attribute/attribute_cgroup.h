/* joule/attribute/attribute_cgroup.h - a cgroup of its own for a command.
 *
 * Owns finding the place where this process may make a v2 cgroup, making one, reading its CPU time, and removing it.
 * Newcomers: a cgroup is owned by whoever holds the lock on its folder, so one that can be locked is left over from
 * a run that died, whatever process ids say.
 */
#ifndef JOULE_ATTRIBUTE_CGROUP_H
#define JOULE_ATTRIBUTE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "joule/host/host.h"
#include "joule/host/spawn.h"

struct cgroup {
    int parent; /* folder of our own cgroup; -1: none */
    int folder; /* of the command's, locked; opened for clone3 */
    int usage;  /* its cpu.stat */
    char name[40];
};

/* The folder of the caller's v2 cgroup, from the texts of /proc/self/mountinfo and /proc/self/cgroup. False: there is
 * none, it is out of sight, or it does not fit. */
bool cgroup_locate(const char *mountinfo, const char *self_cgroup, char *out_path, size_t size);

/* Removes leftovers, makes a cgroup below the caller's own. False (and nothing is left open): not possible here. */
bool cgroup_open(struct cgroup *cgroup, struct joule_host *host);
/* As attribute_spawn, with the child born in the cgroup where the kernel can do that; else it goes there first. Not in
 * there: the kernel allowed neither, and the child ends without calling be(). */
pid_t cgroup_spawn(const struct cgroup *cgroup, spawn_fn be, void *context, bool *out_is_inside);
/* CPU seconds used so far, descendants and the dead included; NaN: unknown. */
double cgroup_cpu_s(const struct cgroup *cgroup);
/* As attribute_alive. */
size_t cgroup_alive(const struct cgroup *cgroup, pid_t *out_pids, size_t size);
/* Moves processes out, removes. What has cgroups of its own inside with processes in them stays until a later run. */
void cgroup_close(struct cgroup *cgroup);

#endif
