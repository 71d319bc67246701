/* joule/sources/apple/ioreport.c - the source "ioreport": energy counters of Apple's chips, from macOS'
 * library IOReport.
 *
 * It subscribes to the group "Energy Model" and reads those of its more than a hundred channels that cover a
 * whole part.
 * Note: each channel has a unit label, padded with blanks, and units differ between channels. A channel with
 * an unknown unit is not used. Chips with two dies have each part once for each die ("DIE_1_CPU Energy").
 * Single cores are part of "CPU Energy" and are skipped. */
#include "joule/sources/apple/ioreport.h"

#include <string.h>
#include "base/string.h"
#include "joule/sources/apple/apple_power.h"

#define PERIOD_S 0.1
#define TICK_S   1e-3 /* assumed */
#define UNIT_J   1e-9

struct ioreport {
    struct ioreport_library library;
    cf_ref channels, subscription, sample, list_key;
    struct part {
        struct channel *channel; /* NULL: the chip does not report it */
        uint64_t total;          /* nanojoules since the source was opened */
        joule_status status;     /* status of the last reading */
    } parts[APPLE_PARTS];
};

/* --- the library's channels ----------------------------------------------------------------------------- */

static bool read_text(const struct ioreport_library *l, cf_ref string, char *out_text, size_t size)
{
    out_text[0] = '\0';
    if (!string || !l->string_text(string, out_text, (long)size, CF_UTF8))
        return false;
    const char *text = string_trim(out_text);
    memmove(out_text, text, strlen(text) + 1);
    return true;
}

/* Returns the part that a channel covers as a whole; APPLE_PARTS: none. */
static enum apple_part part_of(const char *name)
{
    if (string_starts(name, "DIE_")) {
        const char *behind = name + strlen("DIE_");
        size_t digits = strspn(behind, "0123456789");
        name = digits && behind[digits] == '_' ? behind + digits + 1 : name;
    }
    if (strcmp(name, "CPU Energy") == 0)
        return APPLE_CPU;
    if (strcmp(name, "GPU Energy") == 0)
        return APPLE_GPU;
    if (string_starts(name, "GPU SRAM"))
        return APPLE_GPU_MEMORY;
    return string_starts(name, "ANE")    ? APPLE_NEURAL
           : string_starts(name, "DRAM") ? APPLE_MEMORY
                                         : APPLE_PARTS;
}

/* Returns the nanojoules per count; 0: unknown unit. */
static uint64_t unit_of(const struct ioreport_library *l, cf_ref channel)
{
    static const struct {
        const char *label;
        uint64_t nanojoules;
    } units[] = {{"mJ", 1000000}, {"uJ", 1000}, {"nJ", 1}};
    char label[16];
    read_text(l, l->channel_unit(channel), label, sizeof label);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(label, units[i].label) == 0)
            return units[i].nanojoules;
    return 0;
}

typedef void (*visit_fn)(struct source *source, enum apple_part part, cf_ref channel);

/* Calls visit for the channels of parts in a sample, or in the difference of two samples. */
static void each_part(struct source *source, cf_ref sample, visit_fn visit)
{
    const struct ioreport *own = source->data;
    const struct ioreport_library *l = &own->library;
    cf_ref list = l->dictionary_value(sample, own->list_key);
    long count = list ? l->array_count(list) : 0;
    for (long i = 0; i < count; i++) {
        char name[64];
        cf_ref channel = l->array_value(list, i);
        if (!channel || !read_text(l, l->channel_name(channel), name, sizeof name))
            continue;
        enum apple_part part = part_of(name);
        if (part != APPLE_PARTS)
            visit(source, part, channel);
    }
}

/* --- opening -------------------------------------------------------------------------------------------- */

static void add_part(struct source *source, enum apple_part part, cf_ref channel)
{
    struct ioreport *own = source->data;
    struct channel *ch = own->parts[part].channel;
    if (ch || unit_of(&own->library, channel) == 0 || !(ch = apple_add_part(source, part)))
        return;
    own->parts[part].channel = ch;
    ch->mode = CHANNEL_COUNTER;
    ch->rank = RANK_DRIVER;
    ch->counter.unit_joules = UNIT_J;
    ch->counter.tick_s = TICK_S;
}

/* Subscribes to the energy channels. Returns false on failure. Every object is stored in `own` at once, so
 * that close releases it. */
