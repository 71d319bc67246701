/* joule/sources/jetson/tegrastats.c - the source "tegrastats": a Jetson's rails, from NVIDIA's program, if
 * sysfs shows none.
 *
 * The source runs tegrastats for each reading and recognises rails by name. tegrastats_text.c parses a line;
 * jetson_board.c lists the known rails.
 * Note: the program never ends by itself. The program is terminated at its timeout, and its output until then
 * is used. A reading blocks this source's thread for most of a second, so this source is the last choice. */
#include <math.h>
#include <string.h>
#include "joule/sources/jetson/jetson.h"
#include "joule/sources/jetson/jetson_board.h"
#include "joule/sources/jetson/tegrastats_text.h"

#define PERIOD_S   2.0
#define TIMEOUT_NS INT64_C(700000000) /* enough for three lines */

static const char *const command[] = {"tegrastats", "--interval", "200", NULL};

struct tegrastats_source {
    struct jetson_board board;
    struct channel *busy, *clock, *temperature; /* NULL: not reported */
};

static joule_status run_program(struct source *source, struct tegrastats *out_stats)
{
    char text[4096];
    struct source_output output;
    joule_status status = source_run(source, command, TIMEOUT_NS, text, sizeof text, &output);
    *out_stats = tegrastats_unknown();
    if (status != JOULE_OK && status != JOULE_STALE)
        return status;
    return tegrastats_parse(text, out_stats) ? JOULE_OK : JOULE_FAILED;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static struct channel *add_gauge(struct source *source, enum gauge_role role, const char *what, double value)
{
    return isnan(value) ? NULL : gpu_add_gauge(source, jetson_gpu_device(source), role, what);
}

static joule_status describe(struct source *source, const struct tegrastats *stats)
{
    static const struct jetson_sensor sensor = {.period_s = PERIOD_S, .pace_s = PERIOD_S};
    struct tegrastats_source *tegra = source->data;
    for (size_t i = 0; i < stats->rail_count; i++)
        jetson_add_rail(&tegra->board, stats->rails[i].name);
    jetson_add_channels(source, &tegra->board, &sensor);
    tegra->busy = add_gauge(source, ROLE_BUSY, "busy", stats->gpu_busy);
    tegra->clock = add_gauge(source, ROLE_CLOCK, "clock", stats->gpu_megahertz);
    tegra->temperature = add_gauge(source, ROLE_TEMPERATURE, "temperature", stats->gpu_celsius);
    if (source->channel_count)
        return JOULE_OK;
    return source_set_state(source, JOULE_UNSUPPORTED,
                            "tegrastats reports no power of this board: run as root");
}

static joule_status tegrastats_open(struct source *source)
{
    struct tegrastats stats;
    source->data = arena_alloc(&source->arena, sizeof(struct tegrastats_source));
    if (!source->data)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (jetson_has_rails(source))
        return source_set_state(source, JOULE_ABSENT,
                                "not needed: the source jetson reads the rails directly");
    switch (run_program(source, &stats)) {
    case JOULE_OK:
        return describe(source, &stats);
    case JOULE_ABSENT:
        return source_set_state(source, JOULE_ABSENT,
                                "tegrastats not found: it exists only on Jetson boards");
    case JOULE_DENIED:
        return source_set_state(source, JOULE_DENIED, "permission denied for tegrastats: run as root");
    default:
        return source_set_state(source, JOULE_FAILED,
                                "tegrastats printed no values: run `tegrastats` to see why");
    }
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void set_rail(struct jetson_rail *rail, const struct tegrastats *stats)
{
    rail->status = JOULE_STALE; /* remains STALE unless the output contains the rail */
    for (size_t i = 0; i < stats->rail_count; i++)
        if (strcmp(stats->rails[i].name, rail->name) == 0) {
            rail->watts = stats->rails[i].watts;
            rail->status = JOULE_OK;
        }
}

static void report_gauge(struct channel *ch, joule_status status, double value, struct sink *sink)
{
    if (ch && status == JOULE_OK && !isnan(value))
        sink_gauge(sink, ch, value);
    else if (ch)
        sink_fail(sink, ch, status == JOULE_OK ? JOULE_STALE : status);
}

static void tegrastats_read(struct source *source, struct sink *sink)
{
    struct tegrastats_source *tegra = source->data;
    struct tegrastats stats;
    joule_status status = run_program(source, &stats);
    for (size_t i = 0; i < tegra->board.count; i++) {
        tegra->board.rails[i].status = status;
        if (status == JOULE_OK)
            set_rail(&tegra->board.rails[i], &stats);
    }
    jetson_report(&tegra->board, sink);
    report_gauge(tegra->busy, status, stats.gpu_busy, sink);
    report_gauge(tegra->clock, status, stats.gpu_megahertz, sink);
    report_gauge(tegra->temperature, status, stats.gpu_celsius, sink);
}

const struct source_ops source_tegrastats = {
    .name = "tegrastats",
    .measurement = "tegrastats",
    .tier = 2,
    .is_slow = true,
    .folder = "/sys/class/devfreq", /* contains the GPU's clock */
    .period_s = PERIOD_S,
    .open = tegrastats_open,
    .read = tegrastats_read,
};
