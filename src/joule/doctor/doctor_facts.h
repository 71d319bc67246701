/* joule/doctor/doctor_facts.h - gathers facts about a machine that affect its figures, through the host.
 *
 * Note: a fact that could not be checked remains "unknown". No check treats "unknown" like a favourable fact.
 */
#ifndef JOULE_DOCTOR_FACTS_H
#define JOULE_DOCTOR_FACTS_H

#include "joule/host/host.h"
#include "joule/sources/cpu/cpu_info.h"

enum known { UNKNOWN = -1, NO = 0, YES = 1 };

enum gpu_vendor { GPU_AMD, GPU_INTEL, GPU_NVIDIA, GPU_VENDORS };
#define DOCTOR_MAX_GPUS 32

struct doctor_facts {
    struct cpu_info cpu;
    /* Environment. */
    bool is_virtual;
    char hypervisor[48]; /* "KVM"; empty: unknown */
    /* name of the machine in its firmware, such as "Google Compute Engine"; empty: unknown */
    char product[96];
    bool is_container;
    char container[24]; /* "docker", "podman", "kubernetes", "lxc" ...; "container" if the name is unknown */
    /* Perf events. */
    bool has_power_pmu, has_package_event;
    int perf_paranoid; /* INT_MAX: unknown */
    /* true if the effective set, or the bounding set, of the process contains CAP_PERFMON or CAP_SYS_ADMIN */
    enum known has_perfmon, bound_perfmon;
    /* Powercap zones and registers. */
    bool has_zones, is_zone_masked;
    enum known can_read_zone;
    bool has_helper, has_helper_unit; /* joule-helper is installed; its systemd unit is installed */
    bool has_sgx;
    enum known is_filtered; /* energy readings are filtered: bit 0 of register 0xBC */
    /* Clock. */
    char clocksource[32], clocksources[160];
    /* Cgroups. */
    enum known is_root;
    enum known has_cgroup2;    /* a cgroup2 file system is mounted in this mount namespace */
    enum known knows_cgroup2;  /* the kernel supports cgroup2 */
    bool is_cgroup2_read_only; /* that file system is mounted read-only */
    bool has_own_systemd;      /* the user has a systemd instance, which can delegate cgroups */
    /* GPUs on the PCI bus. */
    struct doctor_gpu {
        enum gpu_vendor vendor;
        char address[16]; /* "0000:03:00.0" */
        char driver[24];  /* the bound kernel driver; empty: none */
        bool is_inside;   /* the GPU is inside the processor; the energy of the package includes it */
    } gpus[DOCTOR_MAX_GPUS];
    size_t gpu_count;
    /* a kernel driver of this vendor is loaded; set for AMD and Intel only */
    bool has_gpu_module[GPU_VENDORS];
    unsigned nvidia_nodes; /* number of NVIDIA device nodes in /dev */
    bool has_nvidia_driver, has_nvml;
};

/* Fills all facts. Never fails: facts that cannot be read remain unknown. */
void doctor_query_facts(struct joule_host *host, struct doctor_facts *out_facts);

#endif
