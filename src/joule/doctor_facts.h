/* joule/doctor_facts.h - what can be seen of a machine that bears on its figures.
 *
 * Owns the looking, through the host alone; what follows from it is doctor.c's.
 * Newcomers: a fact that could not be looked at stays at its "unknown" value, which is never the good one.
 */
#ifndef JOULE_DOCTOR_FACTS_H
#define JOULE_DOCTOR_FACTS_H

#include "joule/host/host.h"
#include "joule/sources/cpu_info.h"

enum known { UNKNOWN = -1, NO = 0, YES = 1 };

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
    bool has_sgx;
    enum known is_filtered; /* bit 0 of register 0xBC */
    /* Clock. */
    char clocksource[32], clocksources[160];
    /* NVIDIA. */
    unsigned nvidia_nodes, nvidia_boards; /* device nodes; boards on the PCI bus */
    bool has_nvidia_driver, has_nvml;
    char nvidia_bound[24]; /* the kernel driver of the first board; empty: none */
};

void doctor_look(struct joule_host *host, struct doctor_facts *out_facts);

#endif
