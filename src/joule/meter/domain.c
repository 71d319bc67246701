/* joule/meter/domain.c - describes one domain: its state, its newest value and the times of its readings.
 *
 * This file defines when a domain is stale (not read any more) or frozen (read, but the value stands
 * still).
 */
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "base/string.h"
#include "joule/meter/engine.h"
#include "joule/session/session.h"

#define POWER_SPAN_S  0.05 /* minimum time over which the current power is averaged */
#define FROZEN_S      2.0  /* time without a step after which a counter is frozen */
#define MIN_WATTS     0.1  /* lowest power of a device with a counter: idle memory */
#define STALE_PERIODS 3    /* a value is stale after this many periods without a reading */
#define STALE_FLOOR_S 1.0  /* minimum age of a stale value in seconds */

/* --- state ---------------------------------------------------------------------------------------------- */

bool meter_is_stale(joule_meter *meter, const struct lane *lane, double update_period_s, int64_t read_ns)
{
    double pace_s = fmax((double)lane->period_ns * 1e-9, update_period_s);
    double limit_s = fmax(STALE_FLOOR_S, STALE_PERIODS * pace_s);
    return read_ns && (double)(meter_now_ns(meter) - read_ns) * 1e-9 > limit_s;
}

/* Returns true for a counter that stands still although its device uses at least MIN_WATTS. */
static bool is_frozen_counter(const struct channel *ch)
{
    double timeout_s = FROZEN_S + ch->counter.grain_joules / MIN_WATTS;
    return ch->mode == CHANNEL_COUNTER && counter_is_frozen(&ch->counter, timeout_s);
}

/* Changes the state JOULE_OK of a domain to JOULE_STALE if its last reading is too old, or to
 * JOULE_UNSUPPORTED if its counter is frozen. Sets the remedy of the new state. */
static void settle_state(joule_domain *domain, bool is_old, bool is_frozen)
{
    if (domain->state != JOULE_OK)
        return;
    domain->remedy[0] = '\0'; /* the source's remedy applies only to a domain that cannot be read */
    if (is_old) {
        domain->state = JOULE_STALE;
    } else if (is_frozen) {
        domain->state = JOULE_UNSUPPORTED;
        string_copy(domain->remedy, sizeof domain->remedy,
                    "the counter stands still: firmware or hypervisor does not update it");
    }
}

bool meter_is_gauge(joule_meter *meter, int32_t domain)
{
    return meter->channels[domain].channel->mode == CHANNEL_GAUGE;
}

void meter_describe_domain(joule_meter *meter, size_t index, const struct cover *total,
                           joule_domain *out_domain)
{
    const struct meter_channel *mc = &meter->channels[index];
    pthread_mutex_lock(&mc->lane->lock);
    *out_domain = mc->channel->info;
    int64_t read_ns = mc->channel->read_ns;
    bool is_frozen = is_frozen_counter(mc->channel);
    pthread_mutex_unlock(&mc->lane->lock);
    out_domain->parent = -1;
    settle_state(out_domain, meter_is_stale(meter, mc->lane, mc->channel->info.update_period_s, read_ns),
                 is_frozen);
    out_domain->in_total = 0;
    for (size_t i = 0; i < total->count; i++)
        out_domain->in_total |= total->ids[i] == (int32_t)index;
    const char *hidden_by = atomic_load(&mc->hidden_by);
    if (hidden_by && out_domain->state == JOULE_OK && !meter_is_gauge(meter, (int32_t)index))
        string_print(out_domain->remedy, sizeof out_domain->remedy,
                     "%s hides this GPU from programs, so totals exclude it", hidden_by);
}

bool meter_has_energy(joule_meter *meter, int32_t domain)
{
    return domain < 0 ? domain >= JOULE_GPU
                      : (size_t)domain < meter_channel_count(meter) && !meter_is_gauge(meter, domain);
}

/* --- newest values -------------------------------------------------------------------------------------- */

/* Returns the last reading of a power sensor, in watts; unknown for other channels. Used until the curve has
 * two points, because a slow sensor has its second reading only after seconds. */
