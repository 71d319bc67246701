/* joule/collector/collector.h - attributes energy to regions.
 *
 * The collector reads finished and open regions from the session's ring buffers (reader.h). It attributes the
 * energy of the meter's windows to them in sweeps (sweep.h) and adds the results up by tag (ledger.h).
 * Note: it runs in the thread of lane 0, after each round of readings and one round behind. So a thread that
 * was preempted between taking a timestamp and writing the region is still in time. A region that arrives
 * later gets energy only from then on, and its coverage shows it.
 */
#ifndef JOULE_COLLECTOR_H
#define JOULE_COLLECTOR_H

#include "joule/meter/engine.h"
#include "joule/session/session_layout.h"

/* Makes a collector and adds it to the meter's listeners. The meter owns it. Returns NULL if out of memory,
 * or if another process reads the meter's session. */
struct collector *collector_create(joule_meter *meter);
/* Returns the meter's collector; NULL: it has none, as in a descendant of a session. */
struct collector *collector_of(joule_meter *meter);
/* Called for each finished region when its final energy is known, with the collector's lock held. `tag` is
 * its name's number, `flags` are those of its span. */
typedef void (*collector_region_fn)(void *context, int64_t begin_ns, int64_t end_ns, uint32_t tag,
                                    uint32_t thread, uint32_t flags);
/* Sets the function that is called for finished regions; NULL: none. After this returns, no call of the
 * previous function is running. */
void collector_on_region(struct collector *collector, collector_region_fn function, void *context);
/* Called after each round of readings. Reads ring buffers and attributes energy up to the previous round;
 * read_ns is the time of the present round. Stops earlier at the last reading of the slowest sensor, or where
 * late spans are still expected. Costs next to nothing while there are no regions. */
void collector_advance(struct collector *collector, int64_t read_ns);
/* Adds a finished span that does not come from the session's ring buffers, for example from a recording. It
 * is in time if it begins after the last round. */
void collector_give(struct collector *collector, const struct span *span);
/* Attributes everything up to now, including regions of threads that have ended. Call it
 * before a final report. */
void collector_finish(struct collector *collector);
/* Return the result of a region or a tag, as joule_region_result and joule_tag_result do. */
joule_status collector_region(struct collector *collector, const joule_region *region,
                              joule_result *out_result);
joule_status collector_tag(struct collector *collector, uint32_t tag, joule_result *out_result);
/* The sums of all regions of a tag. */
struct tag_sums {
    uint32_t tag;
    const char *name; /* owned by the collector */
    joule_result result;
    uint32_t flags;            /* union of the regions' flags */
    uint64_t attributed_count; /* regions whose energy is included in `result` */
    uint64_t counted;          /* calls without timestamps, which have no energy in `result` */
    double duration_s;         /* of all regions with timestamps */
    /* Update period in seconds of the slowest sensor that measures these regions; 0: none measures them. */
    double sensor_period_s;
};
/* Sets the sums of one tag. Returns false if no region of it has finished. */
bool collector_sums(struct collector *collector, uint32_t tag, struct tag_sums *out_sums);
/* Calls `visit` for each tag with finished regions, by rising tag, with the collector's lock held. */
typedef void (*collector_visit_fn)(void *context, const struct tag_sums *sums);
void collector_each_tag(struct collector *collector, collector_visit_fn visit, void *context);
/* Returns the upper bound in joules of all energy since the meter began; INFINITY if sensors did not cover
 * that time. */
double collector_max_joules(struct collector *collector);
/* Returns the number of regions that were attributed by their total time, because their ring buffer or the
 * list of waiting regions was full. */
uint64_t collector_folded(struct collector *collector);

/* Numbers of regions and names that a session's figures lack because of its limits. */
struct region_limits {
    uint64_t slotless;     /* regions of threads beyond SESSION_SLOTS, which are also folded */
    uint64_t unnamed_tags; /* names beyond SESSION_TAGS, which became "(other)" */
    uint64_t unstored;     /* regions lost for lack of memory: counted only here */
    uint64_t implausible;  /* impossible entries of the shared memory, ignored */
};
/* Returns these numbers since the session began. */
struct region_limits collector_limits(struct collector *collector);

#endif
