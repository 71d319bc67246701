/* joule/meter/last_reading.c - see last_reading.h. */
#include "joule/meter/last_reading.h"

#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "joule/meter/cover_choice.h"

/* Some sensors start a measurement at a reading and show its value only at the next reading. */
#define MAX_REQUESTS   3
#define REQUEST_GAP_NS (100 * NS_PER_S / 1000)
#define SLACK_S        0.25 /* seconds added to a sensor's period, for the reading itself */

struct last_reading last_reading_start(joule_meter *meter, int64_t begin_ns, int64_t end_ns)
{
    return (struct last_reading){
        .meter = meter, .begin_ns = begin_ns, .end_ns = end_ns, .start_ns = meter_now_ns(meter)};
}

/* --- channels to wait for ------------------------------------------------------------------------------- */

/* Returns true if the cover contains a measured domain of this zone or, if `zone` is NULL, of this scope. */
static bool is_in_cover(const joule_meter *meter, const struct cover *cover, const char *zone,
                        joule_scope scope)
{
    for (size_t i = 0; i < cover->count; i++) {
        const struct channel *ch = meter->channels[cover->ids[i]].channel;
        if (ch->info.cls < JOULE_CLASS_MODELLED &&
            (zone ? strcmp(ch->zone, zone) == 0 : ch->info.scope == scope))
            return true;
    }
    return false;
}

/* Returns true if the channel is in the total, or would be in it if its energy were known. */
static bool matters(const joule_meter *meter, const struct cover *cover, size_t id)
{
    const struct meter_channel *mc = &meter->channels[id];
    const struct channel *ch = mc->channel;
    if (!cover_can_count(ch) || atomic_load(&mc->hidden_by))
        return false;
    for (size_t i = 0; i < cover->count; i++)
        if (cover->ids[i] == (int32_t)id)
            return true;
    return cover_is_wanted(ch->info.scope, JOULE_TOTAL)
               ? !is_in_cover(meter, cover, ch->zone, 0)
               : !is_in_cover(meter, cover, NULL, JOULE_SCOPE_PACKAGE);
}

/* Returns how many seconds to wait for a channel whose energy until end_ns is not known yet. Returns 0 if the
 * energy is known, or will never be known. */
static double timeout_s(const struct channel *ch, int64_t end_ns, bool was_requested)
{
    if (ch->info.state != JOULE_OK || curve_last_ns(&ch->curve) >= end_ns)
        return 0;
    double tick_s = meter_channel_traits(ch).tick_s;
    if (ch->mode == CHANNEL_COUNTER && was_requested && tick_s < SLACK_S)
        return 0; /* the counter was read, but stands still */
    return fmin(tick_s, LAST_READING_MAX_S) + SLACK_S;
}

/* --- lanes to wait for ---------------------------------------------------------------------------------- */

/* Returns the longest timeout_s of the channels in lane `l` that matter; 0: no need to wait. */
static double timeout_of_lane_s(const struct last_reading *last, const struct cover *cover, size_t l,
                                bool was_requested)
{
    joule_meter *meter = last->meter;
    double longest_s = 0;
    for (size_t i = 0; i < meter_channel_count(meter); i++) {
        const struct meter_channel *mc = &meter->channels[i];
        if (mc->lane != meter->lanes[l] || !matters(meter, cover, i))
            continue;
        pthread_mutex_lock(&mc->lane->lock);
        longest_s = fmax(longest_s, timeout_s(mc->channel, last->end_ns, was_requested));
        pthread_mutex_unlock(&mc->lane->lock);
    }
    return longest_s;
}

/* Requests a reading of lane `l`, at most MAX_REQUESTS times and not more often than every REQUEST_GAP_NS. */
static void request(struct last_reading *last, size_t l, int64_t now_ns)
{
    if (last->lanes[l].count == MAX_REQUESTS || now_ns - last->lanes[l].requested_ns < REQUEST_GAP_NS)
        return;
    last->lanes[l].number = lane_request(last->meter->lanes[l]);
    last->lanes[l].count++;
    last->lanes[l].requested_ns = now_ns;
}

bool last_reading_is_due(struct last_reading *last)
{
    joule_meter *meter = last->meter;
    int64_t now_ns = meter_now_ns(meter);
    double waited_s = (double)(now_ns - last->start_ns) * 1e-9;
    struct cover cover;
    bool is_due = false;
    meter_cover(meter, JOULE_TOTAL, last->begin_ns, last->end_ns, &cover);
    for (size_t l = 1; l < meter->lane_count; l++) { /* the waiting thread reads lane 0 itself */
        struct lane *lane = meter->lanes[l];
        bool was_requested = last->lanes[l].count > 0,
             is_served = atomic_load(&lane->served) >= last->lanes[l].number;
        if (lane->is_late || !lane->has_thread || !lane_wait_opened(lane, 0))
            continue;
        if (waited_s >= timeout_of_lane_s(last, &cover, l, was_requested && is_served))
            continue;
        if (is_served)
            request(last, l, now_ns);
        last->source = lane->sources[0]->ops->name;
        is_due = true;
    }
    return is_due;
}
