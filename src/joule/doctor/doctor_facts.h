/* joule/doctor/doctor_facts.h - what can be seen of a machine that bears on its figures.
 *
 * Owns the looking, through the host alone; what follows from it is doctor.c's.
 * Newcomers: a fact that could not be looked at stays at its "unknown" value, which is never the good one.
 */
#ifndef JOULE_DOCTOR_FACTS_H
#define JOULE_DOCTOR_FACTS_H

#include "joule/host/host.h"
#include "joule/sources/cpu/cpu_info.h"

enum known { UNKNOWN = -1, NO = 0, YES = 1 };

enum gpu_vendor { GPU_AMD, GPU_INTEL, GPU_NVIDIA, GPU_VENDORS };
#define DOCTOR_MOST_GPUS 32

struct doctor_facts {
    struct cpu_info cpu;
    /* Where this runs. */
    bool is_virtual;
    char hypervisor[48]; /* "KVM"; empty: unknown */
    char product[96];    /* of the machine, by its firmware: "Google Compute Engine"; empty: unknown */
    bool is_container;
    char container[24]; /* "docker", "podman", "kubernetes", "lxc" ...; "container" where unnamed */
    /* Events. */
    bool has_power_pmu, has_package_event;
    int perf_paranoid;                     /* INT_MAX: unknown */
    enum known has_perfmon, bound_perfmon; /* CAP_PERFMON or CAP_SYS_ADMIN: effective; in the bounding set */
    /* Zones and registers. */
    bool has_zones, is_zone_masked;
    enum known can_read_zone;
    bool has_helper, has_helper_unit; /* joule-helper, and its unit of systemd, are installed */
    bool has_sgx;
    enum known is_filtered; /* bit 0 of register 0xBC */
    /* Clock. */
    char clocksource[32], clocksources[160];
    /* Groups of processes. */
    enum known is_root;
    enum known has_cgroup2;    /* mounted where this process sees it */
    enum known knows_cgroup2;  /* the kernel */
    bool is_cgroup2_read_only; /* as it is mounted */
    bool has_own_systemd;      /* the user's own, which gives out cgroups */
    /* GPUs on the PCI bus. */
    struct doctor_gpu {
        enum gpu_vendor vendor;
        char address[16]; /* "0000:03:00.0" */
        char driver[24];  /* the kernel driver that holds it; empty: none */
        bool is_inside;   /* the processor, whose package meter covers it */
    } gpus[DOCTOR_MOST_GPUS];
    size_t gpu_count;
    bool has_gpu_module[GPU_VENDORS]; /* a kernel driver of AMD's or Intel's is loaded */
    unsigned nvidia_nodes;            /* device nodes */
    bool has_nvidia_driver, has_nvml;
};

void doctor_look(struct joule_host *host, struct doctor_facts *out_facts);

#endif
