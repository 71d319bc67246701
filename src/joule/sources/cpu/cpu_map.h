/* joule/sources/cpu/cpu_map.h - the map from CPU numbers to cores and packages, and the CPU's frequency.
 *
 * It reads the files below /sys/devices/system/cpu. cpu_info.h identifies the CPU, cost/cost.h has its cost.
 * Note: files may be missing in containers and recordings. The machine is then one package in which every CPU
 * is a core, with unknown frequency. CPUs that come online later are not in the map. */
#ifndef JOULE_CPU_MAP_H
#define JOULE_CPU_MAP_H

#include "base/arena.h"
#include "joule/cost/cost.h"
#include "joule/sources/cpu/cpu_info.h"

struct cpu_place {
    bool is_online, knows_core, knows_unit;
    unsigned unit; /* index into units; 0 in a virtual machine */
    unsigned core; /* the lowest CPU number of those that share the core */
};

struct cpu_map {
    struct cpu_info info;
    struct cost_cpu cpu;      /* the CPU for the cost model; its packages are the units */
    double reference_hz;      /* frequency for which the cost model's values hold; NaN: unknown */
    struct cpu_place *places; /* indexed by CPU number */
    unsigned count;           /* highest CPU number + 1 */
    struct cpu_unit *units;
    unsigned unit_count; /* >= 1 */
};

/* Reads the map. `info` must be of the same host. `arena` owns all allocations. Returns false if out of
 * memory. */
bool cpu_map_read(struct joule_host *host, const struct cpu_info *info, struct arena *arena,
                  struct cpu_map *out_map);

/* Fills only what the cost model needs. Returns false if out of memory. */
bool cpu_map_identify(struct joule_host *host, struct cost_cpu *out_cpu);

/* Returns the current frequency of a CPU in hertz; NaN: unknown. */
double cpu_map_frequency_hz(struct joule_host *host, unsigned cpu);

#endif
