/* tools/helper/sensors.c - see sensors.h. */
#include "helper/sensors.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"

#define CHANGE_WAIT_NS 20000000 /* time in which a working counter must change; registers refresh every ms */

extern const struct source_ops source_rapl_perf;
extern const struct source_ops source_rapl_powercap;
extern const struct source_ops source_rapl_msr;
extern const struct source_ops source_hwmon;

/* Sources in order of preference, the best one first. */
static const struct source_ops *const known[] = {&source_rapl_perf, &source_rapl_powercap, &source_rapl_msr,
                                                 &source_hwmon};
#define KNOWN (sizeof known / sizeof *known)
_Static_assert(KNOWN == SENSORS_SOURCES, "a place for each source");

/* --- the sink, which receives values from sources ------------------------------------------------------- */

struct sensors_sink {
    struct sink sink;
    struct sensors *sensors;
};

static struct sensors *sensors_of(struct sink *sink)
{
    return ((struct sensors_sink *)sink)->sensors; /* `sink` is the first member of struct sensors_sink */
}

/* Returns the index of a channel; -1: the channel is not offered. */
static ptrdiff_t find_channel(const struct sensors *sensors, const struct channel *channel)
{
    for (size_t i = 0; i < sensors->count; i++)
        if (sensors->channels[i] == channel)
            return (ptrdiff_t)i;
    return -1;
}

/* Rounds a counter value down to a multiple of the grain. The difference of two rounded values has an error
 * below one grain, and consecutive differences add up. */
static uint64_t round_counts(const struct sensors *sensors, const struct channel *channel, uint64_t raw)
{
    double counts = sensors->grain_joules / channel->counter.unit_joules;
    uint64_t grain = counts >= 2 ? (uint64_t)fmin(counts, 0x1p62) : 1;
    return raw - raw % grain;
}

static double round_watts(const struct sensors *sensors, double watts)
{
    double grain_watts = sensors->grain_joules / clock_seconds(sensors->pace_ns);
    return grain_watts > 0 ? floor(watts / grain_watts) * grain_watts : watts;
}

/* Stores a value, rounded for clients. */
static void store_value(struct sensors *sensors, size_t i, struct helper_value value)
{
    const struct channel *channel = sensors->channels[i];
    value.raw = channel->mode == CHANNEL_COUNTER
                    ? round_counts(sensors, channel, value.raw)
                    : helper_raw_of(round_watts(sensors, helper_watts_of(value.raw)));
    sensors->values[i] = value;
}

static void store_count(struct sink *sink, struct channel *channel, int64_t before_ns, int64_t after_ns,
                        uint64_t raw)
{
    struct sensors *sensors = sensors_of(sink);
    ptrdiff_t i = find_channel(sensors, channel);
    if (i < 0)
        return;
    if (after_ns == 0)
        before_ns = after_ns = sink_now(sink);
    store_value(sensors, (size_t)i, (struct helper_value){before_ns, after_ns, raw, JOULE_OK});
}

/* Stores the mean of the samples that a driver collected since the last reading. The timestamp is the time of
 * this reading, because a driver's clock may go back. */
static void store_power(struct sink *sink, struct channel *channel, int64_t sensor_ns, double watts)
{
    struct sensors *sensors = sensors_of(sink);
    ptrdiff_t i = find_channel(sensors, channel);
    (void)sensor_ns;
    if (i < 0)
        return;
    int64_t now_ns = sink_now(sink);
    unsigned samples = ++sensors->samples[i];
    double *mean = &sensors->mean_watts[i];
    *mean = samples == 1 ? watts : *mean + (watts - *mean) / samples;
    store_value(sensors, (size_t)i, (struct helper_value){now_ns, now_ns, helper_raw_of(*mean), JOULE_OK});
}

static void store_failure(struct sink *sink, struct channel *channel, joule_status status)
{
    struct sensors *sensors = sensors_of(sink);
    ptrdiff_t i = find_channel(sensors, channel);
    if (i >= 0)
        sensors->values[i].status = status;
}

/* The sink accepts counters and power only. It ignores gauges, because every user can read them without the
 * helper. It ignores energy since the last reading, because only the client that caused the reading would get
 * this energy. It ignores restarts, because these counters never restart. */
static const struct sink_ops sensors_sink_ops = {
    .counter = store_count, .power = store_power, .fail = store_failure};

