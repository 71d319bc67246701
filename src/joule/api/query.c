/* joule/api/query.c - the public queries of <joule/meter.h>: domains, energy, power, gauges.
 *
 * Note: every query takes NULL for the default meter, and rejects a meter from before fork (meter_take).
 */
#include <math.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "joule/struct_sizes.h"
#include "joule/api/open.h"
#include "joule/curve/estimate.h"
#include "joule/session/session.h"

#define FIRST_POWER_NS      (500 * NS_PER_S / 1000) /* counted from when the meter began to open */
#define FIRST_POWER_STEP_NS 5000000

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

size_t joule_ticks(joule_meter *meter, int32_t domain, int64_t after_ns, int64_t *out_ticks_ns,
                   size_t capacity)
{
    if (meter_take(&meter) != JOULE_OK || !meter_has_energy(meter, domain))
        return 0;
    return meter_ticks(meter, domain, after_ns, out_ticks_ns, capacity);
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
        struct estimate watts = meter_channel_power(meter, cover.ids[i], &is_old);
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
    if (domain < 0 || (size_t)domain >= meter_channel_count(meter) || !meter_is_gauge(meter, domain))
        return JOULE_INVALID;
    return meter_gauge(meter, domain, out_value);
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
