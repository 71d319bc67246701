/* support/truth.h - the power that a simulated machine really used, moment by moment.
 *
 * Owns families of random loads and the energy that the last one made had used up to any time.
 * Newcomers: there is one truth at a time, from time 0 of its trial on.
 */
#ifndef TEST_TRUTH_H
#define TEST_TRUTH_H

enum trial_load {
    LOAD_STEADY,
    LOAD_NOISY,     /* changes every millisecond */
    LOAD_WANDERING, /* forgets its level in 50 ms to 10 s */
    LOAD_SQUARE,    /* periods of 20 ms to 4 s */
    LOAD_BURSTS,    /* on and off for random times of 20 ms to 2 s on average */
    LOAD_RAMP,
    LOAD_COUNT,
};
extern const char *const trial_load_names[LOAD_COUNT];

/* A load of span_s with a mean of about level_watts. */
void truth_make(enum trial_load load, double span_s, double level_watts);
/* Idling, and a job on top of it; *out_idle_joules: what idling used during the job. */
void truth_make_job(double begin_s, double end_s, double span_s, double level_watts, double *out_idle_joules);
double truth_joules_at(double time_s);

#endif
