/* joule/sources/cpu/rapl.c - see rapl.h. */
#include "joule/sources/cpu/rapl.h"

#include <string.h>
#include "base/error.h"
#include "base/string.h"

#define TICK_S      0.001              /* registers are updated about every millisecond */
#define DETAIL_NS   INT64_C(500000000) /* minimum time between two readings of single cores */
#define PLACES_MAX  1024
#define EXAMINE_MAX 4096

/* gain_sd: relative error of the scale. Published comparisons with external meters find errors of a few per
 * cent in package counters since Haswell. Memory, parts of a package and AMD's modelled values have larger
 * errors. max_watts only rejects impossible values. */
static const struct kind {
    const char *name, *device;
    joule_scope scope;
    double max_watts, gain_sd;
    uint32_t meter; /* domains with the same number share their error */
} kinds[] = {
    [RAPL_PACKAGE] = {"package", "cpu", JOULE_SCOPE_PACKAGE, 2000, 0.02, 0},
    [RAPL_CORES] = {"core", "cpu", JOULE_SCOPE_CORE, 2000, 0.05, 0},
    [RAPL_UNCORE] = {"uncore", "cpu", JOULE_SCOPE_UNCORE, 1000, 0.05, 0},
    [RAPL_DRAM] = {"dram", "memory", JOULE_SCOPE_DRAM, 500, 0.05, 1},
    [RAPL_PSYS] = {"psys", "node", JOULE_SCOPE_PSYS, 5000, 0.05, 2},
    [RAPL_ONE_CORE] = {"core", "cpu", JOULE_SCOPE_CORE, 200, 0.1, 0},
};

#define AMD_GAIN_SD 0.05 /* minimum for AMD: early generations compute the values from a model in firmware */

struct rapl *rapl_create(struct source *source)
{
    struct rapl *rapl = arena_alloc(&source->arena, sizeof *rapl);
    if (rapl)
        rapl->cpu = source->cpu;
    return source->data = rapl;
}

/* --- channels ------------------------------------------------------------------------------------------- */

static void write_names(struct channel *channel, enum rapl_domain domain, const struct rapl_place *place)
{
    char *name = channel->info.name, *zone = channel->zone;
    const size_t name_size = sizeof channel->info.name, zone_size = sizeof channel->zone;
    switch (domain) {
    case RAPL_PSYS:
        string_print(name, name_size, place->unit.package ? "psys-%u" : "psys", place->unit.package);
        string_copy(zone, zone_size, name);
        break;
    case RAPL_ONE_CORE:
        cpu_unit_name(place->unit, "package", name, name_size);
        string_print(name + strlen(name), name_size - strlen(name), "-core-%u", place->core);
        string_print(zone, zone_size, "cpu%u/core%u", place->unit.package, place->core);
        break;
    default:
        cpu_unit_name(place->unit, kinds[domain].name, name, name_size);
        cpu_unit_zone(place->unit, kinds[domain].name, zone, zone_size);
    }
}

static void write_device(joule_domain *info, enum rapl_domain domain, const struct rapl_place *place,
                         const struct cpu_info *cpu)
{
    const char *device = kinds[domain].device;
    if (domain == RAPL_PSYS) {
        string_copy(info->device, sizeof info->device, device);
        return;
    }
    info->device_index = (int32_t)place->unit.package;
    string_print(info->device, sizeof info->device, "%s:%u", device, place->unit.package);
    if (domain == RAPL_DRAM)
        return;
    string_copy(info->vendor, sizeof info->vendor, cpu->vendor);
    string_copy(info->model, sizeof info->model, cpu->model);
}

static void write_parent(struct channel *channel, enum rapl_domain domain, const struct rapl_place *place,
                         bool has_psys)
{
    bool is_outer = domain == RAPL_PACKAGE || domain == RAPL_DRAM;
    if (is_outer && has_psys)
        string_copy(channel->parent_zone, sizeof channel->parent_zone, "psys");
    else if (!is_outer && domain != RAPL_PSYS)
        cpu_unit_zone(place->unit, "package", channel->parent_zone, sizeof channel->parent_zone);
}

