/* joule/collector/collector.h - joins regions to energy.
 *
 * Owns the regions that were read from the session and not yet paid for, the sweeps that share energy out among them
 * (sweep.h), and the sums for each tag (ledger.h). Reads the session's rings; energies come from the meter's windows.
 * Newcomers: it runs in the thread of lane 0 after each round of readings, and one reading behind, so that a thread
 * that was put to sleep between stamp and push still arrives in time. A region that arrives later than that gets its
 * share from then on only, and its coverage says so.
 */
#ifndef JOULE_COLLECTOR_H
#define JOULE_COLLECTOR_H

#include "joule/meter/engine.h"
#include "joule/session/session_layout.h"

/* NULL: no memory, or another process reads this session. */
struct collector *collector_create(joule_meter *meter, struct session *session);
void collector_free(struct collector *collector);
/* After each round of readings: drains rings and shares out energy up to the round before this one (read_ns is the time
 * of this one), or up to the last reading of the slowest sensor where that is earlier, or up to a while ago where spans
 * come in late. Costs next to nothing while there are no regions. */
void collector_advance(struct collector *collector, int64_t read_ns);
/* Takes a finished span that comes from elsewhere than the session's rings, from a record for one. In time for sharing
 * are those that begin after the last round. */
void collector_give(struct collector *collector, const struct span *span);
/* Everything, also from threads that are gone, up to now: before a final report. */
void collector_finish(struct collector *collector);
/* As joule_region_result and joule_tag_result. */
joule_status collector_region(struct collector *collector, const joule_region *region,
                              joule_result *out_result);
joule_status collector_tag(struct collector *collector, uint32_t tag, joule_result *out_result);
/* Finished regions as a table, largest attributed energy first; at most `size` rows. The number of rows. */
#define TAG_COUNTED 0x100u /* calls were counted, and their energy is what the compiler expects */
#define TAG_BRIEF                                                                                            \
    0x200u /* of a budget for each call: all calls together are too short for the sensor to judge */
struct tag_row {
    uint32_t tag;
    const char *name; /* the collector's */
    joule_result result;
    uint32_t flags;      /* union of the regions' flags, and TAG_... */
    bool unsynchronised; /* a GPU region ran without a hook or spans: not judged */
    uint64_t paid;       /* regions whose energy is in the result */
    joule_quantity
        stamps; /* what taking the stamps took, of tags with budgets; it is not in attributed; unknown elsewhere */
    double budget_joules; /* what budgets allow it in all processes of the session; NaN: none was set */
};
/* The row of one tag; false: no region of it has finished. */
bool collector_row(struct collector *collector, uint32_t tag, struct tag_row *out_row);
size_t collector_table(struct collector *collector, struct tag_row *out_rows, size_t size);
/* Number of regions that were attributed by their total time, because their ring or the list of waiting
 * regions was full. */
uint64_t collector_folded(struct collector *collector);

/* Counts of what a session's figures lack because of its limits. */
struct region_limits {
    uint64_t slotless;     /* regions of threads beyond SESSION_SLOTS, which are also folded */
    uint64_t unnamed_tags; /* names beyond SESSION_TAGS, which became "(other)" */
    uint64_t unstored;     /* regions lost for lack of memory: counted only here */
    uint64_t implausible;  /* impossible entries of the shared memory, left out */
};
struct region_limits collector_limits(struct collector *collector);

#endif
