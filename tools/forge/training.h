/* tools/forge/training.h - runs a training from its options to its report.
 *
 * Note: several runs of the program may contribute to one training. Its energy is the energy of all runs.
 * Epochs and operations are those of this run only.
 */
#ifndef FORGE_TRAINING_H
#define FORGE_TRAINING_H

#include <forge/energy.h>
#include <joule/meter.h>
#include <stdbool.h>
#include "base/string.h"
#include "nan_trace.h"
#include "spent_energy.h"
#include "trainee.h"

struct training_options {
    struct trainee_options trainee;
    const char *checkpoint, *json, *html; /* NULL: none */
    bool resumes;
    double budget_joules; /* 0: none */
    unsigned sample;      /* tokens of text to write at the end; 0: none */
    double temperature;   /* temperature at which the sample is drawn */
};

/* The result of one epoch in this run. */
struct epoch {
    uint64_t number; /* number of the epoch, from 1 */
    uint64_t steps;
    double loss;  /* loss at the end of the epoch, smoothed over about 50 steps */
    double score; /* quality by the task's measure; NaN: not tested, because the epoch was not finished */
    int64_t begin_ns, end_ns;
    joule_quantity energy_before, energy; /* joules of this run before the epoch; joules of the epoch */
};

/* Why a training ended. TRAINING_ESTIMATED: the device only estimates, so nothing was trained. */
enum training_end { TRAINING_DONE, TRAINING_INTERRUPTED, TRAINING_OVER_BUDGET, TRAINING_ESTIMATED };

struct training {
    struct training_options options;
    struct trainee trainee;
    joule_meter *meter;
    bool is_resumed;
    uint64_t first_step;
    struct spent_energy spent;
    bool has_before;                /* joules of earlier runs are counted */
    joule_quantity energy_before;   /* joules of the earlier runs */
    double after_checkpoint_joules; /* part of energy_before that was spent after the checkpoint */
    joule_quantity energy;          /* joules of all runs, at the end */
    forge_energy_sum sum;           /* joules of this run, at the end */
    double begin_joules;            /* joules of this run before its first step */
    struct epoch *epochs;
    size_t epoch_count, epoch_capacity;
    double loss; /* smoothed loss; NaN: before the first step */
    enum training_end end;
    char *sample; /* NULL: none */
    int64_t begin_ns;
    int64_t shown_ns, checked_ns; /* when the progress line was last drawn, and the budget last checked */
    struct nan_trace nan_trace;
    bool is_live;        /* stderr is a terminal */
    bool is_warned;      /* the user was warned that the budget is nearly used */
    bool has_complained; /* the user was told that CHECKPOINT.joules cannot be written */
};

/* Trains and reports. Returns the exit code, after messages. */
int training_run(const struct training_options *options);
/* Prints the object that docs/forge-train.schema.json describes. context: a struct training. */
void training_json(const void *context, struct text *out);

#endif
