/* joule/sources/intel/intel_gpu_pmu.c - measures how busy an Intel GPU's engines are, with its driver's
 * performance events. See intel_gpu.h.
 *
 * i915 lists an event for each engine, in nanoseconds. xe has two events for all engines, which count active
 * and total ticks; the event's config selects the engine.
 * Note: while such an event of xe is open, the kernel keeps the GPU awake and its clock running (xe_pmu.c:
 * event_gt_forcewake). This would change the measured energy, so the events are opened only if devices are
 * queried. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/intel/intel_gpu.h"

#define DEVICES "/sys/bus/event_source/devices"

/* Limits of the numbers with which engines of xe are searched. Opening the event of a missing engine
 * fails. */
/* number of graphics units (GTs); a tile has one, and may have a second one for media */
#define MAX_TILES     4
#define MAX_CLASSES   5 /* render, copy, video, enhancement, compute */
#define MAX_INSTANCES 9

/* Reads a file of the event folder, such as "event=0x02" or "config:20-27". Writes the number between
 * `prefix` and the first comma or dash. Returns false if there is none. */
static bool read_number(struct source *source, const struct intel_pmu *pmu, const char *file,
                        const char *prefix, uint64_t *out_value)
{
    char path[192], text[64];
    string_print(path, sizeof path, "%s/%s", pmu->folder, file);
    if (!host_read_text(source->host, path, text, sizeof text) || !string_starts(text, prefix))
        return false;
    char *number = text + strlen(prefix);
    number[strcspn(number, ",-")] = '\0';
    return string_to_u64(number, 0, out_value);
}

/* Uses the event folder `name` if it exists. Returns false if it does not. */
static bool try_folder(struct source *source, struct intel_pmu *pmu, const char *name)
{
    uint64_t type;
    string_print(pmu->folder, sizeof pmu->folder, DEVICES "/%s", name);
    if (read_number(source, pmu, "type", "", &type))
        return true;
    pmu->folder[0] = '\0';
    return false;
}

void intel_pmu_find(struct source *source, const struct drm_card *card, struct intel_pmu *out_pmu)
{
    char name[64];
    *out_pmu = (struct intel_pmu){0};
    string_print(name, sizeof name, "%s_%s", card->driver, card->pci);
    for (char *c = name; *c; c++)
        if (*c == ':')
            *c = '_';
    /* The folder without an address belongs to the GPU inside the processor. */
    if (!try_folder(source, out_pmu, name) && strcmp(card->driver, "i915") == 0 &&
        string_starts(card->pci, "0000:00:"))
        try_folder(source, out_pmu, "i915");
}

/* --- opening -------------------------------------------------------------------------------------------- */

/* The state of intel_pmu_open. */
struct opening {
    struct source *source;
    struct intel_pmu *pmu;
    uint32_t type;
    int cpu;
    joule_status refusal; /* status of events that failed to open; DENIED has priority */
};

static int open_event(struct opening *o, uint64_t config)
{
    int handle =
        o->source->host->ops->open_perf(o->source->host, &(struct host_perf_event){o->type, config, o->cpu});
    if (handle < 0 && o->refusal != JOULE_DENIED)
        o->refusal = status_of_errno(-handle);
    return handle;
}

static void add_engine(struct opening *o, int active, int total)
{
    if (o->pmu->count < INTEL_MAX_ENGINES) {
        o->pmu->engines[o->pmu->count++] = (struct intel_engine){.active = active, .total = total};
        return;
    }
    host_close_handle(o->source->host, active);
    host_close_handle(o->source->host, total);
}

/* Opens the events of i915, such as "rcs0-busy". */
static void open_listed(struct opening *o)
{
    char path[128], file[96], **names;
    string_print(path, sizeof path, "%s/events", o->pmu->folder);
    ssize_t count = o->source->host->ops->list(o->source->host, path, &o->source->arena, &names);
    for (ssize_t i = 0; i < count && o->refusal != JOULE_DENIED; i++) {
        uint64_t config;
        string_print(file, sizeof file, "events/%s", names[i]);
        if (!string_ends(names[i], "-busy") || !read_number(o->source, o->pmu, file, "config=", &config))
            continue;
        int handle = open_event(o, config);
        if (handle >= 0)
            add_engine(o, handle, -1);
    }
}

