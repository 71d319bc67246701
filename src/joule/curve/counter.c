/* joule/curve/counter.c - see counter.h. */
#include "joule/curve/counter.h"

#include <math.h>
#include <stddef.h>

/* Stores a reading as the base of the next difference. */
static void prime(struct counter *c, int64_t time_ns, uint64_t raw)
{
    c->primed = true;
    c->last_raw = raw;
    c->last_ns = time_ns;
}

/* Returns the number of counts in which the register wraps once, or 0 if it never wraps. A larger step may
 * have lost counts. */
static uint64_t range_of(const struct counter *c)
{
    return c->fold_counts ? c->fold_counts : c->modulus;
}

/* Computes the counts since the last reading. Returns ADVANCED, SAME or WRAPPED, or the reason why the counts
 * are unknown, with *out_counts 0. */
static enum counter_verdict difference(const struct counter *c, uint64_t raw, uint64_t *out_counts)
{
    *out_counts = 0;
    if (c->modulus && (raw >= c->modulus || c->last_raw >= c->modulus))
        return COUNTER_IMPOSSIBLE;
    if (raw >= c->last_raw) {
        *out_counts = raw - c->last_raw;
        return *out_counts ? COUNTER_ADVANCED : COUNTER_SAME;
    }
    if (!c->modulus)
        return COUNTER_RESET;
    *out_counts = c->modulus - c->last_raw + raw;
    return COUNTER_WRAPPED;
}

double counter_resolution_joules(const struct counter *counter)
{
    return fmax(counter->unit_joules, counter->grain_joules);
}

/* Like difference(), but also rejects a step that is too large, or in which counts may have been lost. */
static enum counter_verdict judge(const struct counter *c, int64_t time_ns, uint64_t raw,
                                  uint64_t *out_counts)
{
    double elapsed_s = fmax(0, (double)(time_ns - c->last_ns) * 1e-9);
    *out_counts = 0;
    if (range_of(c) && elapsed_s * c->max_watts >= (double)range_of(c) * c->unit_joules)
        return COUNTER_AMBIGUOUS;
    enum counter_verdict verdict = difference(c, raw, out_counts);
    /* A step may include up to one tick of energy from before the last reading, and the counter rounds to its
     * resolution. */
    double limit_joules = c->max_watts * (elapsed_s + c->tick_s) + 2 * counter_resolution_joules(c);
    if ((double)*out_counts * c->unit_joules > limit_joules) {
        *out_counts = 0;
        return COUNTER_IMPOSSIBLE;
    }
    return verdict;
}

enum counter_verdict counter_step(struct counter *c, int64_t time_ns, uint64_t raw, double *out_joules)
{
    *out_joules = 0;
    if (!c->primed) {
        if (c->steps == 0 && c->moved_ns == 0)
            c->moved_ns = time_ns;
        prime(c, time_ns, raw);
        return COUNTER_FIRST;
    }
    uint64_t counts;
    enum counter_verdict verdict = judge(c, time_ns, raw, &counts);
    switch (verdict) {
    case COUNTER_WRAPPED:
        c->wraps++;
        /* fall through */
    case COUNTER_ADVANCED:
        c->steps++;
        c->total += counts;
        c->moved_ns = time_ns;
        *out_joules = (double)counts * c->unit_joules;
        break;
    case COUNTER_RESET:
        c->resets++;
        break;
    case COUNTER_IMPOSSIBLE:
    case COUNTER_AMBIGUOUS:
        c->rejected++;
        break;
    case COUNTER_FIRST:
    case COUNTER_SAME:
        break;
    }
    prime(c, time_ns, raw);
    return verdict;
}

bool counter_verdict_is_gap(enum counter_verdict verdict)
{
    return verdict == COUNTER_RESET || verdict == COUNTER_IMPOSSIBLE || verdict == COUNTER_AMBIGUOUS;
}

bool counter_is_frozen(const struct counter *c, double patience_s)
{
    return c->primed && (double)(c->last_ns - c->moved_ns) * 1e-9 >= patience_s;
}

double counter_max_interval_s(const struct counter *c)
{
    if (!range_of(c) || !(c->max_watts > 0))
        return 10;
    return fmin(10, 0.25 * (double)range_of(c) * c->unit_joules / c->max_watts);
}
