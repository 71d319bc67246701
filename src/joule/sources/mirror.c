/* joule/sources/mirror.c - see mirror.h. */
#include "joule/sources/mirror.h"

#include <math.h>
#include "joule/sources/source.h"

#define MIN_CHANGES      8 /* power changes that both counters must show */
#define MIN_CHANGE_RATIO 2 /* minimum of a change, as a multiple of the energy that a reading can hide */

static bool is_package(const struct channel *ch)
{
    return ch->mode == CHANNEL_COUNTER && ch->info.scope == JOULE_SCOPE_PACKAGE &&
           ch->info.cls < JOULE_CLASS_MODELLED;
}

static bool is_comparable(const struct counter *own, const struct counter *other)
{
    return own->unit_joules == other->unit_joules && own->modulus == other->modulus;
}

static struct mirror_sample sample_of(const struct counter *counter)
{
    return (struct mirror_sample){counter->total, counter->last_ns};
}

static double joules_since(const struct mirror_sample *start, const struct counter *counter)
{
    return (double)(counter->total - start->total) * counter->unit_joules;
}

static void begin(struct mirror *m, const struct counter *own, const struct counter *other, uint64_t breaks)
{
    m->own_start = m->own_last = sample_of(own);
    m->other_start = m->other_last = sample_of(other);
    m->breaks = breaks;
    m->last_watts = NAN;
}

static void rule_out(struct mirror *m)
{
    *m = (struct mirror){.candidate = m->candidate + 1};
}

/* Returns true if the two register counts differ by at most hidden_joules. Counts that the kernel accumulates
 * (fold_counts) may start at different times; for these, returns true without a comparison. */
static bool counts_agree(const struct counter *own, const struct counter *other, double hidden_joules)
{
    if (own->fold_counts)
        return true;
    uint64_t apart =
        own->last_raw > other->last_raw ? own->last_raw - other->last_raw : other->last_raw - own->last_raw;
    if (own->modulus && apart > own->modulus / 2)
        apart = own->modulus - apart;
    return (double)apart * own->unit_joules <= hidden_joules;
}

static void compare(struct mirror *m, const struct channel *own_channel, const struct channel *other_channel)
{
    const struct counter *own = &own_channel->counter, *other = &other_channel->counter;
    uint64_t breaks = own->resets + own->rejected + other->resets + other->rejected;
    if (own->last_ns == m->own_last.time_ns || other->last_ns == m->other_last.time_ns)
        return; /* one counter did not answer */
    if (m->own_last.time_ns == 0 || breaks != m->breaks) {
        begin(m, own, other, breaks);
        return;
    }
    double step_s = (double)(own->last_ns - m->own_last.time_ns) * 1e-9;
    double skew_s = fabs((double)(own->last_ns - other->last_ns)) * 1e-9;
    double own_joules = joules_since(&m->own_last, own), other_joules = joules_since(&m->other_last, other);
    double watts = fmax(own_joules, other_joules) / step_s;
    double hidden_joules = watts * (2 * own->tick_s + skew_s) + 2 * counter_resolution_joules(own);
    double apart_joules = fabs(joules_since(&m->own_start, own) - joules_since(&m->other_start, other));
    if (apart_joules > hidden_joules || !counts_agree(own, other, hidden_joules)) {
        rule_out(m);
        return;
    }
    m->changes += fabs(watts - m->last_watts) * step_s > MIN_CHANGE_RATIO * hidden_joules;
    m->own_last = sample_of(own);
    m->other_last = sample_of(other);
    m->last_watts = watts;
    if (m->changes >= MIN_CHANGES)
        m->of = other_channel;
}

void mirror_check(struct channel *const *channels, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct channel *own = channels[i];
        struct mirror *m = &own->mirror;
        if (!is_package(own))
            continue;
        while (m->candidate < i && (!is_package(channels[m->candidate]) ||
                                    !is_comparable(&own->counter, &channels[m->candidate]->counter)))
            rule_out(m);
        if (m->candidate < i && own->counter.primed && channels[m->candidate]->counter.primed)
            compare(m, own, channels[m->candidate]);
    }
}
