/* joule/meter/cover.c - computes the energy of totals over a window. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/meter/cover_choice.h"
#include "joule/meter/engine.h"
#include "joule/meter/meter_lanes.h"
#include "joule/session/session.h"

void meter_cover(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                 struct cover *out_cover)
{
    *out_cover = (struct cover){.still_id = -1};
    size_t count = meter_channel_count(meter);
    if (domain >= 0) {
        if ((size_t)domain < count && meter->channels[domain].channel->mode != CHANNEL_GAUGE) {
            out_cover->ids[out_cover->count++] = domain;
            out_cover->cls = meter->channels[domain].channel->info.cls;
        }
        return;
    }
    cover_choose(meter, domain, begin_ns, end_ns, out_cover);
}

/* Returns the state of a channel; JOULE_PENDING instead of JOULE_OK, because its energy may become known. */
static joule_status state_of(const struct meter_channel *mc)
{
    pthread_mutex_lock(&mc->lane->lock);
    joule_status state = mc->channel->info.state;
    pthread_mutex_unlock(&mc->lane->lock);
    return state == JOULE_OK ? JOULE_PENDING : state;
}

joule_status meter_why_unknown(joule_meter *meter, int32_t domain)
{
    if (domain >= 0)
        return state_of(&meter->channels[domain]);
    if (meter->is_client || !meter_lanes_wait(meter, 0))
        return JOULE_PENDING;
    joule_status why = JOULE_ABSENT;
    size_t count = meter_channel_count(meter);
    for (size_t i = 0; i < count && why != JOULE_PENDING; i++) {
        const struct channel *ch = meter->channels[i].channel;
        if (cover_can_count(ch) && (domain == JOULE_TOTAL || cover_is_wanted(ch->info.scope, domain)))
            why = state_of(&meter->channels[i]);
    }
    return why;
}

struct window meter_cover_window(joule_meter *meter, const struct cover *cover, int64_t begin_ns,
                                 int64_t end_ns)
{
    struct window sum = {.joules = estimate_zero(),
                         .is_final = true,
                         .length_s = (double)(end_ns - begin_ns) * 1e-9,
                         .covered_s = INFINITY};
    for (size_t i = 0; i < cover->count; i++) {
        struct window w = meter_channel_window(meter, cover->ids[i], begin_ns, end_ns);
        sum.joules = estimate_add(sum.joules, 1, &w.joules);
        sum.covered_s = fmin(sum.covered_s, w.covered_s);
        sum.is_final = sum.is_final && w.is_final;
    }
    if (cover->count == 0 || isnan(sum.joules.value)) {
        sum.joules = estimate_unknown();
        sum.covered_s = 0;
        sum.is_final = false;
    }
    return sum;
}

struct window meter_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns)
{
    if (meter->is_client)
        return session_window(meter->session, domain, begin_ns, end_ns);
    struct cover cover;
    meter_cover(meter, domain, begin_ns, end_ns, &cover);
    return meter_cover_window(meter, &cover, begin_ns, end_ns);
}

/* Returns the energy of a sum since the meter opened, from the session's board. */
static struct window client_energy(joule_meter *meter, int32_t domain)
{
    pthread_mutex_lock(&meter->lock);
    struct window w = session_energy(meter->session, domain, meter->begin_ns, meter->client_base_joules);
    pthread_mutex_unlock(&meter->lock);
    return w;
}

struct window meter_energy(joule_meter *meter, int32_t domain)
{
    if (meter->is_client)
        return client_energy(meter, domain);
    struct cover cover;
    meter_cover(meter, domain, meter->begin_ns, meter_now_ns(meter), &cover);
    return meter_cover_window(meter, &cover, meter->begin_ns, METER_LAST_TICK);
}

/* Returns true if the channel's energy has increased since the meter opened. */
static bool has_risen(const struct meter_channel *mc)
{
    pthread_mutex_lock(&mc->lane->lock);
    bool moved = mc->channel->moved;
    pthread_mutex_unlock(&mc->lane->lock);
    return moved;
}

/* Returns true if the channel mirrors another channel. */
static bool repeats_another(const struct meter_channel *mc)
{
    pthread_mutex_lock(&mc->lane->lock);
    bool repeats = mc->channel->mirror.of != NULL;
    pthread_mutex_unlock(&mc->lane->lock);
    return repeats;
}

/* Returns true if channel i is the best-ranked view of its zone among those whose energy has increased. */
static bool is_best_part(joule_meter *meter, size_t i, size_t count)
{
    const struct channel *ch = meter->channels[i].channel;
    if (ch->mode == CHANNEL_GAUGE || !has_risen(&meter->channels[i]) || repeats_another(&meter->channels[i]))
        return false;
    for (size_t k = 0; k < count; k++) {
        const struct channel *other = meter->channels[k].channel;
        if (k != i && strcmp(other->zone, ch->zone) == 0 &&
            (other->rank < ch->rank || (other->rank == ch->rank && k < i)) && has_risen(&meter->channels[k]))
            return false;
    }
    return true;
}

struct window meter_rest_window(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                                size_t *out_parts)
{
    struct window rest = meter_channel_window(meter, domain, begin_ns, end_ns);
    const char *zone = meter->channels[domain].channel->zone;
    size_t count = meter_channel_count(meter);
    *out_parts = 0;
    for (size_t i = 0; i < count && zone[0]; i++) {
        if (strcmp(meter->channels[i].channel->parent_zone, zone) != 0 || !is_best_part(meter, i, count))
            continue;
        struct window part = meter_channel_window(meter, (int32_t)i, begin_ns, end_ns);
        rest.joules = estimate_add(rest.joules, -1, &part.joules);
        rest.covered_s = fmin(rest.covered_s, part.covered_s);
        rest.is_final = rest.is_final && part.is_final;
        ++*out_parts;
    }
    if (*out_parts == 0)
        rest.joules = estimate_unknown();
    return rest;
}

int64_t meter_cover_horizon_ns(joule_meter *meter, const struct cover *cover)
{
    int64_t horizon_ns = cover->count ? INT64_MAX : 0;
    for (size_t i = 0; i < cover->count; i++) {
        const struct meter_channel *mc = &meter->channels[cover->ids[i]];
        pthread_mutex_lock(&mc->lane->lock);
        int64_t last_ns = curve_last_ns(&mc->channel->curve);
        pthread_mutex_unlock(&mc->lane->lock);
        if (last_ns < horizon_ns)
            horizon_ns = last_ns;
    }
    return horizon_ns;
}

void meter_cover_name(joule_meter *meter, const struct cover *cover, char *out_name, size_t size)
{
    struct text text;
    text_init(&text, out_name, size);
    for (size_t i = 0; i < cover->count; i++) {
        text_add(&text, i ? " + " : "");
        text_add(&text, meter->channels[cover->ids[i]].channel->info.name);
    }
    if (cover->is_partial)
        text_add(&text, cover->count ? " (partial)" : "nothing readable");
}
