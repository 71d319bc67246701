/* tools/top/history.h - a ring buffer with the power at the last ticks, and its display as bars.
 *
 * Note: a bar may cover several ticks. The number of a tick determines its bar, so bars do not change while
 * they move to the left.
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

/* Stores the power at a tick. Ticks that were skipped since the last call become unknown. */
void history_add(struct history *history, uint64_t tick, double watts);
/* Returns the number of ticks per bar: the smallest number with which `columns` bars show all `ticks`. The
 * number is limited, so that the bars show at most about span_s seconds. period_s: seconds per tick. */
unsigned history_ticks_per_bar(double period_s, double span_s, uint64_t ticks, int columns);
/* Returns the mean power in watts of bar number `bar`, which covers the ticks [bar * n, (bar + 1) * n); NaN:
 * unknown. */
double history_bar(const struct history *history, uint64_t bar, unsigned n);
/* Returns the power in watts of the highest of the last `columns` bars up to the tick `now`; NaN: all are
 * unknown. */
double history_peak(const struct history *history, uint64_t now, unsigned n, int columns);
/* Draws the last `columns` bars, `height` rows high. The newest bar is the rightmost; a full bar means `peak`
 * watts. */
void history_draw(const struct history *history, uint64_t now, unsigned n, double peak, struct frame *frame,
                  int y, int x, int columns, int height);

#endif
