/* tools/top/history.h - what a power was at the last ticks, and its picture.
 *
 * Owns a ring of means, one for each tick of the display, and the bars drawn of it. Newcomers: a bar may stand for several
 * ticks; which ones depends on their number alone, so that bars do not change while they move to the left.
 */
#ifndef TOP_HISTORY_H
#define TOP_HISTORY_H

#include <stdint.h>
#include "frame.h"

#define HISTORY_TICKS 1800

struct history {
    float watts[HISTORY_TICKS]; /* of tick t at t % HISTORY_TICKS; NaN: unknown */
    uint64_t begin, end;        /* ticks that are known: [begin, end) */
};

/* Ticks between the last one and this one are unknown. */
void history_add(struct history *history, uint64_t tick, double watts);
/* How many ticks a bar stands for: at first one; then as many as it takes for `columns` bars to show all of the `ticks` so
 * far, until they reach back for about span_s. */
unsigned history_ticks_per_bar(double period_s, double span_s, uint64_t ticks, int columns);
/* Mean of bar number `bar`, which covers the ticks [bar * n, (bar + 1) * n); NaN: unknown. */
double history_bar(const struct history *history, uint64_t bar, unsigned n);
/* Highest of the last `columns` bars up to the tick `now`; NaN: none is known. */
double history_peak(const struct history *history, uint64_t now, unsigned n, int columns);
/* Draws them `height` rows high; the newest is the rightmost, and a full column is `peak` watts. */
void history_draw(const struct history *history, uint64_t now, unsigned n, double peak, struct frame *frame,
                  int y, int x, int columns, int height);

#endif
