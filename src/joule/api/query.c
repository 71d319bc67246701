/* joule/api/query.c - the public queries of <joule/meter.h>: domains, energy, power, gauges.
 *
 * Values come from covers and curves. This file defines the states of answers: stale, frozen, pending.
 * Note: every query takes NULL for the default meter, and rejects a meter from before fork.
 */
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/string.h"
#include "joule/abi.h"
#include "joule/collector/collector.h"
#include "joule/meter/engine.h"
#include "joule/session/session.h"

#define POWER_SPAN_S        0.05
#define FROZEN_S            2.0
#define MIN_WATTS           0.1 /* lowest power of a device with a counter: idle memory */
#define STALE_PERIODS       3
#define STALE_FLOOR_S       1.0
#define FIRST_POWER_NS      (500 * NS_PER_S / 1000) /* counted from when the meter began to open */
#define FIRST_POWER_STEP_NS 5000000

joule_status meter_take(joule_meter **meter)
{
    *meter = meter_or_default(*meter);
    if (!*meter) /* the default meter could not be opened */
        return JOULE_FAILED;
    return (*meter)->pid == getpid() ? JOULE_OK : JOULE_STALE;
}

size_t joule_domain_count(joule_meter *meter)
{
    return meter_take(&meter) == JOULE_OK ? meter_channel_count(meter) : 0;
}

/* Returns the domain id of a channel's parent zone; -1: none. */
static int32_t parent_of(joule_meter *meter, const struct channel *ch)
{
    for (size_t i = 0; ch->parent_zone[0] && i < meter_channel_count(meter); i++)
        if (strcmp(meter->channels[i].channel->zone, ch->parent_zone) == 0)
            return (int32_t)i;
    return -1;
}

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

/* Sets the state that callers see, and its remedy. */
static void settle_state(joule_domain *domain, bool is_old, bool is_frozen)
{
    if (domain->state != JOULE_OK)
        return;
    domain->remedy[0] = '\0'; /* the source's remedy is for a domain that cannot be read */
    if (is_old) {
        domain->state = JOULE_STALE;
    } else if (is_frozen) {
        domain->state = JOULE_UNSUPPORTED;
        string_copy(domain->remedy, sizeof domain->remedy,
                    "the counter stands still: firmware or hypervisor does not update it");
    }
}

static bool is_gauge(joule_meter *meter, int32_t domain)
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
    if (hidden_by && out_domain->state == JOULE_OK && !is_gauge(meter, (int32_t)index))
        string_print(out_domain->remedy, sizeof out_domain->remedy,
                     "%s hides it from programs, so it is in no total", hidden_by);
}

joule_status joule_domain_get(joule_meter *meter, size_t index, joule_domain *out_domain)
{
    if (!abi_has_room(out_domain, DOMAIN_SIZE_1))
        return JOULE_INVALID;
    joule_status status = meter_take(&meter);
    if (status != JOULE_OK)
        return status;
    if (index >= meter_channel_count(meter))
        return JOULE_INVALID;
    struct cover total;
    joule_domain domain;
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter), &total);
    meter_describe_domain(meter, index, &total, &domain);
    domain.parent = parent_of(meter, meter->channels[index].channel);
    abi_write(out_domain, &domain, sizeof domain);
    return JOULE_OK;
}

joule_status joule_sample_now(joule_meter *meter)
{
    joule_status status = meter_take(&meter);
    if (status == JOULE_OK && !meter->is_client) {
        lane_read(meter->lanes[0]);
        meter_after_read(meter, meter->lanes[0]);
    }
    return status;
}

bool meter_has_energy(joule_meter *meter, int32_t domain)
{
    return domain < 0 ? domain >= JOULE_GPU
                      : (size_t)domain < meter_channel_count(meter) && !is_gauge(meter, domain);
}

/* Begins a query of a domain's energy or power: sets *out_answer to unknown, resolves *meter, and checks the
 * arguments. */
static joule_status begin_query(joule_meter **meter, int32_t domain, joule_quantity *out_answer)
{
    if (!out_answer)
        return JOULE_INVALID;
    *out_answer = quantity_unknown();
    joule_status status = meter_take(meter);
    return status == JOULE_OK && !meter_has_energy(*meter, domain) ? JOULE_INVALID : status;
}

joule_status joule_energy_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules)
{
    joule_status status = begin_query(&meter, domain, out_joules);
    if (status != JOULE_OK)
        return status;
    struct window w = meter_energy(meter, domain);
    *out_joules = estimate_quantity(&w.joules);
    return isnan(out_joules->value) ? meter_why_unknown(meter, domain) : JOULE_OK;
}

/* Returns true if all sensors that cover `domain` have ticked at or after time_ns. False if no sensor covers
 * it. */
static bool have_ticked_past(joule_meter *meter, int32_t domain, int64_t time_ns)
{
    struct cover cover;
    if (meter->is_client)
        return false;
    meter_cover(meter, domain, meter->begin_ns, meter_now_ns(meter), &cover);
    return cover.count && meter_cover_horizon_ns(meter, &cover) >= time_ns;
}

