/* bench/progress.c - see progress.h. */
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "experiment.h"
#include "summary.h"

static bool is_shown(const struct experiment *e)
{
    return !e->settings->is_quiet && isatty(STDERR_FILENO);
}

void progress_show(const struct experiment *e, const struct variant *variant)
{
    char buffer[400], value[32] = "unknown";
    struct text out;
    if (!is_shown(e))
        return;
    text_init(&out, buffer, sizeof buffer);
    bool is_warm_up = variant->runs.items[variant->runs.count - 1].is_warm_up;
    struct interval energy = summary_interval(&variant->sums.joules);
    joule_format(energy.value, JOULE_DIMENSION_ENERGY, 4, value, sizeof value);
    if (is_warm_up) {
        text_printf(&out, "warm-up %zu of %.40s", variant->runs.count, variant->name);
    } else {
        text_printf(&out, "run %u of about %u, %.40s: %s", e->block_count + 1, e->planned_blocks,
                    variant->name, value);
        double width = interval_relative_half_width(&energy);
        if (!isnan(width))
            text_printf(&out, " +-%.1f %%", 100 * width);
        double time_s = clock_seconds(runner_now_ns() - e->begin_ns);
        if (e->block_count > 0 && e->planned_blocks > e->block_count)
            text_printf(&out, ", about %.0f s left",
                        time_s / e->block_count * (e->planned_blocks - e->block_count));
    }
    fprintf(stderr, "\r%s\033[K", buffer);
    fflush(stderr);
}

void progress_clear(const struct experiment *e)
{
    if (is_shown(e))
        fputs("\r\033[K", stderr);
}
