/* tools/top/history.c - see history.h. */
#include "history.h"

#include <math.h>

#define LEVELS 8

void history_add(struct history *history, uint64_t tick, double watts)
{
    bool is_new = history->end == history->begin || tick >= history->end + HISTORY_TICKS;
    if (is_new)
        history->begin = history->end = tick;
    for (; history->end <= tick; history->end++)
        history->watts[history->end % HISTORY_TICKS] = history->end == tick ? (float)watts : NAN;
    if (history->end - history->begin > HISTORY_TICKS)
        history->begin = history->end - HISTORY_TICKS;
}

unsigned history_ticks_per_bar(double period_s, double span_s, uint64_t ticks, int columns)
{
    if (columns < 1 || !(period_s > 0))
        return 1;
    double max_ticks = fmin(ceil(span_s / period_s / columns - 1e-9), floor((double)HISTORY_TICKS / columns));
    unsigned n = 1;
    while (n < max_ticks && n * (uint64_t)columns < ticks)
        n++;
    return n;
}

double history_bar(const struct history *history, uint64_t bar, unsigned n)
{
    double sum = 0, count = 0;
    for (uint64_t tick = bar * n; tick < (bar + 1) * n; tick++) {
        if (tick < history->begin || tick >= history->end)
            continue;
        float watts = history->watts[tick % HISTORY_TICKS];
        if (!isnan(watts)) {
            sum += (double)watts;
            count++;
        }
    }
    return count > 0 ? sum / count : NAN;
}

double history_peak(const struct history *history, uint64_t now, unsigned n, int columns)
{
    double peak = NAN;
    uint64_t last = now / n;
    for (int i = 0; i < columns && (uint64_t)i <= last; i++)
        peak = fmax(peak, history_bar(history, last - (uint64_t)i, n));
    return peak;
}

static uint32_t glyph(const struct frame *frame, int level)
{
    static const char ascii[LEVELS + 2] = " _.-=+*#@";
    if (level <= 0)
        return ' ';
    level = level > LEVELS ? LEVELS : level;
    return frame->is_ascii ? (unsigned char)ascii[level] : 0x2580 + (uint32_t)level; /* lower eighths */
}

void history_draw(const struct history *history, uint64_t now, unsigned n, double peak, struct frame *frame,
                  int y, int x, int columns, int height)
{
    uint64_t last = now / n;
    for (int i = 0; i < columns && (uint64_t)i <= last; i++) {
        double watts = history_bar(history, last - (uint64_t)i, n);
        if (isnan(watts))
            continue;
        double part = peak > 0 ? fmin(fmax(watts / peak, 0), 1) : 0;
        int level = (int)lround(part * LEVELS * height);
        level = level < 1 ? 1 : level; /* a known value is always visible */
        for (int row = 0; row < height; row++)
            frame_put(frame, y + height - 1 - row, x + columns - 1 - i, STYLE_GRAPH,
                      glyph(frame, level - LEVELS * row));
    }
}
