/* joule/collector/folded.h - the energy of regions with only a known count and total time.
 *
 * Regions that find their ring full are folded: added up by tag. A batch holds what one slot folded between
 * two rounds. In the sharing of energy, regions of the slot's thread represent it; their lengths add up to
 * the own time of the folded regions. Each tag gets a part of their energy in proportion to its time.
 * Note: power is assumed to be constant over a batch, as between two readings.
 */
#ifndef JOULE_FOLDED_H
#define JOULE_FOLDED_H

#include "joule/collector/reader.h"
#include "joule/collector/sweep.h"

struct collector;

struct batch {
    size_t left;  /* representing regions that are not paid yet */
    double own_s; /* sum over the folds */
    size_t count;
    struct fold_news folds[];
};

/* When regions were folded, and which regions the same thread finished in that time. */
struct fold_time {
    int64_t begin_ns, end_ns; /* regions that began earlier share energy from begin_ns on */
    const struct span *spans;
    size_t span_count;
};

/* Adds folds of the thread `track` to the sharing of energy; TRACK_ALONE: folds of several threads. Folds
 * without time are only counted. */
void folded_add(struct collector *c, uint16_t track, const struct fold_news *folds, size_t count,
                const struct fold_time *time);
/* Releases one region that represents a batch, after it was paid or dropped. */
void folded_release(struct collector *c, struct batch *batch);

#endif
