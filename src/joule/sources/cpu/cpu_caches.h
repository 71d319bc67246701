/* joule/sources/cpu/cpu_caches.h - reads the caches of this machine, and describes its core for the cost
 * model.
 *
 * Cache sizes come from sysfs, or from CPUID if sysfs does not show them. Typical values of CPU families are
 * in cost/core_seed.c.
 * Note: a virtual machine sees the whole last-level cache of its host, although other guests use the cache
 * too. A guest with 2 of the 64 cores of an Emerald Rapids host saw 260 MiB. In this guest, accesses within
 * 16 MiB already took as long as DRAM accesses. The guest's share is therefore estimated as the cache size
 * times the guest's CPUs, divided by the cores that share the cache, which are those of a socket or of a core
 * complex. */
#ifndef JOULE_CPU_CACHES_H
#define JOULE_CPU_CACHES_H

#include "joule/cost/core.h"
#include "joule/host/host.h"

struct cpu_caches {
    /* sizes of CPU 0's data caches, indexed from COST_L1 to COST_L3; 0: no cache at this level */
    double bytes[COST_DRAM];
    double line_bytes;
    /* Number of CPUs that use the same last-level cache as CPU 0, including CPU 0; 0: unknown. */
    unsigned sharing;
};

/* Reads the sizes of CPU 0's caches. Returns false if neither sysfs nor CPUID reports a first-level cache. */
bool cpu_caches_read(struct joule_host *host, struct cpu_caches *out_caches);

/* Describes this machine's CPU and its core, with caches and frequency. In a virtual machine, the size of the
 * last-level cache is the guest's share. Returns false if out of memory. */
bool cpu_core_read(struct joule_host *host, struct cost_cpu *out_cpu, struct cost_core *out_core);

#endif
