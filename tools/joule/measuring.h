/* tools/joule/measuring.h - the energy side of `joule run`.
 *
 * Owns the meter, the session in which the command's regions are written, what each run cost, the budget, and putting
 * all of it into a report. Knows nothing of signals and processes.
 * Newcomers: sensors tick late, so a run's figures are taken when the next run has ended, or at the very end.
 */
#ifndef JOULE_MEASURING_H
#define JOULE_MEASURING_H

#include <joule/joule.h>
#include "idle.h"
#include "joule/attribute/attribute.h"
#include "joule/attribute/baseline.h"
#include "joule/cost/cost.h"
#include "joule/report/report.h"

struct measuring_options {
    double period_s;      /* 0: default */
    const char *sources;  /* as joule_options; NULL: all */
    const char *root;     /* recorded machine; NULL: real */
    double budget_joules; /* 0: none */
    bool is_recorded;     /* also what no report shows, as temperatures, and what a model knows only later */
    bool uses_idle;       /* look for a kept baseline, where `idle` is unknown */
    struct idle_baseline idle;
};

struct measured_run {
    int64_t begin_ns, end_ns;
    struct attribution share;
    struct estimate total, command; /* joules; unknown until closed */
};

struct measuring {
    joule_meter *meter;
    bool is_recorded; /* as asked for */
    bool has_session;
    joule_error session_error; /* why there is none */
    int64_t open_ns;
    bool watches;
    struct idle_baseline idle;
    bool seeks_idle; /* still to be looked for, once the cover is known */
    struct measured_run *runs;
    size_t run_count, closed_count;
    struct cost_cpu cpu; /* for the command's joules where no sensor is */
    bool has_cpu;
    double budget_joules;          /* 0: none */
    double overshoot_bound_joules; /* until it is noticed */
    double noticed_joules;         /* used when the budget was seen to be passed; NaN: it was not */
    bool is_over;                  /* the budget was passed, by the best estimate; once reported */
    joule_budget *budget;          /* watches the machine's joules */
    double period_s;
    double waited_s;           /* seconds waited for slow sources after the last run */
    const char *waited_for;    /* the last such source; NULL: none */
    double begin_cpu_s, cpu_s; /* this process's own: when the first run began, and since then */
};

/* Makes the session, names it in JOULE_SESSION for the command, and opens the meter without waiting for slow sensors nor
 * making a thread for the others. `most_runs`: how many measuring_add will come. */
joule_status measuring_open(struct measuring *m, const struct measuring_options *options, size_t most_runs,
                            joule_error *out_error);
/* Waits until the sensors were read once, at most 250 ms from measuring_open. */
void measuring_wait_ready(struct measuring *m);
/* The command runs: time for what can wait. */
void measuring_started(struct measuring *m);
/* When measuring_watch has to be called; INT64_MAX: never again. */
int64_t measuring_watch_ns(const struct measuring *m);
/* From here on the sensors are read at the meter's pace. A command that ends sooner is spared the thread. */
void measuring_watch(struct measuring *m);
/* A run has ended. */
void measuring_add(struct measuring *m, int64_t begin_ns, int64_t end_ns, const struct attribution *share);
/* Call it after the last run. Waits at most 250 ms for slow sensors, and for models where everything is
 * recorded. Reads slow sources once more and waits for them one period, at most 5 s, or until
 * `is_asked_to_end`. */
void measuring_finish(struct measuring *m, bool (*is_asked_to_end)(void));
/* Fills a report, except what belongs to the command as a process. report_free, also on failure. */
joule_status measuring_report(struct measuring *m, const char *program, struct report *out_report);
/* Removes what would outlive the process, which ends at once: the kernel takes threads and memory back faster than they
 * can be waited for. */
void measuring_leave(void);

/* The budget's joules so far, over all runs and the one that goes on in `group` since begin_ns. */
struct budget_state {
    joule_quantity joules;
    joule_budget_status status;
    double probability;
    bool
        is_machine; /* the joules are the whole machine's, as sensors tell them; else the command's, by the model */
    bool is_over; /* by the best estimate, or for certain */
};
struct budget_state measuring_budget(struct measuring *m, int64_t begin_ns, struct attribute_group *group);

#endif
