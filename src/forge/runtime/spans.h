/* runtime/spans.h - when each launch of the last runs began and ended.
 *
 * Owns a ring of time stamps, one row for each run. It reads no clock. Newcomers: the device writes a run's stamps where
 * they stay; a launch begins when the one before it ends.
 */
#ifndef FORGE_RUNTIME_SPANS_H
#define FORGE_RUNTIME_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spans {
    size_t launches; /* of one run */
    size_t capacity; /* runs */
    int64_t *stamps; /* rows of launches + 1: when the run began, when each launch ended */
    uint64_t runs;   /* kept so far */
    uint64_t taken;  /* of these, those that are wholly taken or dropped */
    size_t next;     /* launch of the first other run from which on time is to be taken */
    int64_t lost_ns; /* end of the last run that was dropped; INT64_MIN: none */
};

/* Room for as many runs as fit into size_bytes, at least 2. False: no memory. */
bool spans_init(struct spans *spans, size_t launches, size_t size_bytes);
void spans_free(struct spans *spans);
/* Where the next run puts its stamps. When the ring is full the oldest run is dropped. */
int64_t *spans_row(struct spans *spans);
/* That run is complete. */
void spans_keep(struct spans *spans);
/* Adds to active_s[item_of[i]] how long launch i ran between two times. They never go back: what lies before end_ns is
 * forgotten. False: runs that were dropped are missing. */
bool spans_take(struct spans *spans, int64_t begin_ns, int64_t end_ns, const uint32_t *item_of,
                double *active_s);

#endif