/* Event codes of xe, and the bit positions of the fields in config. */
struct tick_format {
    uint64_t active, total, gt, class, instance;
};

static bool read_format(const struct opening *o, struct tick_format *out)
{
    return read_number(o->source, o->pmu, "events/engine-active-ticks", "event=", &out->active) &&
           read_number(o->source, o->pmu, "events/engine-total-ticks", "event=", &out->total) &&
           read_number(o->source, o->pmu, "format/gt", "config:", &out->gt) &&
           read_number(o->source, o->pmu, "format/engine_class", "config:", &out->class) &&
           read_number(o->source, o->pmu, "format/engine_instance", "config:", &out->instance) &&
           out->gt < 64 && out->class < 64 && out->instance < 64;
}

static void open_ticks(struct opening *o, const struct tick_format *format, uint64_t engine)
{
    int active = open_event(o, format->active | engine);
    if (active < 0)
        return;
    int total = open_event(o, format->total | engine);
    if (total >= 0)
        add_engine(o, active, total);
    else
        host_close_handle(o->source->host, active);
}

/* Opens the two events of each engine of xe. */
static void open_known(struct opening *o, const struct tick_format *format)
{
    for (uint64_t gt = 0; gt < MAX_TILES; gt++)
        for (uint64_t class = 0; class < MAX_CLASSES; class ++)
            for (uint64_t i = 0; i < MAX_INSTANCES && o->refusal != JOULE_DENIED; i++)
                open_ticks(o, format, gt << format->gt | class << format->class | i << format->instance);
}

joule_status intel_pmu_open(struct source *source, struct intel_pmu *pmu)
{
    struct opening o = {.source = source, .pmu = pmu, .refusal = JOULE_UNSUPPORTED};
    struct tick_format format;
    uint64_t type, cpu;
    pmu->is_primed = false;
    if (!pmu->folder[0] || !read_number(source, pmu, "type", "", &type) || type > UINT32_MAX)
        return JOULE_ABSENT;
    o.type = (uint32_t)type;
    o.cpu = read_number(source, pmu, "cpumask", "", &cpu) && cpu < 65536 ? (int)cpu : 0;
    if (read_format(&o, &format))
        open_known(&o, &format);
    else
        open_listed(&o);
    return pmu->count ? JOULE_OK : o.refusal;
}

void intel_pmu_close(struct joule_host *host, struct intel_pmu *pmu)
{
    for (size_t i = 0; i < pmu->count; i++) {
        host_close_handle(host, pmu->engines[i].active);
        host_close_handle(host, pmu->engines[i].total);
    }
    pmu->count = 0;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static joule_status read_engine(struct joule_host *host, struct intel_engine *engine, int64_t now_ns,
                                double *out_share)
{
    uint64_t active, total = (uint64_t)now_ns;
    int error = host->ops->read_perf(host, engine->active, &active);
    if (error == 0 && engine->total >= 0)
        error = host->ops->read_perf(host, engine->total, &total);
    *out_share = NAN;
    if (error)
        return status_of_errno(-error);
    if (total > engine->last_total && active >= engine->last_active)
        *out_share = fmin(1, (double)(active - engine->last_active) / (double)(total - engine->last_total));
    engine->last_active = active;
    engine->last_total = total;
    return JOULE_OK;
}

joule_status intel_pmu_read(struct joule_host *host, struct intel_pmu *pmu, int64_t now_ns, double *out_share)
{
    double busiest = NAN, share;
    *out_share = NAN;
    for (size_t i = 0; i < pmu->count; i++) {
        joule_status status = read_engine(host, &pmu->engines[i], now_ns, &share);
        if (status != JOULE_OK)
            return status;
        busiest = fmax(busiest, share); /* fmax ignores NaN */
    }
    if (pmu->is_primed)
        *out_share = busiest;
    pmu->is_primed = true;
    return JOULE_OK;
}
