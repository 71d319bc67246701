/* joule/collector.h - joins regions to energy.
 *
 * Owns the sweep over time that shares each domain's energy among the regions that claim it: at every instant the
 * innermost region of each thread has an equal share, so that concurrent regions add up to their window and the rest is
 * unattributed. Reads the session's rings; energies come from the meter's windows.
 * Newcomers: it runs in the thread of lane 0 after each round of readings, and one reading behind, so that a thread
 * that was put to sleep between stamp and push still arrives in time.
 */
#ifndef JOULE_COLLECTOR_H
#define JOULE_COLLECTOR_H

#include "joule/engine.h"

struct collector *collector_create(joule_meter *meter, struct session *session);
void collector_free(struct collector *collector);
/* Drains rings and shares out energy up to horizon_ns. Never called by two threads at once. */
void collector_advance(struct collector *collector, int64_t horizon_ns);
/* Everything, also from threads that are gone, up to now: before a final report. */
void collector_finish(struct collector *collector);
/* As joule_region_result and joule_tag_result. */
joule_status collector_region(struct collector *collector, const joule_region *region,
                              joule_result *out_result);
joule_status collector_tag(struct collector *collector, uint32_t tag, joule_result *out_result);
joule_status collector_add_span(struct collector *collector, const joule_span *span);
/* Finished regions as a table, largest attributed energy first; at most `size` rows. The number of rows. */
struct tag_row {
    uint32_t tag;
    const char *name;
    joule_result result;
    uint32_t flags;       /* union of the regions' flags */
    bool unsynchronised;  /* a GPU region ran without a hook or spans: not judged */
    double budget_joules; /* from a budget on this tag; NaN: none */
};
size_t collector_table(struct collector *collector, struct tag_row *out_rows, size_t size);
/* Spans whose ring was full and that were folded into counts and durations without energy of their own. */
uint64_t collector_folded(struct collector *collector);

#endif
