/* tools/joule/measurement.h - the measurement of `joule run`: meter, session, budget and report.
 *
 * This code does not depend on signals or processes.
 *
 * Note: sensors update late, so the energy of a run is unknown when the run ends. It is computed, and the run
 * is closed, when the next run has ended, or in measurement_finish.
 */
#ifndef JOULE_MEASUREMENT_H
#define JOULE_MEASUREMENT_H

#include <joule/joule.h>
#include "idle.h"
#include "joule/attribute/attribute.h"
#include "joule/attribute/idle_baseline.h"
#include "joule/cost/cost.h"
#include "joule/report/report.h"

struct measurement_options {
    double period_s;
    const char *sources;  /* see joule_options; NULL: all */
    const char *root;     /* folder of a recorded machine; NULL: this machine */
    double budget_joules; /* 0: none */
    /* a record is written, so sources of gauges are opened, and the last tick of models is awaited */
    bool is_recorded;
    bool reads_state; /* temperatures and the state of devices are read, too; default: energy only */
    bool uses_idle;   /* load a stored baseline if `idle` is unknown */
    struct idle_baseline idle;
};

struct measured_run {
    int64_t begin_ns, end_ns;
    struct attribution share;
    struct estimate total, command; /* joules; unknown until the run is closed */
    double coverage;                /* share of the run's time that the sensors of `total` covered, 0 to 1 */
    bool is_modelled;               /* no sensor measured `total` */
};

struct measurement {
    joule_meter *meter;
    bool is_recorded; /* see measurement_options */
    bool has_session;
    joule_error session_error; /* reason if has_session is false */
    int64_t open_ns;           /* when measurement_open was called */
    bool watches;              /* measurement_watch was called */
    struct idle_baseline idle;
    bool seeks_idle; /* a stored baseline must be loaded when the cover is known */
    struct measured_run *runs;
    size_t run_count, closed_count;
    struct cost_cpu cpu;           /* models the command's energy if there is no sensor */
    bool has_cpu;                  /* `cpu` is valid */
    double budget_joules;          /* 0: none */
    double overshoot_bound_joules; /* joules that can be used before an exceeded budget is noticed */
    double noticed_joules;         /* joules used when the exceeded budget was noticed; NaN: not exceeded */
    bool is_over;                  /* the best estimate exceeds the budget; set by measurement_report */
    joule_budget *budget;          /* budget over the machine's joules */
    double period_s;
    double waited_s;           /* seconds waited for slow sources after the last run */
    const char *waited_for;    /* the last source waited for; NULL: none */
    double begin_cpu_s, cpu_s; /* CPU time of this process: at the start of the first run, and since then */
};

/* Creates the session, passes its name to the command in JOULE_SESSION, and opens the meter. Does not wait
 * for slow sensors, and starts no thread for the others. `max_runs`: maximum number of measurement_add calls.
 * After a failure nothing remains open. */
joule_status measurement_open(struct measurement *m, const struct measurement_options *options,
                              size_t max_runs, joule_error *out_error);
/* Waits until all sensors were read once, at most 250 ms after measurement_open. */
void measurement_wait_ready(struct measurement *m);
/* Removes leftovers of earlier sessions. Call it when the command has started, so that the start is not
 * delayed. */
void measurement_started(struct measurement *m);
/* Returns the time at which measurement_watch must be called; INT64_MAX: never again. */
int64_t measurement_watch_ns(const struct measurement *m);
/* Starts periodic readings in a thread. Not needed for a command that ends before measurement_watch_ns. */
void measurement_watch(struct measurement *m);
/* Adds a run that has ended. */
void measurement_add(struct measurement *m, int64_t begin_ns, int64_t end_ns,
                     const struct attribution *share);
/* Call after the last run, or after each run if its energy is needed before the next one. Waits at most 250
 * ms for late sensors, and for models if a record is written. Reads slow sources once more and waits for them
 * for one period, at most 5 s, or until `is_asked_to_end` returns true. */
void measurement_finish(struct measurement *m, bool (*is_asked_to_end)(void));
/* Fills a report, except exit status and labels of the command. Call report_free also after a failure. */
joule_status measurement_report(struct measurement *m, const char *program, struct report *out_report);
/* Removes the shared session file. Call it before the process ends. The kernel frees all other memory and the
 * threads, because it does so faster. */
void measurement_leave(void);

/* The state of the budget: the energy of all ended runs and the current run. */
struct budget_state {
    joule_quantity joules;
    joule_budget_status status;
    double probability;
    bool is_machine; /* joules of the machine, from sensors; else of the command, from the model */
    bool is_over;    /* the budget is exceeded, by the best estimate or with certainty */
};
/* Reads the sensors and returns the state of the budget. `begin_ns` and `group` are those of the current
 * run. */
struct budget_state measurement_budget(struct measurement *m, int64_t begin_ns,
                                       struct attribute_group *group);

#endif
