/* joule/collector/folded.h - attributes energy to regions of which only the number and the total time are
 * known.
 *
 * If the ring buffer is full, a region is folded: its count and time are added to sums by tag. A batch
 * contains the regions that one slot folded between two rounds. In a sweep, a batch is represented by regions
 * of the slot's thread, whose lengths add up to the own time of the folded regions. Each tag gets a part of
 * the batch's energy in proportion to its time.
 * Note: power is assumed to be constant over a batch, as between two readings.
 */
#ifndef JOULE_FOLDED_H
#define JOULE_FOLDED_H

#include "joule/collector/reader.h"
#include "joule/collector/sweep.h"

struct collector;

/* Folds that wait for energy. A batch is freed with the last region that represents it. */
struct batch {
    size_t left;  /* number of representing regions that have not got their energy yet */
    double own_s; /* sum of own_s over `folds`, in seconds */
    size_t count;
    struct fold_update folds[];
};

/* The time in which regions were folded, and the regions that the same thread finished in it. */
struct fold_time {
    int64_t begin_ns, end_ns; /* regions that began earlier get energy from begin_ns on */
    const struct span *spans;
    size_t span_count;
};

/* Attributes energy to folds of the thread `track`, or of several threads if it is TRACK_ALONE. Folds without
 * time are only counted. */
void folded_add(struct collector *c, uint16_t track, const struct fold_update *folds, size_t count,
                const struct fold_time *time);
/* Releases one region that represents a batch, after it got its energy or was dropped. */
void folded_release(struct collector *c, struct batch *batch);

#endif
