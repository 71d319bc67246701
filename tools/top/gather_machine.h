/* tools/top/gather_machine.h - what is known of processors and memory beside their joules.
 *
 * Owns how busy each processor was since the last tick, and how much memory is in use, from /proc of the meter's host.
 * Newcomers: on a machine with one processor that is what the accounts know already; only for several the CPUs' own lines of
 * /proc/stat are read.
 */
#ifndef TOP_GATHER_MACHINE_H
#define TOP_GATHER_MACHINE_H

#include "gather.h"
#include "joule/sources/cpu/cpu_map.h"

#define MOST_PACKAGES 64

struct machine {
    struct arena arena;
    struct cpu_map map;
    bool has_map;
    char *text; /* of /proc/stat */
    size_t text_size;
    struct {
        uint64_t busy, all; /* ticks */
    } before[MOST_PACKAGES];
};

void gather_machine_open(struct machine *machine, joule_meter *meter);
/* Fills in what the rows of processors and memory have of it. */
void gather_machine(struct machine *machine, joule_meter *meter, const struct live *live,
                    struct model *model);
void gather_machine_close(struct machine *machine);

#endif
