/* infer/engine/power_limit.h - keeps the mean power over any second below a limit, by waits before steps and
 * by smaller steps.
 *
 * The joules of a step follow from measured steps. They are assumed to be a + b * rows + c * FLOP + d *
 * bytes, with unknown factors that are not negative. So a step uses at most `ratio` times the joules of a
 * measured step, if no part of its size is more than `ratio` times that of the measured step, and `ratio` is
 * at least 1. */
#ifndef FORGE_INFER_POWER_LIMIT_H
#define FORGE_INFER_POWER_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POWER_SAMPLES = 256, POWER_STEPS = 17 };

/* A reading of the energy. */
struct power_sample {
    int64_t time_ns;
    double joules;   /* of a source; never decrease */
    bool has_merged; /* there were further readings since the sample before */
};

/* The parts of the size of a step, in any units: its rows, and FLOP and bytes of the cache that they need. */
enum size_part { SIZE_ROWS, SIZE_FLOP, SIZE_CACHE, SIZE_PARTS };
struct step_size {
    double parts[SIZE_PARTS];
};

/* Means of measured steps with a similar number of rows; all 0: no such step. */
struct power_step {
    struct step_size size;
    double joules;
};

/* Initialise with power_limit_open. */
struct power_limit {
    double max_watts;                           /* 0: no limit */
    double max_step_joules;                     /* limit for the expected joules of a step */
    struct power_sample samples[POWER_SAMPLES]; /* readings in the last second */
    unsigned first, count;
    struct power_step steps[POWER_STEPS]; /* [i]: steps with 2^i rows or more, and less than twice as many */
    double largest;                       /* rows of the largest measured step */
    /* The steps since the last reading: their number, the sum of their sizes, and their expected joules. */
    size_t new_steps;
    struct step_size new_size;
    double new_joules;
};

/* Begins without readings. max_watts: 0 means no limit. idle_watts: power without steps; NaN: unknown. */
void power_limit_open(struct power_limit *limit, double max_watts, double idle_watts);

/* Stores a reading. Replaces the last one if the one before that is less than 1/100 s older than the new
 * one. */
void power_limit_add(struct power_limit *limit, int64_t time_ns, double joules);
/* Records that a step of this size was computed. */
void power_limit_add_step(struct power_limit *limit, const struct step_size *size);
/* Records that all steps since the last call used `joules`. */
void power_limit_measure(struct power_limit *limit, double joules);

/* Returns the mean power of the last second before the last reading, in W; NaN: fewer than two
 * readings at different times. */
double power_limit_watts(const struct power_limit *limit);
/* Returns the joules that a step of this size uses at most, as far as it is known; NaN: no step was
 * measured. */
double power_limit_expect(const struct power_limit *limit, const struct step_size *size);
/* Returns true if a step of this size may be computed, after a wait: it uses less than a second may use, and
 * has at most four times the rows of a measured step. */
bool power_limit_allows(const struct power_limit *limit, const struct step_size *size);
/* Returns the time to wait before a step that is expected to use `joules`, in ns. The mean power of the
 * second that ends after the step then stays below the limit. A step that alone exceeds the limit waits a
 * second. */
int64_t power_limit_wait_ns(const struct power_limit *limit, double joules);

#endif
