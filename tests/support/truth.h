/* support/truth.h - the true power of a simulated machine over time.
 *
 * Generates random loads of several families, and returns the energy that the last load used up to any time.
 * Note: there is only one load at a time; it begins at time 0 of its trial. */
#ifndef TEST_TRUTH_H
#define TEST_TRUTH_H

enum trial_load {
    LOAD_STEADY,
    LOAD_NOISY,     /* changes every millisecond */
    LOAD_WANDERING, /* its level decorrelates within 50 ms to 10 s */
    LOAD_SQUARE,    /* periods of 20 ms to 4 s */
    LOAD_BURSTS,    /* on and off for random times; their mean is between 20 ms and 2 s */
    LOAD_RAMP,
    LOAD_COUNT,
};
extern const char *const trial_load_names[LOAD_COUNT];

/* Generates a load of span_s seconds with a mean of about level_watts. */
void truth_make(enum trial_load load, double span_s, double level_watts);
/* Generates idle power, and a job that adds its own power between begin_s and end_s. Sets *out_idle_joules to
 * the joules of the idle power during the job. */
void truth_make_job(double begin_s, double end_s, double span_s, double level_watts, double *out_idle_joules);
double truth_joules_at(double time_s);

#endif
