/* joule/sources/cpu/cpu_map.h - where each CPU sits, and what the cost model has to know of the machine.
 *
 * Owns the map from CPU numbers to cores and packages, and the frequency files below /sys/devices/system/cpu. Which CPU
 * it is stands in cpu_info.h, what it costs in cost/cost.h.
 * Newcomers: files may be missing (containers, recorded machines). The machine is then one package in which every CPU is
 * a core, and the frequency is unknown. CPUs that come online later are not in the map.
 */
#ifndef JOULE_CPU_MAP_H
#define JOULE_CPU_MAP_H

#include "base/arena.h"
#include "joule/cost/cost.h"
#include "joule/sources/cpu/cpu_info.h"

struct cpu_place {
    bool is_online, knows_core, knows_unit;
    unsigned unit; /* index into units; in a virtual machine 0 */
    unsigned core; /* the lowest CPU number of those that share the core */
};

struct cpu_map {
    struct cpu_info info;
    struct cost_cpu cpu;      /* the same for the cost model; its packages are units */
    double reference_hz;      /* at which the cost model's figures hold; NaN: unknown */
    struct cpu_place *places; /* by CPU number */
    unsigned count;           /* highest CPU number + 1 */
    struct cpu_unit *units;
    unsigned unit_count; /* >= 1 */
};

/* `info`: of the same host. Everything is allocated in `arena`. False when memory is used up. */
bool cpu_map_read(struct joule_host *host, const struct cpu_info *info, struct arena *arena,
                  struct cpu_map *out_map);

/* The part for those who only ask the cost model. False when memory is used up. */
bool cpu_map_identify(struct joule_host *host, struct cost_cpu *out_cpu);

/* The frequency of a CPU now, in hertz; NaN: unknown. */
double cpu_map_frequency_hz(struct joule_host *host, unsigned cpu);

#endif
