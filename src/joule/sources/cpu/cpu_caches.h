/* joule/sources/cpu/cpu_caches.h - the caches of this machine, and its core for the cost model.
 *
 * Owns the reading of sizes from the kernel's files, or from the CPU itself where those are hidden. What is
 * typical for a family stands in cost/core_seed.c.
 * Note: a guest is shown all of its host's last cache, which others use as well. On an Emerald Rapids that
 * showed 260 MiB to 2 of its 64 cores, 16 MiB took DRAM's time. Its part is that of its CPUs in the cores
 * that share the cache: of a socket, or of a core complex.
 */
#ifndef JOULE_CPU_CACHES_H
#define JOULE_CPU_CACHES_H

#include "joule/cost/core.h"
#include "joule/host/host.h"

struct cpu_caches {
    double bytes[COST_DRAM]; /* of the data caches that CPU 0 can fill, from COST_L1; 0: it has none */
    double line_bytes;
    unsigned sharing; /* CPUs that share the last one with CPU 0, as this machine is shown them; 0: unknown */
};

/* False where neither tells of a first level. */
bool cpu_caches_read(struct joule_host *host, struct cpu_caches *out_caches);

/* The core of this machine with its caches, in a guest its part of the last one, at the frequency that is known of it. False when memory is used up. */
bool cpu_core_read(struct joule_host *host, struct cost_cpu *out_cpu, struct cost_core *out_core);

#endif
