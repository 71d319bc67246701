/* support/trial.h - a machine of known energy behind a real source, in virtual time.
 *
 * Models hardware between load and file (ticks, windows, units, scale error) and provides scripted hosts on
 * which the library's sources open. Each trial is another period of virtual time with another load. Note:
 * trial.c describes how the hardware works, the source declares what the library assumes. The two share no
 * values, so that wrong assumptions show. */
#ifndef TEST_TRIAL_H
#define TEST_TRIAL_H

#include "joule/meter/engine.h"
#include "support/truth.h"

struct trial; /* one sensor behind its source, opened once */
/* Opens a sensor that trial.c lists, by name. */
struct trial *trial_open(const char *name);
void trial_close(struct trial *trial);

/* Windows with a reading at each edge, as `joule run` takes them, or at any position. */
struct trial_plan {
    double window_s;
    bool is_asked;
};

/* Result of one trial: the estimate and the truth. */
struct trial_outcome {
    struct estimate joules;
    double truth;
    double gain; /* ratio of shown to true energy for this machine's sensor */
};

struct trial_outcome trial_run(struct trial *trial, enum trial_load load, const struct trial_plan *plan);

/* A job among others, as `joule run` reports it. Before it, the machine idles at a known power. */
struct trial_job {
    joule_quantity net, command;
    double net_truth, command_truth;
};

struct trial_job trial_job(struct trial *trial, double job_s);

#endif
