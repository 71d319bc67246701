/* joule/curve/counter.h - a hardware counter made into one that never wraps, steps back or jumps.
 *
 * Owns the arithmetic of raw counter values: modulus, impossible steps, resets, counters that stand still. It
 * knows nothing of files or time beyond the stamps it is given.
 * Newcomers: a rejected step is reported and leaves a gap; it is never clamped to something plausible.
 */
#ifndef JOULE_COUNTER_H
#define JOULE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

enum counter_verdict {
    COUNTER_FIRST, /* the first reading, or the first after a gap: nothing to subtract from */
    COUNTER_ADVANCED,
    COUNTER_SAME,       /* no tick since the last reading */
    COUNTER_WRAPPED,    /* advanced across the modulus, once */
    COUNTER_RESET,      /* went back with no modulus to explain it: driver reload, suspend, other device */
    COUNTER_IMPOSSIBLE, /* the step is more than max_watts could have given */
    COUNTER_AMBIGUOUS,  /* so long since the last reading that whole wraps may be lost */
};

struct counter {
    /* set by the source */
    uint64_t modulus;     /* counts 0 .. modulus-1; 0: 64 bits or unknown, a step back is a reset */
    uint64_t fold_counts; /* a wider count made from a register: a larger step may have lost some; 0: none */
    double unit_joules;   /* joules per count */
    double grain_joules;  /* counts are shown rounded down to multiples of so much; 0: as they are */
    double max_watts;     /* physical limit of the domain, generous */
    double tick_s;        /* the hardware's update period: slack of one tick in the plausibility test */
    /* kept by counter_step */
    bool primed;
    uint64_t last_raw;
    int64_t last_ns;  /* of last_raw */
    int64_t moved_ns; /* when a step was last seen; first reading's stamp before */
    uint64_t total;   /* counts since the first reading, gaps left out */
    uint64_t steps, wraps, resets, rejected;
};

/* Takes the reading `raw` made at time_ns. *out_joules: the step's joules, 0 unless ADVANCED or WRAPPED. After
 * RESET, IMPOSSIBLE and AMBIGUOUS the reading becomes the new start. */
enum counter_verdict counter_step(struct counter *counter, int64_t time_ns, uint64_t raw, double *out_joules);

/* What two readings can differ by although nothing was used in between. */
double counter_resolution_joules(const struct counter *counter);

/* Whether the step that this verdict stands for is missing from the total. */
bool counter_verdict_is_gap(enum counter_verdict verdict);
const char *counter_verdict_name(enum counter_verdict verdict);

/* True when the counter has been read for at least `patience_s` since it last moved (or ever). */
bool counter_is_frozen(const struct counter *counter, double patience_s);

/* Longest time in seconds between two readings that cannot lose a wrap: a quarter of the time in which max_watts
 * fill the modulus or fold_counts, at most 10 s. */
double counter_keep_alive_s(const struct counter *counter);

#endif