/* --- the list ------------------------------------------------------------------------------------------- */

/* Returns true for channels that a total needs. Parts of a package are excluded, because they reveal more
 * about the work of the machine. */
static bool is_wanted(const struct channel *ch)
{
    switch (ch->info.scope) {
    case JOULE_SCOPE_PACKAGE:
    case JOULE_SCOPE_DRAM:
    case JOULE_SCOPE_GPU:
    case JOULE_SCOPE_PSYS:
    case JOULE_SCOPE_MODULE:
    case JOULE_SCOPE_NODE:
        return ch->info.state == JOULE_OK && (ch->mode == CHANNEL_COUNTER || ch->mode == CHANNEL_POWER);
    default:
        return false;
    }
}

static void offer_channels(struct sensors *s)
{
    for (size_t i = 0; i < s->source_count; i++)
        for (size_t k = 0; s->sources[i].state == JOULE_OK && k < s->sources[i].channel_count; k++)
            if (is_wanted(s->sources[i].channels[k]) && s->count < HELPER_MAX_CHANNELS)
                s->channels[s->count++] = s->sources[i].channels[k];
}

/* Returns true if channels a and b read the same zone and a is better. A channel that changes is better than
 * one that does not; then the lower rank, then the lower index decides. */
static bool is_better(const struct sensors *s, const bool *moves, size_t a, size_t b)
{
    const struct channel *one = s->channels[a], *other = s->channels[b];
    if (strcmp(one->zone, other->zone) != 0)
        return false;
    if (moves[a] != moves[b])
        return moves[a];
    return one->rank != other->rank ? one->rank < other->rank : a < b;
}

static bool has_better(const struct sensors *s, const bool *moves, size_t i)
{
    for (size_t k = 0; k < s->count; k++)
        if (is_better(s, moves, k, i))
            return true;
    return false;
}

/* Removes all channels except the best one of each zone. */
static void choose_channels(struct sensors *s)
{
    uint64_t first[HELPER_MAX_CHANNELS] = {0};
    bool moves[HELPER_MAX_CHANNELS], is_kept[HELPER_MAX_CHANNELS];
    for (size_t i = 0; i < s->count; i++)
        s->values[i].status = JOULE_PENDING;
    sensors_read(s, 0);
    for (size_t i = 0; i < s->count; i++)
        first[i] = s->values[i].raw;
    nanosleep(&(struct timespec){.tv_nsec = CHANGE_WAIT_NS}, NULL);
    sensors_read(s, 0);
    for (size_t i = 0; i < s->count; i++)
        moves[i] = s->channels[i]->mode == CHANNEL_POWER || s->values[i].raw != first[i];
    for (size_t i = 0; i < s->count; i++)
        is_kept[i] = !has_better(s, moves, i);
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (!is_kept[i])
            continue;
        s->channels[kept] = s->channels[i];
        s->values[kept++] = s->values[i];
    }
    s->count = kept;
}

/* Closes every handle that no offered channel needs, and every source without an offered channel. */
static void close_unused(struct sensors *s)
{
    for (size_t i = 0; i < s->source_count; i++) {
        struct source *source = &s->sources[i];
        size_t offered = 0;
        for (size_t k = 0; source->state == JOULE_OK && k < source->channel_count; k++) {
            const struct channel *channel = source->channels[k];
            bool is_offered = find_channel(s, channel) >= 0;
            offered += is_offered;
            if (!is_offered && source->ops->close_channel)
                source->ops->close_channel(source, channel);
        }
        if (source->state != JOULE_OK || offered > 0)
            continue;
        if (source->ops->close)
            source->ops->close(source);
        source->state = JOULE_ABSENT;
    }
}

void sensors_describe(struct sensors *sensors, int64_t pace_ns)
{
    for (size_t i = 0; i < sensors->count; i++) {
        struct channel *ch = sensors->channels[i];
        ch->counter.grain_joules = sensors->grain_joules;
        ch->info.update_period_s = fmax(ch->info.update_period_s, clock_seconds(pace_ns));
        ch->integrator.period_s = fmax(ch->integrator.period_s, clock_seconds(pace_ns));
    }
}

static struct source *open_source(struct sensors *s, const struct source_ops *ops)
{
    struct source *source = &s->sources[s->source_count++];
    *source = (struct source){.ops = ops, .host = s->host, .cpu = &s->cpu, .gpus = &s->gpus};
    source->state = ops->open(source);
    return source;
}

