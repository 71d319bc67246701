/* joule/report/collect.c - fills a report from a running meter.
 *
 * Members that only `joule run` can set (command, share, idle power, budget, labels) remain unknown.
 * Note: sums add estimates, not quantities, so that errors with a common cause add up correctly.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "joule/api/open.h"
#include "joule/report/collect.h"

void report_init(struct report *report, const char *program)
{
    joule_quantity unknown = quantity_unknown();
    *report = (struct report){
        .cover = "",
        .duration_s = NAN,
        .coverage = NAN,
        .total_joules = unknown,
        .mean_watts = unknown,
        .command_joules = unknown,
        .idle_watts = unknown,
        .idle_busy = NAN,
        .net_joules = unknown,
        .share = {.command_cpu_s = NAN,
                  .machine_busy_cpu_s = NAN,
                  .machine_cpu_s = NAN,
                  .share = NAN,
                  .share_sd = NAN},
        .stopped_s = NAN,
        .runs = 1,
        .budget_joules = NAN,
        .budget_probability = NAN,
        .overshoot_bound_joules = NAN,
        .overhead_cpu_s = NAN,
        .overhead_share = NAN,
    };
    for (size_t i = 0; i < sizeof report->by_class / sizeof report->by_class[0]; i++)
        report->by_class[i] = unknown;
    program = program ? program : program_invocation_short_name;
    report->program = arena_copy(&report->arena, program, strlen(program));
    if (!report->program)
        report->program = "";
}

/* --- devices -------------------------------------------------------------------------------------------- */

/* The sum of the channels of one device, identified by its name ("gpu:0"). It becomes one row of the
 * report. */
struct device_sum {
    char word[16];
    /* the device's first channel, which supplies vendor, model and measurement */
    const struct channel *channel;
    struct estimate joules;
    double covered_s;
    struct cover cover;
};

/* Returns the sum of the channel's device. If there is no such sum, adds an empty one; `sums` must have
 * capacity for it. */
static struct device_sum *sum_of(struct device_sum *sums, size_t *count, const struct channel *ch)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(sums[i].word, ch->info.device) == 0)
            return &sums[i];
    struct device_sum *sum = &sums[(*count)++];
    *sum = (struct device_sum){.channel = ch, .joules = estimate_zero(), .covered_s = INFINITY};
    string_copy(sum->word, sizeof sum->word, ch->info.device);
    return sum;
}

/* Adds the energy of channel `id` to a device's sum. */
static void add_term(const struct collection *c, struct device_sum *sum, int32_t id)
{
    struct window w = meter_channel_window(c->meter, id, c->begin_ns, c->end_ns);
    sum->joules = estimate_add(sum->joules, 1, &w.joules);
    sum->covered_s = fmin(sum->covered_s, w.covered_s);
    sum->cover.ids[sum->cover.count++] = id;
}

/* Returns the names of the cover's domains, in the report's arena. */
static const char *cover_name(const struct collection *c, const struct cover *cover)
{
    char name[512];
    meter_cover_name(c->meter, cover, name, sizeof name);
    return collect_copy(c->report, name);
}

/* Returns covered_s as a share of the report's time, 0 to 1. */
static double coverage_of(const struct collection *c, double covered_s)
{
    double length_s = clock_seconds(c->end_ns - c->begin_ns);
    return length_s > 0 ? fmin(1, fmax(0, covered_s / length_s)) : 0;
}

/* Returns the row of the channel's device, with unknown energy. */
static struct report_device device_of(const struct collection *c, const struct channel *ch)
{
    char type[sizeof ch->info.device];
    string_copy(type, sizeof type, ch->info.device);
    type[strcspn(type, ":")] = '\0';
    return (struct report_device){.type = collect_copy(c->report, *type ? type : "node"),
                                  .vendor = collect_copy(c->report, ch->info.vendor),
                                  .model = collect_copy(c->report, ch->info.model),
                                  .measurement = collect_copy(c->report, ch->info.measurement),
                                  .cover = collect_copy(c->report, ch->info.name),
                                  .index = strchr(ch->info.device, ':') ? ch->info.device_index : -1,
                                  .tier = ch->info.tier,
                                  .energy_joules = quantity_unknown()};
}

/* Adds a row for each device of the cover, then a row for each device that cannot be read. */
static void collect_devices(const struct collection *c, const struct cover *cover)
{
    struct device_sum sums[COVER_MAX];
    size_t count = 0, channels = meter_channel_count(c->meter);
    for (size_t i = 0; i < cover->count; i++)
        add_term(c, sum_of(sums, &count, c->meter->channels[cover->ids[i]].channel), cover->ids[i]);
    size_t measured = count;
    for (size_t i = 0; i < channels && count < COVER_MAX; i++)
        if (collect_is_unreadable(c, i))
            sum_of(sums, &count, c->meter->channels[i].channel);
    c->report->devices = arena_alloc(&c->report->arena, count * sizeof *c->report->devices);
    for (size_t i = 0; i < count && c->report->devices; i++) {
        struct report_device *device = &c->report->devices[c->report->device_count++];
        *device = device_of(c, sums[i].channel);
        if (i >= measured)
            continue;
        device->energy_joules = estimate_quantity(&sums[i].joules);
        device->coverage = coverage_of(c, sums[i].covered_s);
        device->cover = cover_name(c, &sums[i].cover);
    }
}

/* --- the total ------------------------------------------------------------------------------------------ */

