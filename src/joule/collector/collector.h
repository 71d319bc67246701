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

/* Makes a collector for a meter. Returns NULL if out of memory, or if another process reads this session. */
struct collector *collector_create(joule_meter *meter, struct session *session);
/* Frees the collector. NULL is allowed. */
void collector_free(struct collector *collector);
/* Call it after each round of readings. Reads ring buffers and attributes energy up to the previous round;
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
/* Flags of a tag_row, in addition to the flags of its regions. */
#define TAG_COUNTED 0x100u /* calls were counted; their energy is the compiler's estimate */
/* A tag with a budget per call: all its calls together are too short for the sensor to judge. */
#define TAG_BRIEF 0x200u
/* The row of a tag in a report. */
struct tag_row {
    uint32_t tag;
    const char *name; /* owned by the collector */
    joule_result result;
    uint32_t flags;            /* union of the regions' flags, and TAG_... */
    bool unsynchronised;       /* a GPU region ran without a hook or spans: not judged */
    uint64_t attributed_count; /* regions whose energy is included in `result` */
    /* Energy of taking timestamps, excluded from result.attributed; known only for tags with budgets. */
    joule_quantity timestamp_joules;
    double budget_joules; /* limit that budgets of all processes of the session set; NaN: none */
};
/* Sets the row of one tag. Returns false if no region of it has finished. */
bool collector_row(struct collector *collector, uint32_t tag, struct tag_row *out_row);
/* Writes one row for each tag with finished regions, largest attributed energy first, at most `size` rows.
 * Returns the number of rows. */
size_t collector_table(struct collector *collector, struct tag_row *out_rows, size_t size);
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
