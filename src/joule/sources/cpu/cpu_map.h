/* joule/sources/cpu/cpu_map.h - the map from CPU numbers to cores and packages, and the CPU's frequency.
 *
 * The map is read from /sys/devices/system/cpu. cpu_info.h identifies the CPU; cost/cost.h models its energy.
 * Note: the files may be missing in containers and recordings. The map then has one package in which every
 * CPU is a core, and an unknown frequency. CPUs that come online later are not in the map. */
#ifndef JOULE_CPU_MAP_H
#define JOULE_CPU_MAP_H

#include "base/arena.h"
#include "joule/cost/cost.h"
#include "joule/sources/cpu/cpu_info.h"

struct cpu_place {
    bool is_online, knows_core, knows_unit; /* knows_core: `core` is set; knows_unit: `unit` is set */
    unsigned unit;                          /* index into units; 0 in a virtual machine */
    unsigned core;                          /* lowest number of the CPUs on this core */
};

struct cpu_map {
    struct cpu_info info;
    struct cost_cpu cpu;      /* description for the cost model; cpu.packages equals unit_count */
    double reference_hz;      /* frequency to which the cost model's prices refer; NaN: unknown */
    struct cpu_place *places; /* indexed by CPU number */
    unsigned count;           /* highest CPU number + 1 */
    struct cpu_unit *units;
    unsigned unit_count; /* >= 1 */
};

/* Reads the map. `info` must be of the same host. `arena` owns all allocations. Returns false if out of
 * memory. */
bool cpu_map_read(struct joule_host *host, const struct cpu_info *info, struct arena *arena,
                  struct cpu_map *out_map);

/* Reads only the description for the cost model. Returns false if out of memory. */
bool cpu_map_identify(struct joule_host *host, struct cost_cpu *out_cpu);

/* Returns the current frequency of a CPU in hertz, or NaN if unknown. */
double cpu_map_frequency_hz(struct joule_host *host, unsigned cpu);

#endif
