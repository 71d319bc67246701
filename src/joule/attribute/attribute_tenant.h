/* joule/attribute/attribute_tenant.h - attributes the machine's energy to tenants: jobs, containers, services
 * and users.
 *
 * Tenants are found by their cgroups. The processors' energy is divided by CPU time, a device's energy by the
 * time in which processes ran on it. The tenants' joules and the rest add up to the meter's energy.
 * Note: a share is relative to the machine's full capacity, so the energy of idle time is attributed to no
 * tenant, and no baseline is needed. For example, a daemon that runs 0.1 % of the time gets 0.1 % of the
 * energy, even on an idle machine.
 */
#ifndef JOULE_ATTRIBUTE_TENANT_H
#define JOULE_ATTRIBUTE_TENANT_H

#include <joule/devices.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of a cgroup's path; empty if the path does not contain them. */
struct tenant_name {
    char kind[16]; /* "slurm", "container", "service", "user"; of sums: "unattributed", "ended" */
    char slurm_job[24], user[16];
    char container_id[65], pod_uid[40]; /* as in the path */
    char unit[96];                      /* systemd's unit */
    /* Names of the pod. The cgroup's path does not contain them, so attribute_pod.h finds them. Kubernetes
     * limits their lengths. */
    char pod[254], namespace[64], container[64];
};

/* Parses the path of a cgroup, relative to the root of the tree. Returns true if the cgroup is a tenant. A
 * tenant is the outermost cgroup of one of the kinds (tenant_name.kind), and contains all cgroups inside
 * it. */
bool tenant_name_read(const char *path, struct tenant_name *out_name);

/* A tenant: a cgroup whose energy is reported. */
#define TENANT_PATH 256
struct tenant {
    char path[TENANT_PATH];
    struct tenant_name name;
    double cpu_s, cpu_joules, gpu_joules; /* since the tenant was first seen */
    /* Below: private to attribute_tenant.c. */
    /* CPU seconds counted by the kernel; the part for which no energy is attributed yet */
    double usage_s, pending_cpu_s;
    int64_t seen_ns;
    unsigned update_count; /* number of updates in which the tenant was seen */
};

/* A device, and the time up to which its energy is attributed. */
struct tenant_device {
    char device[16];
    bool has_pod;           /* exactly one pod uses the device */
    struct tenant_name pod; /* `container` is empty if several containers use the device */
    int64_t begin_ns;       /* start of the time not attributed yet; slow sensors lag behind the processors */
};

struct process_shares; /* attribute_process.h */

/* Initialise with zeros, except the first two members. Not thread-safe. */
struct tenants {
    joule_meter *meter;
    /* energy by process, updated with the tenants; owned by the caller; NULL: off */
    struct process_shares *processes;
    struct tenant *list;
    size_t count, capacity;
    /* Joules of no known tenant: idle time, the kernel, processes outside of all tenants. They are summed
     * separately, because a difference of sums would sometimes decrease by rounding. Prometheus would treat
     * the decrease as a counter reset. */
    double rest_cpu_joules, rest_gpu_joules;
    double ended_cpu_s, ended_cpu_joules, ended_gpu_joules; /* sums of tenants removed from the list */
    joule_class cpu_class, gpu_class; /* weakest class of the attributed energy, derived at best */
    /* Below: private to attribute_tenant.c. */
    struct tenant_device *devices; /* all devices seen so far */
    size_t device_count, device_capacity;
    int64_t begin_ns, end_ns; /* window that is not settled yet; 0: none */
    unsigned cpu_count;
    const char *root; /* root of the tree of cgroups; NULL: not searched yet, or none */
    bool has_root, is_v2;
};

/* Reads all cgroups and attributes the energy since the last call; call it about once a second. If a cgroup
 * ends between two calls, its energy since the first of these calls is added to the rest. The cgroup stays in
 * the list for some minutes. Returns JOULE_ABSENT if there are no cgroups, JOULE_NO_MEMORY if some are not in
 * the list, or the reason why processes could not be read. */
joule_status tenants_update(struct tenants *tenants);
/* Attributes the energy up to the last update if the sensors have reported it by now. Call it before reading
 * the sums, so that they are as recent as possible. */
void tenants_settle(struct tenants *tenants);
/* Frees the lists of tenants and devices. */
void tenants_free(struct tenants *tenants);
/* Returns the tenant to which a process belongs; NULL: none. Valid until the next update. */
struct tenant *tenants_of_process(const struct tenants *tenants, uint64_t pid);
/* Returns the weaker of two classes, derived at best. */
joule_class tenant_class(joule_class a, joule_class b);
/* Returns the pod of all processes that use a device ("gpu:0") now; NULL if there is no such pod, or if it is
 * uncertain. Valid until the next update. */
const struct tenant_name *tenants_pod_on(const struct tenants *tenants, const char *device);

#endif
