/* joule/sources/cpu/cpu_caches.h - the caches of this machine, and its core for the cost model.
 *
 * Reads sizes from the kernel's files, or from the CPU itself where those are hidden. Typical figures of CPU
 * families are in cost/core_seed.c.
 * Note: a guest sees the whole last-level cache of its host, which other guests use as well. On an Emerald
 * Rapids that showed 260 MiB to 2 of its 64 cores, accesses within 16 MiB took as long as DRAM. A guest's
 * part is taken as its CPUs divided by the cores that share the cache: those of a socket, or of a core
 * complex.
 */
#ifndef JOULE_CPU_CACHES_H
#define JOULE_CPU_CACHES_H

#include "joule/cost/core.h"
#include "joule/host/host.h"

struct cpu_caches {
    double bytes[COST_DRAM]; /* of the data caches that CPU 0 can fill, from COST_L1; 0: it has none */
    double line_bytes;
    unsigned sharing; /* CPUs that share the last level with CPU 0, as this machine sees them; 0: unknown */
};

/* False where neither tells of a first level. */
bool cpu_caches_read(struct joule_host *host, struct cpu_caches *out_caches);

/* The core of this machine with its caches, in a guest its part of the last one, at the frequency that is known of it. False when memory is used up. */
bool cpu_core_read(struct joule_host *host, struct cost_cpu *out_cpu, struct cost_core *out_core);

#endif
