/* joule/sources/cpu/rapl.h - what the three ways to a CPU's energy registers share.
 *
 * Owns the domains and their zones, names and limits, the CPUs that speak for a package, and the round of readings.
 * How a register is reached is each source's own: rapl_perf, rapl_powercap, rapl_msr.
 * Newcomers: memory is no part of its package, and one AMD core is no share of its package's cores.
 */
#ifndef JOULE_RAPL_H
#define JOULE_RAPL_H

#include "joule/sources/cpu/cpu_info.h"
#include "joule/sources/source.h"

enum rapl_domain { RAPL_PACKAGE, RAPL_CORES, RAPL_UNCORE, RAPL_DRAM, RAPL_PSYS, RAPL_ONE_CORE };

/* Where a register is. */
struct rapl_place {
    unsigned cpu; /* the one to ask */
    struct cpu_unit unit;
    unsigned core; /* of the package; for RAPL_ONE_CORE */
};

struct rapl_reading {
    struct rapl_reading *next;
    struct channel *channel;
    int handle; /* < 0: cannot be read */
    uint32_t address;
    bool is_detail; /* read seldom: each reading wakes a core */
};

/* The `data` of a RAPL source. */
struct rapl {
    const struct cpu_info *cpu; /* the source's */
    struct rapl_reading *first, *last;
    bool has_psys; /* a platform meter above the packages */
    int64_t detail_ns;
};

/* Makes source->data; NULL when memory is used up. */
struct rapl *rapl_begin(struct source *source);

/* A described channel of 32-bit-made counters, and its reading without a handle; NULL when memory is used up. The
 * caller sets rank, modulus and unit. `label` is the kernel's or vendor's word. */
struct rapl_reading *rapl_add(struct source *source, enum rapl_domain domain, const struct rapl_place *place,
                              const char *label);
/* Gives the reading its handle, or what open said (-errno) and what to do about it. */
void rapl_attach(struct rapl_reading *reading, int handle, const char *remedy);
/* The source's state: OK with one reading that has a handle, else the first one's state and remedy. */
joule_status rapl_conclude(struct source *source);

/* Whom to ask, of a kernel's list of CPUs: all of them, or one for each package (die, where those have meters of
 * their own) or core. Allocated in the source's arena; the number of places. */
enum rapl_span { RAPL_EVERY, RAPL_PER_PACKAGE, RAPL_PER_CORE };
size_t rapl_places(struct source *source, const char *cpu_list, enum rapl_span span,
                   struct rapl_place **out_places);

/* One round: `read_raw` (0 or -errno) for each reading with a handle. */
typedef int (*rapl_read_fn)(struct joule_host *host, const struct rapl_reading *reading, uint64_t *out_raw);
void rapl_read(struct source *source, struct sink *sink, rapl_read_fn read_raw);
void rapl_close(struct source *source);
void rapl_drop(struct source *source, const struct channel *channel);

#endif
