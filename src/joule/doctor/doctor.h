/* joule/doctor/doctor.h - diagnoses what would improve the figures of this machine.
 *
 * The doctor gathers facts through the host and from an open meter. From these it derives findings, with a
 * command to type where possible. It prints nothing and changes nothing permanently.
 * Note: a finding needs evidence. A fact that could not be checked gives no finding.
 */
#ifndef JOULE_DOCTOR_H
#define JOULE_DOCTOR_H

#include "base/arena.h"
#include "joule/attribute/attribute.h"
#include "joule/meter/engine.h"

enum finding_severity {
    FINDING_FACT,   /* information; nothing to improve */
    FINDING_LIMIT,  /* worsens the figures; no command changes it */
    FINDING_ADVICE, /* worsens the figures; `command` changes it */
};
const char *finding_severity_name(enum finding_severity severity); /* "fact", "limit", "advice" */

struct finding {
    enum finding_severity severity;
    const char *id;      /* identifier for programs: "virtual_machine" */
    const char *what;    /* one sentence */
    const char *why;     /* effect on the figures; "" if `what` includes it */
    const char *command; /* command to type; NULL: none */
};

#define DOCTOR_MAX_FINDINGS 24
struct diagnosis {
    struct arena arena; /* contains the texts of the findings */
    struct finding findings[DOCTOR_MAX_FINDINGS];
    size_t count;
    bool no_counter_moves; /* all counters can be read, and none has moved */
    joule_class cpu_class; /* class of the best figure of the CPU's energy; NONE: no figure */
};

/* Results of trials, which are possible on a live machine only. */
struct doctor_trials {
    double clock_read_ns; /* duration of one reading of the clock in nanoseconds; NaN: not tried */
    /* method by which `joule run` will count a command's CPU time; NONE: not tried */
    enum attribute_method run_method;
};
/* Runs the trials on this machine in a few milliseconds: reads the clock, and creates and removes a process
 * in a cgroup. */
struct doctor_trials doctor_run_trials(void);
/* Returns the results for a recorded machine, on which nothing can be tried. */
struct doctor_trials doctor_skip_trials(void);

/* Examines a machine. `meter` must be open on `host` and have been read at least twice. The caller frees
 * *out_diagnosis with diagnosis_free. */
void doctor_examine(struct joule_host *host, joule_meter *meter, struct doctor_trials trials,
                    struct diagnosis *out_diagnosis);
void diagnosis_free(struct diagnosis *diagnosis);

#endif
