/* joule/sources/cpu/rapl.h - functions shared by the three sources that read a CPU's RAPL energy counters.
 *
 * These are the domains with their zones, names and limits, the CPU to query for each package, and the
 * reading of all counters. rapl_perf, rapl_powercap and rapl_msr each implement the access.
 * Note: DRAM is not part of its package. A channel of one AMD core is not the domain of all cores of a
 * package. */
#ifndef JOULE_RAPL_H
#define JOULE_RAPL_H

#include "joule/sources/cpu/cpu_info.h"
#include "joule/sources/source.h"

enum rapl_domain { RAPL_PACKAGE, RAPL_CORES, RAPL_UNCORE, RAPL_DRAM, RAPL_PSYS, RAPL_ONE_CORE };

/* The location of a counter. */
struct rapl_place {
    unsigned cpu; /* the CPU to query */
    struct cpu_unit unit;
    unsigned core; /* number of the core in its package; only for RAPL_ONE_CORE */
};

struct rapl_reading {
    struct rapl_reading *next;
    struct channel *channel;
    int handle; /* < 0: cannot be read */
    uint32_t address;
    bool is_detail; /* read rarely, because each reading wakes a core */
};

/* The `data` of a RAPL source. */
struct rapl {
    const struct cpu_info *cpu; /* the same as source->cpu */
    struct rapl_reading *first, *last;
    bool has_psys; /* there is a platform counter (psys) that contains the packages */
    int64_t detail_ns;
};

/* Sets source->data. Returns NULL if out of memory. */
struct rapl *rapl_create(struct source *source);

/* Adds a channel for a counter, and its reading without a handle. The caller sets rank, modulus and unit.
 * `label` is the kernel's or vendor's name. Returns NULL if out of memory. */
struct rapl_reading *rapl_add(struct source *source, enum rapl_domain domain, const struct rapl_place *place,
                              const char *label);
/* Sets the reading's handle. If handle is -errno, sets the channel's state and remedy instead. */
void rapl_set_handle(struct rapl_reading *reading, int handle, const char *remedy);
/* Sets the source's state: OK if one reading has a handle, else the first reading's state and remedy. */
joule_status rapl_set_state(struct source *source);

/* Selects from a kernel's list of CPUs all of them, or one for each package or core. If dies have counters of
 * their own, one is selected for each die. The source's arena owns the places. Returns their number. */
enum rapl_span { RAPL_EVERY, RAPL_PER_PACKAGE, RAPL_PER_CORE };
size_t rapl_find_places(struct source *source, const char *cpu_list, enum rapl_span span,
                        struct rapl_place **out_places);

/* Reads each counter that has a handle. `read_raw` returns 0 or -errno. */
typedef int (*rapl_read_fn)(struct joule_host *host, const struct rapl_reading *reading, uint64_t *out_raw);
void rapl_read(struct source *source, struct sink *sink, rapl_read_fn read_raw);
void rapl_close(struct source *source);
void rapl_close_channel(struct source *source, const struct channel *channel);

#endif