struct rapl_reading *rapl_add(struct source *source, enum rapl_domain domain, const struct rapl_place *place,
                              const char *label)
{
    struct rapl *rapl = source->data;
    struct channel *channel = source_add_channel(source);
    struct rapl_reading *reading = arena_alloc(&source->arena, sizeof *reading);
    if (!channel || !reading)
        return NULL;
    const struct kind *kind = &kinds[domain];
    channel->mode = CHANNEL_COUNTER;
    channel->info.scope = kind->scope;
    channel->info.update_period_s = channel->counter.tick_s = TICK_S;
    channel->counter.max_watts = kind->max_watts;
    channel->gain_sd = cpu_is_amd(rapl->cpu) && kind->gain_sd < AMD_GAIN_SD ? AMD_GAIN_SD : kind->gain_sd;
    channel->cause = CAUSE(CAUSE_RAPL_GAIN, kind->meter);
    string_copy(channel->info.label, sizeof channel->info.label, label);
    write_names(channel, domain, place);
    write_device(&channel->info, domain, place, rapl->cpu);
    write_parent(channel, domain, place, rapl->has_psys);
    *reading = (struct rapl_reading){.channel = channel, .handle = -1, .is_detail = domain == RAPL_ONE_CORE};
    if (rapl->last)
        rapl->last->next = reading;
    else
        rapl->first = reading;
    return rapl->last = reading;
}

void rapl_set_handle(struct rapl_reading *reading, int handle, const char *remedy)
{
    reading->handle = handle;
    if (handle >= 0)
        return;
    joule_domain *info = &reading->channel->info;
    info->state = status_of_errno(-handle);
    string_copy(info->remedy, sizeof info->remedy, remedy);
}

joule_status rapl_set_state(struct source *source)
{
    const struct rapl *rapl = source->data;
    for (const struct rapl_reading *r = rapl->first; r; r = r->next)
        if (r->handle >= 0)
            return JOULE_OK;
    if (!rapl->first)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return source_set_state(source, rapl->first->channel->info.state, "%s",
                            rapl->first->channel->info.remedy);
}

/* --- CPUs to query -------------------------------------------------------------------------------------- */

struct gathering {
    struct source *source;
    enum rapl_span span;
    struct rapl_place *places;
    size_t count, examined;
};

static bool is_same_part(const struct rapl_place *a, const struct rapl_place *b)
{
    return cpu_is_same_unit(a->unit, b->unit) && a->core == b->core;
}

static void gather(unsigned cpu, void *context)
{
    struct gathering *g = context;
    struct joule_host *host = g->source->host;
    if (g->count == PLACES_MAX || g->examined++ >= EXAMINE_MAX)
        return;
    const struct rapl *rapl = g->source->data;
    struct rapl_place place = {.cpu = cpu};
    if (!cpu_find_unit(host, rapl->cpu, cpu, &place.unit) && g->span == RAPL_EVERY)
        /* the package is unknown, but the kernel lists one CPU for each package */
        place.unit.package = (unsigned)g->count;
    if (g->span == RAPL_PER_CORE)
        place.unit.die = -1;
    if (g->span != RAPL_PER_PACKAGE && !cpu_read_topology(host, cpu, "core_id", &place.core))
        place.core = cpu;
    for (size_t i = 0; g->span != RAPL_EVERY && i < g->count; i++)
        if (is_same_part(&g->places[i], &place))
            return;
    g->places[g->count++] = place;
}

size_t rapl_find_places(struct source *source, const char *cpu_list, enum rapl_span span,
                        struct rapl_place **out_places)
{
    struct gathering g = {.source = source, .span = span};
    *out_places = g.places = arena_alloc(&source->arena, PLACES_MAX * sizeof *g.places);
    if (!g.places)
        return 0;
    string_each_cpu(cpu_list, gather, &g);
    cpu_unset_single_dies(&g.places->unit, g.count, sizeof *g.places);
    return g.count;
}

/* --- reading -------------------------------------------------------------------------------------------- */

void rapl_read(struct source *source, struct sink *sink, rapl_read_fn read_raw)
{
    struct rapl *rapl = source->data;
    int64_t before_ns = sink_now(sink);
    bool with_details = rapl->detail_ns == 0 || before_ns - rapl->detail_ns >= DETAIL_NS;
    if (with_details)
        rapl->detail_ns = before_ns;
    for (const struct rapl_reading *r = rapl->first; r; r = r->next) {
        if (r->handle < 0 || (r->is_detail && !with_details))
            continue;
        uint64_t raw;
        int rc = read_raw(source->host, r, &raw);
        int64_t after_ns = sink_now(sink);
        if (rc == 0)
            sink_counter(sink, r->channel, before_ns, after_ns, raw);
        else
            sink_fail(sink, r->channel, status_of_errno(-rc));
        before_ns = sink_now(sink);
    }
}

void rapl_close(struct source *source)
{
    const struct rapl *rapl = source->data;
    for (const struct rapl_reading *r = rapl->first; r; r = r->next)
        if (r->handle >= 0)
            source->host->ops->close_handle(source->host, r->handle);
}

void rapl_close_channel(struct source *source, const struct channel *channel)
{
    const struct rapl *rapl = source->data;
    for (struct rapl_reading *r = rapl->first; r; r = r->next)
        if (r->channel == channel && r->handle >= 0) {
            source->host->ops->close_handle(source->host, r->handle);
            r->handle = -1;
        }
}
