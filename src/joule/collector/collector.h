/* joule/collector/collector.h - attributes energy to regions.
 *
 * The collector reads finished and open regions from the session's ring buffers (reader.h). It attributes the
 * energy of the meter's windows to these regions in sweeps (sweep.h) and sums the results by tag (ledger.h).
 * Note: the collector runs in the thread of lane 0 after each round of readings, and attributes energy up to
 * the previous round. So a thread may be preempted for a round between the end of a region and the write to
 * the ring buffer. A region that arrives later gets energy only from then on, and its coverage is lower.
 */
#ifndef JOULE_COLLECTOR_H
#define JOULE_COLLECTOR_H

#include "joule/meter/engine.h"
#include "joule/session/session_layout.h"

/* Creates a collector and adds it to the meter's listeners. The meter owns the collector. Returns NULL if out
 * of memory, or if another process reads the meter's session. */
struct collector *collector_create(joule_meter *meter);
/* Returns the meter's collector, or NULL if it has none, as in a descendant of a session. */
struct collector *collector_of(joule_meter *meter);
/* Called for each finished region when its final energy is known, with the collector's lock held. `tag` and
 * `flags` are those of the region, as in its ring entry (struct span). */
typedef void (*collector_region_fn)(void *context, int64_t begin_ns, int64_t end_ns, uint32_t tag,
                                    uint32_t thread, uint32_t flags);
/* Sets the function that is called for finished regions; NULL: none. When this function returns, no call of
 * the previous `function` is running. */
void collector_on_region(struct collector *collector, collector_region_fn function, void *context);
/* Reads ring buffers and attributes energy up to the previous round of readings. Stops earlier at the last
 * reading of the slowest sensor, or where late spans are still expected. Call it after each round; read_ns:
 * time of this round. Takes little time while there are no regions. */
void collector_advance(struct collector *collector, int64_t read_ns);
/* Adds a finished span that does not come from the session's ring buffers, for example from a recording. The
 * span gets all of its energy if it begins after the last round. */
void collector_give(struct collector *collector, const struct span *span);
/* Attributes all energy up to now, including that of regions whose threads have ended. Call it before a final
 * report. */
void collector_finish(struct collector *collector);
/* Write the result of a region or a tag to *out_result, as joule_region_result and joule_tag_result do. */
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
    double duration_s;         /* sum of the durations of all regions with timestamps */
    /* Update period in seconds of the slowest sensor that measures these regions; 0: none measures them. */
    double sensor_period_s;
};
/* Writes the sums of one tag to *out_sums. Returns false if no region of the tag has finished. */
bool collector_sums(struct collector *collector, uint32_t tag, struct tag_sums *out_sums);
/* Calls `visit` for each tag with finished regions, in ascending order, with the collector's lock held. */
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
    uint64_t slotless;     /* regions of threads beyond the first SESSION_SLOTS; they are also folded */
    uint64_t unnamed_tags; /* names beyond the first SESSION_TAGS; their regions have the tag "(other)" */
    uint64_t unstored;     /* regions lost for lack of memory; no other figure counts them */
    uint64_t implausible;  /* impossible entries of the shared memory, which are ignored */
};
/* Returns these numbers since the session began. */
struct region_limits collector_limits(struct collector *collector);

#endif
