/* joule/attribute/attribute_cgroup.h - creates, reads and removes a v2 cgroup for a command.
 *
 * Note: the owner of a cgroup holds a lock on its folder. So a cgroup that can be locked is left over from a
 * run that died, even if a process with the run's id exists again.
 */
#ifndef JOULE_ATTRIBUTE_CGROUP_H
#define JOULE_ATTRIBUTE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "joule/host/host.h"
#include "joule/host/spawn.h"

/* A command's cgroup. Descriptors are closed by cgroup_close. */
struct cgroup {
    int parent; /* folder of this process's cgroup; -1: none */
    int folder; /* folder of the command's cgroup, locked; opened for clone3 */
    int usage;  /* cpu.stat of the command's cgroup */
    char name[40];
};

/* Finds the folder of the caller's v2 cgroup in the texts of /proc/self/mountinfo and /proc/self/cgroup.
 * Returns false if there is no such folder, it is not visible here, or its path does not fit into `size`
 * bytes. */
bool cgroup_locate(const char *mountinfo, const char *self_cgroup, char *out_path, size_t size);

/* Creates a cgroup below the caller's cgroup. First removes cgroups that ended programs left behind. Returns
 * false, with all descriptors closed, if no cgroup can be created. */
bool cgroup_open(struct cgroup *cgroup, struct joule_host *host);
/* Like attribute_spawn, but the child begins in the cgroup. On older kernels the child is moved there first.
 * If the kernel allows neither, sets *out_is_inside to false and the child ends without calling be(). */
pid_t cgroup_spawn(const struct cgroup *cgroup, spawn_fn be, void *context, bool *out_is_inside);
/* Returns the CPU seconds used so far, including descendants and ended processes; NaN: unknown. */
double cgroup_cpu_s(const struct cgroup *cgroup);
/* Writes up to `size` process ids of the cgroup's processes to out_pids. Returns their total number. */
size_t cgroup_alive(const struct cgroup *cgroup, pid_t *out_pids, size_t size);
/* Moves processes out of the cgroup, removes it and closes the descriptors. If cgroups inside it have
 * processes, the cgroup stays until a later run removes it. */
void cgroup_close(struct cgroup *cgroup);

#endif
