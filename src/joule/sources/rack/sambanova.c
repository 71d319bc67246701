/* joule/sources/rack/sambanova.c - the source "sambanova": RDUs of SambaNova's systems, as listed by
 * sntilestat.
 *
 * sntilestat is part of SambaNova's runtime; JOULE_SNTILESTAT names a program to run instead. sntilestat
 * prints a row for each tile of each RDU: the tile's time in each state, and the process that uses the tile.
 * SambaNova publishes no power values. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"
#include "joule/sources/rack/sambanova_text.h"
#include "joule/sources/rack/rack.h"

#define FOLDERS    "/opt/sambaflow:/opt/sambanova"
#define TIMEOUT_NS INT64_C(10000000000)
#define MAX_TEXT   (256 << 10)

static const struct rack_kind kind = {"sambanova", "JOULE_SAMBANOVA", "rdu", "sambanova", 1003};

struct sambanova {
    struct rack_meter meter;
    struct channel *busy[SAMBANOVA_MAX_RDUS];
    struct sambanova_tiles reported; /* from the last run */
    joule_status status;             /* status of the last run */
    char text[MAX_TEXT];
};

static joule_status run_program(struct source *source, const char *program, struct source_output *out)
{
    struct sambanova *sambanova = source->data;
    const char *const argv[] = {program, NULL};
    joule_status status = source_run(source, argv, TIMEOUT_NS, sambanova->text, MAX_TEXT, out);
    return status == JOULE_OK && out->exit_status != 0 ? JOULE_FAILED : status;
}

/* Runs sntilestat and parses its output. Also tries the runtime's folder, which may not be in PATH. */
static joule_status run_sntilestat(struct source *source)
{
    struct sambanova *sambanova = source->data;
    const char *own = source->host->ops->env(source->host, "JOULE_SNTILESTAT");
    struct source_output output;
    joule_status status = run_program(source, own && *own ? own : "sntilestat", &output);
    if (status == JOULE_ABSENT && !(own && *own))
        status = run_program(source, "/opt/sambaflow/bin/sntilestat", &output);
    if (status == JOULE_OK && !sambanova_parse(sambanova->text, &sambanova->reported))
        status = JOULE_FAILED;
    return sambanova->status = status;
}

static bool add_rdu(struct source *source, size_t i)
{
    struct sambanova *sambanova = source->data;
    const struct device *device =
        rack_add_device(source, &kind, "SambaNova RDU", sambanova->reported.rdus[i].path);
    struct channel *ch = device ? source_add_channel(source) : NULL;
    if (!ch)
        return false;
    accelerator_name_channel(ch, kind.kind, device->index, "busy");
    channel_set_gauge(ch, ROLE_BUSY, "");
    string_copy(ch->info.label, sizeof ch->info.label, "busy time, mean of its tiles");
    string_copy(ch->info.vendor, sizeof ch->info.vendor, kind.vendor);
    sambanova->busy[i] = ch;
    return true;
}

static joule_status sambanova_open(struct source *source)
{
    struct sambanova *sambanova = source->data = arena_alloc(&source->arena, sizeof *sambanova);
    if (!sambanova)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    joule_status status = run_sntilestat(source);
    if (status == JOULE_ABSENT)
        return source_set_state(source, status, "sntilestat not found: it is part of SambaNova's runtime");
    if (status != JOULE_OK)
        return source_set_state(source, status, "sntilestat lists no tiles: run `sntilestat` to see why");
    for (size_t i = 0; i < sambanova->reported.count; i++)
        if (!add_rdu(source, i))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return rack_meter_open(source, &kind, &sambanova->meter);
}

/* Returns the RDU with this path in the last output, or NULL if the output does not list it. */
static const struct sambanova_rdu *find_rdu(const struct sambanova *sambanova, const char *path)
{
    for (size_t i = 0; i < sambanova->reported.count && sambanova->status == JOULE_OK; i++)
        if (strcmp(sambanova->reported.rdus[i].path, path) == 0)
            return &sambanova->reported.rdus[i];
    return NULL;
}

static void sambanova_read(struct source *source, struct sink *sink)
{
    struct sambanova *sambanova = source->data;
    double sum = 0;
    joule_status status = run_sntilestat(source);
    for (size_t i = 0; i < source->device_count; i++) {
        const struct sambanova_rdu *rdu = find_rdu(sambanova, source->devices[i]->uuid);
        sum += rdu ? rdu->busy : NAN;
        if (rdu)
            sink_gauge(sink, sambanova->busy[i], rdu->busy);
        else
            sink_fail(sink, sambanova->busy[i], status == JOULE_OK ? JOULE_STALE : status);
    }
    if (isnan(sum) && sambanova->meter.method == RACK_WATTS)
        sink_fail(sink, sambanova->meter.channel, status == JOULE_OK ? JOULE_STALE : status);
    else
        rack_meter_read(source, &sambanova->meter, sink, sum / (double)source->device_count);
}

static void sambanova_query(struct source *source, struct sink *sink)
{
    const struct sambanova *sambanova = source->data;
    for (size_t i = 0; i < source->device_count; i++) {
        const struct sambanova_rdu *rdu = find_rdu(sambanova, source->devices[i]->uuid);
        struct device_facts facts = device_facts_unknown();
        if (!rdu) {
            sink_device_fail(sink, source->devices[i], JOULE_STALE);
            continue;
        }
        facts.has_process_list = true;
        for (size_t k = 0; k < rdu->process_count; k++)
            device_facts_process(&facts, rdu->pids[k]);
        sink_facts(sink, source->devices[i], &facts);
    }
}

const struct source_ops source_sambanova = {
    .name = "sambanova",
    .measurement = "external",
    .tier = 3,
    .is_slow = true,
    .folder = FOLDERS,
    .variable = "JOULE_SAMBANOVA",
    .period_s = RACK_PERIOD_S,
    .open = sambanova_open,
    .read = sambanova_read,
    .query = sambanova_query,
};
