/* joule/sources/cpu/rapl.h - functions shared by the three sources that read a CPU's RAPL energy counters.
 *
 * They describe the domains (zones, names and limits), select the CPU to query for each package, and read all
 * counters. rapl_perf, rapl_powercap and rapl_msr implement the access to a counter.
 * Note: a package's counter does not include its DRAM. RAPL_CORES covers all cores of a package,
 * RAPL_ONE_CORE a single core (AMD). */
#ifndef JOULE_RAPL_H
#define JOULE_RAPL_H

#include "joule/sources/cpu/cpu_info.h"
#include "joule/sources/source.h"

enum rapl_domain { RAPL_PACKAGE, RAPL_CORES, RAPL_UNCORE, RAPL_DRAM, RAPL_PSYS, RAPL_ONE_CORE };

/* The location of a counter. */
struct rapl_place {
    unsigned cpu; /* CPU on which the counter is read */
    struct cpu_unit unit;
    unsigned core; /* number of the core in its package; only for RAPL_ONE_CORE */
};

struct rapl_reading {
    struct rapl_reading *next;
    struct channel *channel;
    int handle;       /* < 0: cannot be read */
    uint32_t address; /* register address; used by rapl_msr only */
    bool is_detail;   /* read rarely, because each reading wakes a core */
};

/* The `data` of a RAPL source. */
struct rapl {
    const struct cpu_info *cpu; /* the same as source->cpu */
    struct rapl_reading *first, *last;
    bool has_psys;     /* there is a platform counter (psys), which includes the packages */
    int64_t detail_ns; /* time of the last reading with is_detail counters; 0: none yet */
};

/* Allocates a struct rapl in the source's arena and sets source->data to it. Returns NULL if out of
 * memory. */
struct rapl *rapl_create(struct source *source);

/* Adds a channel for a counter, and a reading that has no handle yet. The caller sets the channel's rank,
 * modulus and unit. `label` is the kernel's or vendor's name of the counter. The source's arena owns the
 * result. Returns NULL if out of memory. */
struct rapl_reading *rapl_add(struct source *source, enum rapl_domain domain, const struct rapl_place *place,
                              const char *label);
/* Sets the reading's handle, which rapl_close closes. If handle is -errno, also sets the channel's state and
 * remedy. */
void rapl_set_handle(struct rapl_reading *reading, int handle, const char *remedy);
/* Returns OK if a reading has a handle. Otherwise sets the source's state and remedy to those of the first
 * reading, and returns this state. If there is no reading, the state is NO_MEMORY. */
joule_status rapl_set_state(struct source *source);

/* Selects CPUs from a kernel's CPU list: every CPU, one CPU for each package, or one for each core. If each
 * die has a counter, RAPL_PER_PACKAGE selects one CPU for each die. The source's arena owns the places.
 * Returns the number of places, which is 0 if there are none or if out of memory. */
enum rapl_span { RAPL_EVERY, RAPL_PER_PACKAGE, RAPL_PER_CORE };
size_t rapl_find_places(struct source *source, const char *cpu_list, enum rapl_span span,
                        struct rapl_place **out_places);

/* Reads each counter that has a handle, and reports it to the sink. `read_raw` reads one counter and returns
 * 0 or -errno. Counters of single cores are read at most twice a second. */
typedef int (*rapl_read_fn)(struct joule_host *host, const struct rapl_reading *reading, uint64_t *out_raw);
void rapl_read(struct source *source, struct sink *sink, rapl_read_fn read_raw);
/* Close all handles, or the handle of one channel; for struct source_ops. */
void rapl_close(struct source *source);
void rapl_close_channel(struct source *source, const struct channel *channel);

#endif