joule_status joule_window_joules(joule_meter *meter, int32_t domain, int64_t begin_ns, int64_t end_ns,
                                 joule_quantity *out_joules, double *out_coverage)
{
    if (out_coverage)
        *out_coverage = 0;
    joule_status status = begin_query(&meter, domain, out_joules);
    if (status != JOULE_OK)
        return status;
    if (end_ns < begin_ns || begin_ns < meter->begin_ns || end_ns > meter_now_ns(meter))
        return JOULE_INVALID;
    struct window w = meter_window(meter, domain, begin_ns, end_ns);
    *out_joules = estimate_quantity(&w.joules);
    if (out_coverage && w.length_s > 0)
        *out_coverage = fmin(1, fmax(0, w.covered_s / w.length_s));
    if (!isnan(out_joules->value))
        return w.is_final ? JOULE_OK : JOULE_PENDING;
    status = meter_why_unknown(meter, domain);
    return status == JOULE_PENDING && (w.is_final || have_ticked_past(meter, domain, end_ns)) ? JOULE_ABSENT
                                                                                              : status;
}

/* Like curve_ticks, for one channel under its lane's lock. */
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

size_t joule_ticks(joule_meter *meter, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                   size_t capacity)
{
    if (meter_take(&meter) != JOULE_OK || !meter_has_energy(meter, domain))
        return 0;
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

joule_status joule_rest_joules(joule_meter *meter, int32_t domain, joule_quantity *out_joules)
{
    joule_status status = begin_query(&meter, domain, out_joules);
    if (status != JOULE_OK)
        return status;
    if (domain < 0) /* sums have no parts */
        return JOULE_INVALID;
    size_t parts;
    struct window w = meter_rest_window(meter, domain, meter->begin_ns, meter_now_ns(meter), &parts);
    *out_joules = estimate_quantity(&w.joules);
    if (parts == 0)
        return JOULE_ABSENT;
    return isnan(out_joules->value) ? meter_why_unknown(meter, domain) : JOULE_OK;
}

/* Returns the first reading of a power sensor, in watts. A slow sensor gives its second reading only after
 * seconds. Unknown for other channels. */
static struct estimate first_power(const struct channel *ch)
{
    if (ch->mode != CHANNEL_POWER || ch->readings == 0 || ch->info.state != JOULE_OK)
        return estimate_unknown();
    return estimate_make(ch->gauge, ch->info.cls, 0, ch->cause, ch->gain_sd * ch->gauge);
}

/* Returns a channel's power in watts. Sets *is_old if its last reading is too old to be the current power,
 * and else leaves *is_old unchanged. */
static struct estimate channel_power(joule_meter *meter, int32_t id, bool *is_old)
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

#define CLIENT_SPAN_S 0.5 /* spans a few readings of the parent */

/* Returns the mean power over the last CLIENT_SPAN_S from the measuring parent's board. PENDING: no ticks
 * yet. */
static joule_status client_power(joule_meter *meter, int32_t domain, joule_quantity *out_watts)
{
    int64_t now_ns = meter_now_ns(meter), first_ns;
    if (session_ticks(meter->session, domain, now_ns - (int64_t)(CLIENT_SPAN_S * 1e9), &first_ns, 1) == 0)
        return JOULE_PENDING;
    struct window w = meter_window(meter, domain, first_ns, now_ns);
    if (!(w.covered_s > 0))
        return JOULE_PENDING;
    struct estimate watts = estimate_scale(w.joules, 1 / w.covered_s);
    *out_watts = estimate_quantity(&watts);
    return JOULE_OK;
}

joule_status joule_power_watts(joule_meter *meter, int32_t domain, joule_quantity *out_watts)
{
    joule_status status = begin_query(&meter, domain, out_watts);
    if (status != JOULE_OK)
        return status;
    if (meter->is_client)
        return client_power(meter, domain, out_watts);
    struct cover cover;
    meter_cover(meter, domain, meter->begin_ns, meter_now_ns(meter), &cover);
    struct estimate sum = cover.count ? estimate_zero() : estimate_unknown();
    bool is_old = false;
    for (size_t i = 0; i < cover.count; i++) {
        struct estimate watts = channel_power(meter, cover.ids[i], &is_old);
        sum = estimate_add(sum, 1, &watts);
    }
    if (isnan(sum.value))
        return meter_why_unknown(meter, domain);
    if (is_old)
        return JOULE_STALE;
    *out_watts = estimate_quantity(&sum);
    return JOULE_OK;
}

joule_status joule_gauge(joule_meter *meter, int32_t domain, double *out_value)
{
    if (!out_value)
        return JOULE_INVALID;
    *out_value = NAN;
    joule_status status = meter_take(&meter);
    if (status != JOULE_OK)
        return status;
    if (domain < 0 || (size_t)domain >= meter_channel_count(meter) || !is_gauge(meter, domain))
        return JOULE_INVALID;
    const struct meter_channel *mc = &meter->channels[domain];
    pthread_mutex_lock(&mc->lane->lock);
    double value = mc->channel->gauge;
    int64_t read_ns = mc->channel->read_ns;
    status = mc->channel->info.state;
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
            joule_gauge(meter, (int32_t)i, &celsius) == JOULE_OK && !(celsius <= hottest))
            hottest = celsius;
    }
    return hottest;
}

/* Note: power needs two readings, and opening a meter takes only one. So this function waits for the second
 * reading if the meter was just opened. */
double joule_current_power_watts(void)
{
    joule_quantity watts;
    joule_status status;
    joule_meter *meter = meter_or_default(NULL);
    while ((status = joule_power_watts(meter, JOULE_TOTAL, &watts)) == JOULE_PENDING &&
           meter_now_ns(meter) < meter->begin_ns + FIRST_POWER_NS)
        nanosleep(&(struct timespec){.tv_nsec = FIRST_POWER_STEP_NS}, NULL);
    return status == JOULE_OK ? watts.value : NAN;
}
