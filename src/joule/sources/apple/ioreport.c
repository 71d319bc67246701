/* joule/sources/apple/ioreport.c - the source "ioreport": energy counters of Apple's chips, from macOS'
 * library IOReport.
 *
 * The source subscribes to the group "Energy Model", which has more than a hundred channels. It then reads
 * only channels that cover a whole part, such as the CPU.
 * Note: each channel has a unit label, padded with blanks, and units differ between channels. A channel with
 * an unknown unit is not used. On chips with two dies, each die reports its parts ("DIE_1_CPU Energy"), which
 * are added up. Single cores are included in "CPU Energy" and are skipped. */
#include "joule/sources/apple/ioreport.h"

#include <string.h>
#include "base/string.h"
#include "joule/sources/apple/apple_power.h"

#define PERIOD_S 0.1
#define TICK_S   1e-3 /* assumed */
#define UNIT_J   1e-9

struct ioreport {
    struct ioreport_library library;
    cf_ref channels, subscription, list_key;
    cf_ref sample; /* the last sample */
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

/* Returns the part that the channel with this name covers as a whole, or APPLE_PARTS if there is none. */
static enum apple_part part_of(const char *name)
{
    if (string_starts(name, "DIE_")) {
        const char *number = name + strlen("DIE_");
        size_t digits = strspn(number, "0123456789");
        name = digits && number[digits] == '_' ? number + digits + 1 : name;
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

/* Returns the nanojoules per count of a channel, or 0 if its unit is unknown. */
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

/* Calls `visit` for each channel of a sample, or of the difference of two samples, that covers a part. */
static void each_part(struct source *source, cf_ref sample, visit_fn visit)
{
    const struct ioreport *ioreport = source->data;
    const struct ioreport_library *l = &ioreport->library;
    cf_ref list = l->dictionary_value(sample, ioreport->list_key);
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
    struct ioreport *ioreport = source->data;
    struct channel *ch = ioreport->parts[part].channel;
    if (ch || unit_of(&ioreport->library, channel) == 0 || !(ch = apple_add_part(source, part)))
        return;
    ioreport->parts[part].channel = ch;
    ch->mode = CHANNEL_COUNTER;
    ch->rank = RANK_DRIVER;
    ch->counter.unit_joules = UNIT_J;
    ch->counter.tick_s = TICK_S;
}

/* Subscribes to the energy channels and takes the first sample. Returns false on failure; ioreport_close then
 * releases the objects in `ioreport`. */
static bool subscribe(struct ioreport *ioreport)
{
    const struct ioreport_library *l = &ioreport->library;
    cf_ref group = l->string_create(NULL, "Energy Model", CF_UTF8), found = NULL, subscribed = NULL;
    ioreport->list_key = l->string_create(NULL, "IOReportChannels", CF_UTF8);
    if (group)
        found = l->copy_channels_in_group(group, NULL, 0, 0, 0);
    if (found) /* the library modifies the dictionary, so it gets a copy */
        ioreport->channels = l->dictionary_copy(NULL, 0, found);
    if (ioreport->channels)
        ioreport->subscription = l->create_subscription(NULL, ioreport->channels, &subscribed, 0, NULL);
    if (ioreport->subscription && ioreport->list_key)
        ioreport->sample = l->create_samples(ioreport->subscription, ioreport->channels, NULL);
    if (group)
        l->release(group);
    if (found)
        l->release(found);
    if (subscribed)
        l->release(subscribed);
    return ioreport->sample != NULL;
}

static void ioreport_close(struct source *source)
{
    const struct ioreport *ioreport = source->data;
    if (!ioreport)
        return;
    const cf_ref objects[] = {ioreport->sample, ioreport->subscription, ioreport->channels,
                              ioreport->list_key};
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
        if (objects[i])
            ioreport->library.release(objects[i]);
}

static joule_status ioreport_open(struct source *source)
{
    const char *missing;
    struct ioreport *ioreport = source->data = arena_alloc(&source->arena, sizeof *ioreport);
    if (!ioreport)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (!ioreport_load(source->host, &ioreport->library, &missing)) {
        source->data = NULL;
        return *missing
                   ? source_set_state(source, JOULE_UNSUPPORTED,
                                      "IOReport of this macOS lacks the function %s", missing)
                   : source_set_state(source, JOULE_ABSENT, "libIOReport not found: it exists only on macOS");
    }
    bool is_subscribed = subscribe(ioreport);
    if (is_subscribed)
        each_part(source, ioreport->sample, add_part);
    if (source->channel_count)
        return JOULE_OK;
    ioreport_close(source); /* `close` is not called if `open` fails */
    source->data = NULL;
    if (is_subscribed)
        return source_set_state(source, JOULE_UNSUPPORTED,
                                "IOReport reports no energy of this chip in a known unit");
    return source_set_state(source, JOULE_FAILED, "IOReport has no channels of the group Energy Model");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void read_part(struct source *source, enum apple_part part, cf_ref channel)
{
    struct ioreport *ioreport = source->data;
    struct part *p = &ioreport->parts[part];
    uint64_t unit = unit_of(&ioreport->library, channel);
    int64_t counts = ioreport->library.integer_value(channel, 0);
    if (unit == 0 || counts < 0 || (uint64_t)counts > INT64_MAX / unit)
        p->status = JOULE_FAILED; /* stays FAILED even if the other die reports a value */
    else if (p->status != JOULE_FAILED) {
        p->total += (uint64_t)counts * unit;
        p->status = JOULE_OK;
    }
}

static joule_status read_sample(struct source *source)
{
    struct ioreport *ioreport = source->data;
    const struct ioreport_library *l = &ioreport->library;
    cf_ref sample = l->create_samples(ioreport->subscription, ioreport->channels, NULL);
    cf_ref delta = sample ? l->create_delta(ioreport->sample, sample, NULL) : NULL;
    if (!delta) {
        if (sample)
            l->release(sample);
        return JOULE_FAILED;
    }
    each_part(source, delta, read_part);
    l->release(delta);
    l->release(ioreport->sample);
    ioreport->sample = sample;
    return JOULE_OK;
}

static void ioreport_read(struct source *source, struct sink *sink)
{
    struct ioreport *ioreport = source->data;
    for (int part = 0; part < APPLE_PARTS; part++)
        ioreport->parts[part].status = JOULE_STALE; /* remains unless read_part replaces it */
    int64_t before_ns = sink_now(sink);
    joule_status status = read_sample(source);
    int64_t after_ns = sink_now(sink);
    for (int part = 0; part < APPLE_PARTS; part++) {
        const struct part *p = &ioreport->parts[part];
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
