/* joule/attribute/attribute_tenant.h - who used the machine's energy: jobs, containers, services and users, as their cgroups say.
 *
 * Owns the list of tenants and the joules of each, which together with those of nobody are what the meter saw: processors'
 * energy by their share of CPU time, a device's by the share of time in which their processes ran on it.
 * Newcomers: a share is one of all that the machine could have done, so the energy of idle time stays with nobody. No
 * baseline is needed for that, and a daemon that runs for 0.1 % of the time is told 0.1 %, and not all that idling took.
 */
#ifndef JOULE_ATTRIBUTE_TENANT_H
#define JOULE_ATTRIBUTE_TENANT_H

#include <joule/devices.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a cgroup's path says of it; empty where it does not. */
struct tenant_name {
    char kind[16]; /* "slurm", "container", "service", "user"; of what is left: "unattributed", "ended" */
    char slurm_job[24], user[16];
    char container_id[65], pod_uid[40]; /* whole */
    char unit[96];                      /* systemd's */
    /* Of pods, which a cgroup's path does not name: attribute_pod.h. As long as Kubernetes allows. */
    char pod[254], namespace[64], container[64];
};

/* Whether the cgroup at `path`, from the root of the tree of cgroups, is a tenant: the outermost of its kinds. What is inside
 * one belongs to it. */
bool tenant_name_read(const char *path, struct tenant_name *out_name);

#define TENANT_PATH 256
struct tenant {
    char path[TENANT_PATH];
    struct tenant_name name;
    double cpu_s, cpu_joules, gpu_joules; /* since it was first seen */
    /* Below: attribute_tenant.c's. */
    double usage_s, pending_cpu_s; /* as the kernel counts; used in the window that is not settled yet */
    int64_t seen_ns;
    unsigned looks; /* in which it was seen */
};

struct tenant_device {
    char device[16];
    bool has_pod;           /* that alone uses it */
    struct tenant_name pod; /* its container is empty where several use the device */
    int64_t begin_ns; /* of what is not shared out yet; slow sensors have it longer than the processors */
};

struct process_shares; /* attribute_process.h */

/* Zeroed but for the first two. One thread. */
struct tenants {
    joule_meter *meter;
    struct process_shares *processes; /* also tell processes apart; NULL: no. The caller's */
    struct tenant *list;
    size_t count, capacity;
    /* What nobody had, or nobody that is known: idle time, the kernel, processes outside of all tenants. A sum of its own, as
     * the difference of others would now and then fall by a rounding, which to Prometheus is a counter that begins anew. */
    double rest_cpu_joules, rest_gpu_joules;
    double ended_cpu_s, ended_cpu_joules, ended_gpu_joules; /* of those that are not in the list any more */
    joule_class cpu_class, gpu_class; /* weakest of what was shared out, derived at best */
    /* Below: attribute_tenant.c's. */
    struct tenant_device *devices; /* all that were seen */
    size_t device_count, device_capacity;
    int64_t begin_ns, end_ns; /* of the window that is not settled yet; 0: none */
    unsigned cpu_count;
    const char *root; /* of the tree of cgroups; NULL: not looked for, or none */
    bool has_root, is_v2;
};

/* Looks at all cgroups and shares out what was used since the last call; about once a second. What ended between two calls is
 * nobody's from the last look at it on; it stays in the list for some minutes. ABSENT: there are no cgroups here.
 * NO_MEMORY: some are not in the list. Others: why processes could not be told apart. */
joule_status tenants_update(struct tenants *tenants);
/* Attributes the energy up to the last update, if the sensors have reported it since, so that sums are as
 * recent as possible. */
void tenants_settle(struct tenants *tenants);
void tenants_free(struct tenants *tenants);
/* The tenant in which a process is, itself or further out; NULL: none. Until the next update. */
struct tenant *tenants_of_process(const struct tenants *tenants, uint64_t pid);
/* Of what was shared out: the weaker class, derived at best. */
joule_class tenant_class(joule_class a, joule_class b);
/* The pod of all processes that are on a device ("gpu:0") now; NULL where there is none, or it is not certain. Until the next
 * update. */
const struct tenant_name *tenants_pod_on(const struct tenants *tenants, const char *device);

#endif