/* Sets the report's total energy, mean power and coverage. */
static void set_total(const struct collection *c, const struct window *w)
{
    /* The mean is over the covered time, because power in a gap is unknown, not 0. */
    struct estimate watts =
        w->covered_s > 0 ? estimate_scale(w->joules, 1 / w->covered_s) : estimate_unknown();
    c->report->total_joules = estimate_quantity(&w->joules);
    c->report->mean_watts = estimate_quantity(&watts);
    c->report->coverage = coverage_of(c, w->covered_s);
}

/* Sets the energy of each class. A class without a domain remains unknown. */
static void collect_classes(const struct collection *c, const struct cover *cover)
{
    struct estimate classes[5];
    for (size_t i = 0; i < 5; i++)
        classes[i] = estimate_zero();
    for (size_t i = 0; i < cover->count; i++) {
        struct window part = meter_channel_window(c->meter, cover->ids[i], c->begin_ns, c->end_ns);
        classes[part.joules.cls] = estimate_add(classes[part.joules.cls], 1, &part.joules);
    }
    for (size_t i = JOULE_CLASS_MEASURED; i < 5; i++)
        if (classes[i].cls != JOULE_CLASS_NONE)
            c->report->by_class[i] = estimate_quantity(&classes[i]);
}

/* Returns the reason why a total is partial if a sensor stands still; otherwise NULL. */
static const char *reason_of_still(const struct collection *c, const struct cover *cover)
{
    char reason[192];
    if (!cover->is_partial || cover->still_id < 0)
        return NULL;
    const joule_domain *info = &c->meter->channels[cover->still_id].channel->info;
    snprintf(reason, sizeof reason, "the sensor %s (%s) stands still: %s", info->name, info->source,
             cover->has_parts_of_still ? "only its parts are counted" : "its energy is missing");
    return collect_copy(c->report, reason);
}

/* Returns a sentence about the source that has not answered. collect_late_source must not be NULL. */
static const char *reason_of_late(const struct collection *c)
{
    char reason[64];
    snprintf(reason, sizeof reason, "the source %s has not answered", collect_late_source(c));
    return collect_copy(c->report, reason);
}

static void collect_total(const struct collection *c)
{
    struct cover cover;
    meter_cover(c->meter, JOULE_TOTAL, c->begin_ns, c->end_ns, &cover);
    struct window w = meter_cover_window(c->meter, &cover, c->begin_ns, c->end_ns);
    set_total(c, &w);
    collect_classes(c, &cover);
    collect_devices(c, &cover);
    c->report->is_partial =
        cover.is_partial || collect_late_source(c) || atomic_load(&c->meter->unlisted_channels) > 0;
    c->report->partial_reason = reason_of_still(c, &cover);
    if (!c->report->partial_reason && collect_late_source(c))
        c->report->partial_reason = reason_of_late(c);
    c->report->cover = cover_name(c, &cover);
}

/* Fills a report in a process below `joule run`. Only the parent process reads sensors; it publishes sums but
 * no devices. */
static void collect_from_parent(const struct collection *c)
{
    struct window w = meter_window(c->meter, JOULE_TOTAL, c->begin_ns, c->end_ns);
    set_total(c, &w);
    c->report->cover = "as measured by the parent";
    c->report->by_class[c->report->total_joules.cls] = c->report->total_joules;
}

static void collect_overhead(const struct collection *c)
{
    struct report *report = c->report;
    report->unlisted_channels = atomic_load(&c->meter->unlisted_channels);
    double life_s = clock_seconds(meter_now_ns(c->meter) - c->meter->begin_ns);
    report->overhead_share = life_s > 0 ? meter_overhead_cpu_s(c->meter) / life_s : NAN;
    report->overhead_cpu_s = report->overhead_share * report->duration_s;
    for (size_t i = 0; i < c->meter->lane_count; i++) {
        report->ticks += atomic_load(&c->meter->lanes[i]->ticks);
        report->overruns += atomic_load(&c->meter->lanes[i]->overruns);
    }
}

/* --- functions ------------------------------------------------------------------------------------------ */

/* Copies the table of regions from the collector. If out of memory, rows are missing. */
static void collect_functions(const struct collection *c)
{
    struct report *report = c->report;
    struct collector *collector = collector_of(c->meter);
    if (!collector)
        return; /* out of memory, or another process reads the regions of this session */
    collector_finish(collector);
    report->folded_regions = collector_folded(collector);
    report->limits = collector_limits(collector);
    for (size_t size = 64;; size *= 4) {
        struct tag_row *rows = arena_alloc(&report->arena, size * sizeof *rows);
        if (!rows)
            break;
        report->functions = rows;
        report->function_count = tag_row_list(c->meter, rows, size);
        if (report->function_count < size)
            break;
    }
    for (size_t i = 0; i < report->function_count; i++)
        report->functions[i].name = collect_copy(report, report->functions[i].name);
}

joule_status report_collect(struct report *report, joule_meter *meter, const char *program, int64_t begin_ns,
                            int64_t end_ns)
{
    report_init(report, program);
    meter = meter_or_default(meter);
    if (!meter)
        return JOULE_NO_MEMORY;
    struct collection c = {report, meter, begin_ns, end_ns};
    report->begin_realtime_ns = meter->begin_realtime_ns + (begin_ns - meter->begin_ns);
    report->duration_s = clock_seconds(end_ns - begin_ns);
    if (meter->is_client) {
        collect_from_parent(&c);
    } else {
        collect_total(&c);
        collect_functions(&c);
        collect_advice(&c);
    }
    collect_overhead(&c);
    return report->arena.is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}
