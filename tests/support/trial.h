/* support/trial.h - a machine of known energy behind a real source, in virtual time.
 *
 * Models the hardware between load and file (ticks, windows, units, scale error), and provides scripted hosts
 * on which the library's sources open. Each trial is a new period of virtual time with a new load. Note:
 * trial.c describes how the hardware works, and the source declares what the library assumes. They share no
 * values, so that wrong assumptions are found. */
#ifndef TEST_TRIAL_H
#define TEST_TRIAL_H

#include "joule/meter/engine.h"
#include "support/truth.h"

struct trial; /* one sensor behind its source, which is opened once */
/* Opens the sensor called `name` in the list of trial.c. */
struct trial *trial_open(const char *name);
void trial_close(struct trial *trial);

/* A window of about window_s seconds. If is_asked is true, there is a reading at each edge of the window, as
 * in `joule run`. Otherwise the window lies at any position between readings. */
struct trial_plan {
    double window_s;
    bool is_asked;
};

/* Result of one trial: the estimate and the truth. */
struct trial_outcome {
    struct estimate joules;
    double truth;
    double gain; /* the energy that the sensor shows, divided by the true energy */
};

struct trial_outcome trial_run(struct trial *trial, enum trial_load load, const struct trial_plan *plan);

/* A job beside other programs, as `joule run` reports it. Before the job, the machine idles at a known
 * power. */
struct trial_job {
    joule_quantity net, command;
    double net_truth, command_truth;
};

struct trial_job trial_job(struct trial *trial, double job_s);

#endif
