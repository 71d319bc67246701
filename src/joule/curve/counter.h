/* joule/curve/counter.h - converts raw readings of a hardware counter to energy steps, and detects wraps,
 * resets and impossible steps.
 *
 * The functions also detect counters that stand still. Callers pass readings and times; no function here
 * reads a file or a clock.
 * Note: a rejected step is reported and leaves a gap; it is never clamped to a plausible value.
 */
#ifndef JOULE_COUNTER_H
#define JOULE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* The meaning of a reading, compared with the reading before it. */
enum counter_verdict {
    COUNTER_FIRST, /* the first reading, or the first after a gap: no difference can be computed */
    COUNTER_ADVANCED,
    COUNTER_SAME,    /* no tick since the last reading */
    COUNTER_WRAPPED, /* advanced past the modulus, once */
    /* the count decreased and has no modulus, for example after a driver reload or a suspend */
    COUNTER_RESET,
    COUNTER_IMPOSSIBLE, /* the step is larger than max_watts allows */
    /* the time since the last reading is so long that the counter may have wrapped several times */
    COUNTER_AMBIGUOUS,
};

/* A counter. Initialise it with zeros, then set the members that belong to the source. */
struct counter {
    /* set by the source */
    /* the count runs from 0 to modulus - 1; 0 means 64 bits or unknown, and a decrease is then a reset */
    uint64_t modulus;
    /* the driver counts the wraps of a hardware register with this many values, and may miss a wrap in a
     * larger step; 0: no such register */
    uint64_t fold_counts;
    double unit_joules;  /* joules per count */
    double grain_joules; /* the counter rounds down to multiples of this many joules; 0: no rounding */
    double max_watts;    /* safe upper limit of the domain's power */
    /* the hardware's update period; a plausible step may contain the energy of one tick more */
    double tick_s;
    /* updated by counter_step */
    bool primed;
    uint64_t last_raw;
    int64_t last_ns;  /* time of last_raw */
    int64_t moved_ns; /* time of the last step; before the first step, time of the first reading */
    uint64_t total;   /* counts since the first reading, without gaps */
    uint64_t steps, wraps, resets, rejected;
};

/* Processes the reading `raw` made at time_ns. *out_joules: energy of the step; 0 unless ADVANCED or WRAPPED.
 * After RESET, IMPOSSIBLE and AMBIGUOUS, counting restarts at this reading. */
enum counter_verdict counter_step(struct counter *counter, int64_t time_ns, uint64_t raw, double *out_joules);

/* Returns the joules by which two readings can differ although no energy was used. */
double counter_resolution_joules(const struct counter *counter);

/* Returns true if the energy of a step with this verdict is missing in the total. */
bool counter_verdict_is_gap(enum counter_verdict verdict);

/* Returns true if the last step was at least patience_s seconds before the last reading. If the counter has
 * made no step, the time of the first reading is used instead. */
bool counter_is_frozen(const struct counter *counter, double patience_s);

/* Returns the maximum time in seconds between two readings: a quarter of the time in which a power of
 * max_watts fills the range of the counter (modulus or fold_counts), at most 10 s. */
double counter_max_interval_s(const struct counter *counter);

#endif
