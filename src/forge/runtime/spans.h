/* runtime/spans.h - a ring of timestamps: start and end of each launch of the last runs. These functions read
 * no clock.
 *
 * Note: the device writes a run's timestamps directly into the ring. The end of a launch is also the start of
 * the next launch.
 */
#ifndef FORGE_RUNTIME_SPANS_H
#define FORGE_RUNTIME_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ring of rows, one for each of the last runs. */
struct spans {
    size_t launches;     /* launches per run */
    size_t capacity;     /* maximum number of runs in the ring */
    int64_t *timestamps; /* rows of launches + 1 values, in ns: start of the run, end of each launch */
    uint64_t runs;       /* number of runs that were added */
    uint64_t taken;      /* number of these runs that spans_take has consumed completely, or that were
                          * dropped */
    size_t next;         /* number of the next launch for spans_take, in the first unfinished run */
    int64_t lost_ns;     /* end time of the last run that was dropped; INT64_MIN: none */
};

/* Allocates a ring for as many runs as fit into size_bytes, but at least 2. launches: number of launches in
 * one run. Returns false if out of memory. */
bool spans_init(struct spans *spans, size_t launches, size_t size_bytes);
void spans_free(struct spans *spans);
/* Returns the row for the next run's timestamps: [launches + 1], in ns. Drops the oldest run if the ring is
 * full. */
int64_t *spans_next_row(struct spans *spans);
/* Adds the run whose row spans_next_row returned. */
void spans_add_row(struct spans *spans);
/* Adds the seconds for which launch i ran between begin_ns and end_ns to active_s[item_of[i]], for all
 * launches. Removes all launches that end before end_ns. Times must not decrease between calls. Returns false
 * if runs of this period were dropped. */
bool spans_take(struct spans *spans, int64_t begin_ns, int64_t end_ns, const uint32_t *item_of,
                double *active_s);

#endif
