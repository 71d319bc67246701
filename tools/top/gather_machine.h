/* tools/top/gather_machine.h - load of processors and use of memory, from /proc of the meter's host.
 *
 * Note: with one package, the load is already known from the accounts of processes. With several packages,
 * the lines of the CPUs in /proc/stat are read.
 */
#ifndef TOP_GATHER_MACHINE_H
#define TOP_GATHER_MACHINE_H

#include "gather.h"
#include "joule/sources/cpu/cpu_map.h"

#define MAX_PACKAGES 64

struct machine {
    struct arena arena;
    struct cpu_map map;
    bool has_map;
    char *text; /* content of /proc/stat */
    size_t text_size;
    struct {
        uint64_t busy, all; /* ticks */
    } before[MAX_PACKAGES];
};

void gather_machine_open(struct machine *machine, joule_meter *meter);
/* Fills in load and memory of the rows of processors and memory. */
void gather_machine(struct machine *machine, joule_meter *meter, const struct live *live,
                    struct model *model);
void gather_machine_close(struct machine *machine);

#endif
