/* tools/top/history.h - ring buffer of power at the last ticks, and its drawing as bars.
 *
 * Note: a bar may cover several ticks. Which ticks it covers depends only on their numbers, so bars do not
 * change while they move to the left.
 */
#ifndef TOP_HISTORY_H
#define TOP_HISTORY_H

#include <stdint.h>
#include "frame.h"

#define HISTORY_TICKS 1800

struct history {
    float watts[HISTORY_TICKS]; /* tick t is at t % HISTORY_TICKS; NaN: unknown */
    uint64_t begin, end;        /* ticks in the buffer: [begin, end) */
};

/* Stores the power at a tick. The ticks since the last stored one become unknown. */
void history_add(struct history *history, uint64_t tick, double watts);
/* Returns the ticks per bar: 1 at first, then as many as `columns` bars need to show all `ticks`, up to about
 * span_s. */
unsigned history_ticks_per_bar(double period_s, double span_s, uint64_t ticks, int columns);
/* Returns the mean of bar number `bar`, which covers the ticks [bar * n, (bar + 1) * n); NaN: unknown. */
double history_bar(const struct history *history, uint64_t bar, unsigned n);
/* Returns the highest of the last `columns` bars up to the tick `now`; NaN: all are unknown. */
double history_peak(const struct history *history, uint64_t now, unsigned n, int columns);
/* Draws the bars `height` rows high; the newest is the rightmost, and a full column means `peak` watts. */
void history_draw(const struct history *history, uint64_t now, unsigned n, double peak, struct frame *frame,
                  int y, int x, int columns, int height);

#endif
