/* support/trial.h - a machine of known energy behind a real source, in virtual time.
 *
 * Owns the hardware between load and file (ticks, windows, units, an error of scale), and the scripted hosts
 * on which the library's own sources open. Each trial is another stretch of virtual time with another load.
 * Newcomers: how the hardware works is written down in trial.c, what the library believes of it is what its source
 * declares: nothing is handed from one to the other.
 */
#ifndef TEST_TRIAL_H
#define TEST_TRIAL_H

#include "joule/meter/engine.h"
#include "support/truth.h"

struct trial; /* one sensor behind its source, opened once */
/* One of the sensors that trial.c lists, by name. */
struct trial *trial_open(const char *name);
void trial_close(struct trial *trial);

/* Windows with a reading at either edge, as `joule run` takes them, or wherever they fall. */
struct trial_plan {
    double window_s;
    bool is_asked;
};

/* What one trial says: the estimate and the truth. */
struct trial_outcome {
    struct estimate joules;
    double truth;
    double gain; /* of this machine's sensor: what it shows over the truth */
};

struct trial_outcome trial_run(struct trial *trial, enum trial_load load, const struct trial_plan *plan);

/* A job that ran among others on a machine that idles at some power before it, as `joule run` reports it. */
struct trial_job {
    joule_quantity net, command;
    double net_truth, command_truth;
};

struct trial_job trial_job(struct trial *trial, double job_s);

#endif
