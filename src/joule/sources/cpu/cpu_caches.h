/* joule/sources/cpu/cpu_caches.h - reads the caches of this machine, and describes its core for the cost
 * model.
 *
 * Sizes come from the kernel's files, or from CPUID where these are hidden. Typical values of CPU families
 * are in cost/core_seed.c.
 * Note: a guest sees the whole last-level cache of its host, which other guests use as well. On an Emerald
 * Rapids host that showed 260 MiB to 2 of its 64 cores, accesses within 16 MiB took as long as DRAM accesses.
 * A guest's part is the whole cache times its CPUs, divided by the cores that share the cache: those of a
 * socket, or of a core complex. */
#ifndef JOULE_CPU_CACHES_H
#define JOULE_CPU_CACHES_H

#include "joule/cost/core.h"
#include "joule/host/host.h"

struct cpu_caches {
    double bytes[COST_DRAM]; /* sizes of the data caches that CPU 0 uses, from COST_L1 on; 0: no such cache */
    double line_bytes;
    /* CPUs that share the last level with CPU 0, as this machine reports them; 0: unknown. */
    unsigned sharing;
};

/* Reads the sizes of CPU 0's caches. Returns false if neither the files nor CPUID report a first level. */
bool cpu_caches_read(struct joule_host *host, struct cpu_caches *out_caches);

/* Describes this machine's core with its caches and frequency. In a guest the last level is the guest's part.
 * Returns false if out of memory. */
bool cpu_core_read(struct joule_host *host, struct cost_cpu *out_cpu, struct cost_core *out_core);

#endif