static bool subscribe(struct ioreport *own)
{
    const struct ioreport_library *l = &own->library;
    cf_ref group = l->string_create(NULL, "Energy Model", CF_UTF8), found = NULL, subscribed = NULL;
    own->list_key = l->string_create(NULL, "IOReportChannels", CF_UTF8);
    if (group)
        found = l->copy_channels_in_group(group, NULL, 0, 0, 0);
    if (found)
        /* a copy, because the library modifies the dictionary */
        own->channels = l->dictionary_copy(NULL, 0, found);
    if (own->channels)
        own->subscription = l->create_subscription(NULL, own->channels, &subscribed, 0, NULL);
    if (own->subscription && own->list_key)
        own->sample = l->create_samples(own->subscription, own->channels, NULL);
    if (group)
        l->release(group);
    if (found)
        l->release(found);
    if (subscribed)
        l->release(subscribed);
    return own->sample != NULL;
}

static void ioreport_close(struct source *source)
{
    const struct ioreport *own = source->data;
    if (!own)
        return;
    const cf_ref objects[] = {own->sample, own->subscription, own->channels, own->list_key};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        if (objects[i])
            own->library.release(objects[i]);
}

static joule_status ioreport_open(struct source *source)
{
    const char *missing;
    struct ioreport *own = source->data = arena_alloc(&source->arena, sizeof *own);
    if (!own)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (!ioreport_load(source->host, &own->library, &missing)) {
        source->data = NULL;
        return *missing
                   ? source_set_state(source, JOULE_UNSUPPORTED, "this macOS' IOReport has no %s", missing)
                   : source_set_state(source, JOULE_ABSENT, "no libIOReport, which macOS has");
    }
    bool is_subscribed = subscribe(own);
    if (is_subscribed)
        each_part(source, own->sample, add_part);
    if (source->channel_count)
        return JOULE_OK;
    ioreport_close(source); /* close is not called for a source that failed to open */
    source->data = NULL;
    if (is_subscribed)
        return source_set_state(source, JOULE_UNSUPPORTED,
                                "IOReport has no energy of this chip in a known unit");
    return source_set_state(source, JOULE_FAILED, "IOReport has no channels of the group Energy Model");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void read_part(struct source *source, enum apple_part part, cf_ref channel)
{
    struct ioreport *own = source->data;
    struct part *p = &own->parts[part];
    uint64_t unit = unit_of(&own->library, channel);
    int64_t counts = own->library.integer_value(channel, 0);
    if (unit == 0 || counts < 0 || (uint64_t)counts > INT64_MAX / unit)
        p->status = JOULE_FAILED; /* the status stays FAILED, whatever the other die reports */
    else if (p->status != JOULE_FAILED) {
        p->total += (uint64_t)counts * unit;
        p->status = JOULE_OK;
    }
}

static joule_status read_sample(struct source *source)
{
    struct ioreport *own = source->data;
    const struct ioreport_library *l = &own->library;
    cf_ref sample = l->create_samples(own->subscription, own->channels, NULL);
    cf_ref delta = sample ? l->create_delta(own->sample, sample, NULL) : NULL;
    if (!delta) {
        if (sample)
            l->release(sample);
        return JOULE_FAILED;
    }
    each_part(source, delta, read_part);
    l->release(delta);
    l->release(own->sample);
    own->sample = sample;
    return JOULE_OK;
}

static void ioreport_read(struct source *source, struct sink *sink)
{
    struct ioreport *own = source->data;
    for (int part = 0; part < APPLE_PARTS; part++)
        own->parts[part].status = JOULE_STALE; /* for a part that is no longer reported */
    int64_t before_ns = sink_now(sink);
    joule_status status = read_sample(source);
    int64_t after_ns = sink_now(sink);
    for (int part = 0; part < APPLE_PARTS; part++) {
        const struct part *p = &own->parts[part];
        if (!p->channel)
            continue;
        if (status == JOULE_OK && p->status == JOULE_OK)
            sink_counter(sink, p->channel, before_ns, after_ns, p->total);
        else
            sink_fail(sink, p->channel, status == JOULE_OK ? p->status : status);
    }
}

const struct source_ops source_ioreport = {
    .name = "ioreport",
    .measurement = "ioreport",
    .tier = 2,
    .is_slow = true,
    .folder = "/System/Library", /* exists only on macOS */
    .period_s = PERIOD_S,
    .open = ioreport_open,
    .read = ioreport_read,
    .close = ioreport_close,
};