static struct estimate first_power(const struct channel *ch)
{
    if (ch->mode != CHANNEL_POWER || ch->readings == 0 || ch->info.state != JOULE_OK)
        return estimate_unknown();
    return estimate_make(ch->gauge, ch->info.cls, 0, ch->cause, ch->gain_sd * ch->gauge);
}

struct estimate meter_channel_power(joule_meter *meter, int32_t id, bool *is_old)
{
    const struct meter_channel *mc = &meter->channels[id];
    pthread_mutex_lock(&mc->lane->lock);
    struct curve_traits traits = meter_channel_traits(mc->channel);
    struct estimate watts = curve_power(&mc->channel->curve, &traits, POWER_SPAN_S);
    if (isnan(watts.value))
        watts = first_power(mc->channel);
    int64_t read_ns = mc->channel->read_ns;
    bool is_frozen = is_frozen_counter(mc->channel);
    pthread_mutex_unlock(&mc->lane->lock);
    *is_old =
        *is_old || is_frozen || meter_is_stale(meter, mc->lane, mc->channel->info.update_period_s, read_ns);
    return watts;
}

joule_status meter_gauge(joule_meter *meter, int32_t domain, double *out_value)
{
    const struct meter_channel *mc = &meter->channels[domain];
    *out_value = NAN;
    pthread_mutex_lock(&mc->lane->lock);
    double value = mc->channel->gauge;
    int64_t read_ns = mc->channel->read_ns;
    joule_status status = mc->channel->info.state;
    pthread_mutex_unlock(&mc->lane->lock);
    if (status == JOULE_OK && read_ns == 0)
        status = JOULE_PENDING;
    if (status == JOULE_OK && meter_is_stale(meter, mc->lane, mc->channel->info.update_period_s, read_ns))
        status = JOULE_STALE;
    if (status == JOULE_OK)
        *out_value = value;
    return status;
}

double meter_hottest_celsius(joule_meter *meter)
{
    double hottest = NAN;
    for (size_t i = 0; i < meter_channel_count(meter); i++) {
        double celsius;
        if (meter->channels[i].channel->info.reading == JOULE_READING_TEMPERATURE &&
            meter_gauge(meter, (int32_t)i, &celsius) == JOULE_OK && !(celsius <= hottest))
            hottest = celsius;
    }
    return hottest;
}

/* --- times of readings ---------------------------------------------------------------------------------- */

/* Like curve_ticks, for one channel. Takes the lock of the channel's lane. */
static size_t channel_ticks(joule_meter *meter, int32_t id, int64_t after_ns, int64_t last_ns,
                            int64_t *out_ticks_ns, size_t capacity)
{
    const struct meter_channel *mc = &meter->channels[id];
    pthread_mutex_lock(&mc->lane->lock);
    size_t count = curve_ticks(&mc->channel->curve, after_ns, last_ns, out_ticks_ns, capacity);
    pthread_mutex_unlock(&mc->lane->lock);
    return count;
}

/* Returns the domain of a non-empty cover that ticks least often. */
static int32_t slowest_of(joule_meter *meter, const struct cover *cover, int64_t after_ns, int64_t last_ns)
{
    int32_t slowest = cover->ids[0];
    size_t fewest = SIZE_MAX;
    for (size_t i = 0; cover->count > 1 && i < cover->count; i++) {
        size_t count = channel_ticks(meter, cover->ids[i], after_ns, last_ns, NULL, 0);
        if (count < fewest) {
            slowest = cover->ids[i];
            fewest = count;
        }
    }
    return slowest;
}

size_t meter_ticks(joule_meter *meter, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                   size_t capacity)
{
    if (meter->is_client)
        return session_ticks(meter->session, domain, after_ns, out_ticks_ns, capacity);
    struct cover cover;
    meter_cover(meter, domain, after_ns, meter_now_ns(meter), &cover);
    if (cover.count == 0)
        return 0;
    int64_t last_ns = meter_cover_horizon_ns(meter, &cover);
    return channel_ticks(meter, slowest_of(meter, &cover, after_ns, last_ns), after_ns, last_ns, out_ticks_ns,
                         capacity);
}
