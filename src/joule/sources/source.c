/* joule/sources/source.c - functions for every source: add a channel, set the source's state, run a
 * program. */
#include "joule/sources/source.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"

#define MAX_WATTS     5000 /* upper limit for any single device */
#define STANDSTILL_NS 2000000000LL

struct channel *source_add_channel(struct source *source)
{
    struct channel *channel = arena_alloc(&source->arena, sizeof *channel);
    struct channel **channels =
        channel ? arena_push(&source->arena, source->channels, source->channel_count, channel) : NULL;
    if (!channels)
        return NULL;
    source->channels = channels;
    source->channel_count++;
    joule_domain *info = &channel->info;
    info->struct_size = sizeof *info;
    info->id = info->parent = info->device_index = -1;
    info->reading = JOULE_READING_ENERGY;
    info->cls = JOULE_CLASS_MEASURED;
    info->tier = source->ops->tier;
    info->update_period_s = NAN;
    string_copy(info->source, sizeof info->source, source->ops->name);
    string_copy(info->measurement, sizeof info->measurement, source->ops->measurement);
    channel->gauge = NAN;
    channel->counter.max_watts = channel->integrator.max_watts = MAX_WATTS;
    return channel;
}

static joule_reading_kind reading_of_role(enum gauge_role role)
{
    switch (role) {
    case ROLE_TEMPERATURE:
    case ROLE_MEMORY_TEMPERATURE:
        return JOULE_READING_TEMPERATURE;
    case ROLE_CLOCK:
    case ROLE_MEMORY_CLOCK:
        return JOULE_READING_CLOCK;
    default:
        return JOULE_READING_UTILISATION;
    }
}

void channel_set_gauge(struct channel *channel, enum gauge_role role, const char *zone)
{
    channel->mode = CHANNEL_GAUGE;
    channel->role = role;
    channel->info.reading = reading_of_role(role);
    channel->info.cls = JOULE_CLASS_NONE;
    string_copy(channel->parent_zone, sizeof channel->parent_zone, zone);
}

bool standstill_check(struct standstill *still, int64_t now_ns, uint64_t counts)
{
    if (counts != still->counts || still->since_ns == 0)
        *still = (struct standstill){counts, now_ns};
    return now_ns - still->since_ns >= STANDSTILL_NS;
}

joule_status source_set_state(struct source *source, joule_status status, const char *remedy, ...)
{
    va_list arguments;
    va_start(arguments, remedy);
    vsnprintf(source->remedy, sizeof source->remedy, remedy, arguments);
    va_end(arguments);
    return source->state = status;
}

joule_status source_run(struct source *source, const char *const *argv, int64_t timeout_ns, char *text,
                        size_t size, struct source_output *out)
{
    ssize_t length = source->host->ops->run(source->host, argv, timeout_ns, text, size, &out->exit_status);
    out->length = length < 0 ? 0 : (size_t)length;
    return length >= 0 ? JOULE_OK : length == -ETIMEDOUT ? JOULE_STALE : status_of_errno((int)-length);
}