static joule_status open_by_name(struct sensors *s, const char *name, size_t length, joule_error *error)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (strlen(known[i]->name) != length || strncmp(known[i]->name, name, length) != 0)
            continue;
        for (size_t k = 0; k < s->source_count; k++)
            if (s->sources[k].ops == known[i])
                return JOULE_OK;
        open_source(s, known[i]);
        return JOULE_OK;
    }
    return error_set(error, JOULE_INVALID,
                     "unknown source '%.*s'; known are rapl_perf, rapl_powercap, rapl_msr and hwmon",
                     (int)length, name);
}

joule_status sensors_open(struct sensors *out, const char *list, joule_error *out_error)
{
    cpu_info_read(out->host, &out->cpu);
    for (const char *item = list; *item;) {
        size_t length = strcspn(item, ",");
        joule_status status = open_by_name(out, item, length, out_error);
        if (status != JOULE_OK)
            return status;
        item += length + (item[length] == ',');
    }
    offer_channels(out);
    if (out->count == 0) {
        close_unused(out); /* the helper may still run with the channels of guards, and must then hold no
                            * unused handles */
        const struct source *first = &out->sources[0];
        return error_set(out_error, out->source_count && first->state ? first->state : JOULE_ABSENT,
                         "no source can be read: %s",
                         out->source_count ? first->remedy : "no source was requested");
    }
    choose_channels(out);
    close_unused(out);
    if (out->keeps_pace)
        sensors_describe(out, out->pace_ns);
    return JOULE_OK;
}

joule_status sensors_open_source(struct sensors *out, const struct source_ops *ops, joule_error *out_error)
{
    cpu_info_read(out->host, &out->cpu);
    const struct source *source = open_source(out, ops);
    if (source->state != JOULE_OK)
        return error_set(out_error, source->state, "%s", source->remedy);
    offer_channels(out);
    for (size_t i = 0; i < out->count; i++)
        out->values[i].status = JOULE_PENDING;
    close_unused(out);
    return out->count ? JOULE_OK
                      : error_set(out_error, JOULE_ABSENT, "none of its channels is part of a total");
}

void sensors_add_guards(struct sensors *sensors, struct guard *guards, size_t count)
{
    sensors->guards = guards;
    sensors->guard_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t places = HELPER_MAX_CHANNELS - sensors->count;
        guards[i].offered = guards[i].count < places ? guards[i].count : places;
        for (size_t k = 0; k < guards[i].offered; k++)
            sensors->channels[sensors->count++] = &guards[i].channels[k];
    }
    if (sensors->keeps_pace)
        sensors_describe(sensors, sensors->pace_ns);
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Copies the values of guards. Their timestamps are the times at which the worker read the hardware. */
static void read_guards(struct sensors *sensors)
{
    size_t i = sensors->count;
    int64_t now_ns = clock_now_ns();
    for (size_t g = 0; g < sensors->guard_count; g++)
        i -= sensors->guards[g].offered;
    for (size_t g = 0; g < sensors->guard_count; g++)
        for (size_t k = 0; k < sensors->guards[g].offered; k++)
            store_value(sensors, i++, guard_value(&sensors->guards[g], k, now_ns));
}

void sensors_read(struct sensors *sensors, int64_t now_ns)
{
    struct sensors_sink sink = {{&sensors_sink_ops, sensors->host}, sensors};
    memset(sensors->samples, 0, sizeof sensors->samples);
    for (size_t i = 0; i < sensors->source_count; i++)
        if (sensors->sources[i].state == JOULE_OK)
            sensors->sources[i].ops->read(&sensors->sources[i], &sink.sink);
    read_guards(sensors);
    sensors->read_ns = now_ns;
}

void sensors_refresh(struct sensors *sensors, int64_t now_ns)
{
    if (!sensors->keeps_pace && (sensors->read_ns == 0 || now_ns - sensors->read_ns >= sensors->pace_ns))
        sensors_read(sensors, now_ns);
}

int64_t sensors_due_ns(const struct sensors *sensors)
{
    if (!sensors->keeps_pace)
        return INT64_MAX;
    return sensors->read_ns / sensors->pace_ns * sensors->pace_ns + sensors->pace_ns;
}
