/* runtime/attribution.c - accumulates windows for attribution; see attribution.h.
 *
 * Note: each window gives a row, which is one linear equation for the watts (attribution_sums.h). Because the
 * drift continues from window to window, earlier windows predict a part of each row. This part is subtracted,
 * as in a Kalman filter. The rows are then independent, so sums over all rows are sufficient.
 */
#include "forge/runtime/attribution_sums.h"

#include <math.h>
#include <stdlib.h>

/* Paces of the drift: variance of the drift's step between two windows, relative to the variance of a
 * window's mean power. The values range from almost no drift to strong drift. The drift is about constant
 * over 1 / sqrt(pace) windows. */
static const double paces[PACES] = {1e-6, 1e-4, 1e-2, 1, 1e2};

struct attribution *attribution_new(size_t count)
{
    struct attribution *a = calloc(1, sizeof *a);
    size_t per_pace = count * count + 2 * count;
    double *numbers = calloc(PACES * per_pace + 2 * count + 1, sizeof *numbers);
    if (!a || !numbers) {
        free(numbers);
        free(a);
        return NULL;
    }
    a->count = count;
    a->numbers = numbers;
    for (size_t i = 0; i < PACES; i++, numbers += per_pace) {
        a->paces[i].gram = numbers;
        a->paces[i].joules = numbers + count * count;
        a->paces[i].weights = numbers + count * count + count;
    }
    a->row = numbers;
    a->seconds = numbers + count;
    return a;
}

void attribution_free(struct attribution *attribution)
{
    if (attribution)
        free(attribution->numbers);
    free(attribution);
}

/* Initialises the drift with the first window. This window determines only the drift's level, and contains no
 * information about differences of watts. */
static void begin_drift(struct whitened *w, size_t n, const struct attribution_window *window,
                        const double *active_s)
{
    w->level = window->joules / window->seconds;
    w->variance = window->variance / (window->seconds * window->seconds);
    for (size_t i = 0; i < n; i++)
        w->weights[i] = active_s[i] / window->seconds;
}

static void add_row(struct whitened *w, size_t n, const double *row, double joules, double variance)
{
    double precision = 1 / variance;
    for (size_t i = 0; i < n; i++) {
        double scaled = row[i] * precision;
        if (scaled == 0)
            continue;
        w->joules[i] += scaled * joules;
        for (size_t j = 0; j <= i; j++)
            w->gram[i * n + j] += scaled * row[j];
    }
    w->square += joules * joules * precision;
    w->log_size += log(variance);
}

static void take_window(struct whitened *w, size_t n, const struct attribution_window *window,
                        const double *active_s, double *row)
{
    double joules = window->joules - window->seconds * w->level;
    double variance = window->variance + window->seconds * window->seconds * w->variance;
    for (size_t i = 0; i < n; i++)
        row[i] = active_s[i] - window->seconds * w->weights[i];
    add_row(w, n, row, joules, variance);
    double gain = window->seconds * w->variance / variance;
    w->level += gain * joules;
    for (size_t i = 0; i < n; i++)
        w->weights[i] += gain * row[i];
    w->variance *= window->variance / variance;
}

void attribution_add_window(struct attribution *a, const struct attribution_window *window,
                            const double *active_s)
{
    if (!(window->seconds > 0) || !isfinite(window->seconds))
        return;
    if (!isfinite(window->joules) || !isfinite(window->variance)) {
        a->gap_s += window->seconds;
        return;
    }
    struct attribution_window w = *window;
    /* The lower bound prevents a division by 0. It does not widen intervals, because no sensor is that
     * accurate. */
    double min_sd = 1e-6 * fabs(w.joules) + 1e-9;
    w.variance = fmax(w.variance, min_sd * min_sd);
    double watts_variance = w.variance / (w.seconds * w.seconds);
    for (size_t i = 0; i < PACES; i++) {
        if (a->windows == 0) {
            begin_drift(&a->paces[i], a->count, &w, active_s);
            continue;
        }
        a->paces[i].variance += paces[i] * watts_variance * (1 + a->gap_s / w.seconds);
        take_window(&a->paces[i], a->count, &w, active_s, a->row);
    }
    for (size_t i = 0; i < a->count; i++)
        a->seconds[i] += active_s[i];
    a->joules += w.joules;
    a->variance += w.variance;
    a->gap_s = 0;
    a->windows++;
}
