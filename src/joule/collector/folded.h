/* joule/collector/folded.h - the energy of regions of which only the count and the total time are known.
 *
 * Regions that find their ring full are folded: added up by tag. A batch holds what one slot folded between
 * two rounds. It takes part in sharing as regions of the slot's thread whose lengths add up to the time that
 * the folded regions had for themselves. Each tag gets the part of their energy that its time is of theirs.
 * Note: power is taken for constant over a batch, as it is between two readings.
 */
#ifndef JOULE_FOLDED_H
#define JOULE_FOLDED_H

#include "joule/collector/reader.h"
#include "joule/collector/sweep.h"

struct collector;

struct batch {
    size_t left;  /* regions that stand for it and are not paid yet */
    double own_s; /* sum over the folds */
    size_t count;
    struct fold_news folds[];
};

/* When regions were folded, and what the same thread finished besides. */
struct fold_time {
    int64_t begin_ns, end_ns; /* those that began earlier are shared from begin_ns on */
    const struct span *spans;
    size_t span_count;
};

/* Lets folds of the thread `track`, or of several threads where it is TRACK_ALONE, take part in sharing.
 * Counts what has no time. */
void folded_add(struct collector *c, uint16_t track, const struct fold_news *folds, size_t count,
                const struct fold_time *time);
/* One of the regions that stand for a batch is paid or dropped. */
void folded_release(struct collector *c, struct batch *batch);

#endif
