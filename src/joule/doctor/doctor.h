/* joule/doctor/doctor.h - what would make the figures of this machine better.
 *
 * Owns the diagnosis: facts gathered through the host and from an open meter, and what follows from them as findings
 * with a command to type where there is one. It prints nothing and leaves nothing changed.
 * Newcomers: a finding needs evidence. What could not be looked at gives no finding, least of all a good one.
 */
#ifndef JOULE_DOCTOR_H
#define JOULE_DOCTOR_H

#include "base/arena.h"
#include "joule/attribute/attribute.h"
#include "joule/meter/engine.h"

enum finding_severity {
    FINDING_FACT,   /* good to know, or fine */
    FINDING_LIMIT,  /* makes figures worse, and nothing typed here changes it */
    FINDING_ADVICE, /* makes figures worse, and `command` changes it */
};
const char *finding_severity_name(enum finding_severity severity); /* "fact", "limit", "advice" */

struct finding {
    enum finding_severity severity;
    const char *id;      /* a word for programs: "virtual_machine" */
    const char *what;    /* one sentence */
    const char *why;     /* what it means for the figures; "" where `what` says all */
    const char *command; /* to type; NULL: none */
};

#define DOCTOR_MAX_FINDINGS 24
struct diagnosis {
    struct arena arena; /* of the texts */
    struct finding findings[DOCTOR_MAX_FINDINGS];
    size_t count;
    bool no_counter_moves; /* all counters answer, and none has moved */
    joule_class cpu_class; /* of the best CPU energy that can be had now; NONE: none at all */
};

/* What only a living machine can show. */
struct doctor_trials {
    double clock_read_ns; /* what one reading of the clock costs; NaN: not tried */
    /* by which `joule run` will count a command's CPU time; NONE: not tried */
    enum attribute_method run_method;
};
/* Tries it on this machine, in some milliseconds: reads the clock, makes a process in a cgroup and removes both. */
struct doctor_trials doctor_try(void);
/* For a recorded machine. */
struct doctor_trials doctor_try_nothing(void);

/* Examines a machine. `meter` is open on the same host and has been read at least twice. */
void doctor_examine(struct joule_host *host, joule_meter *meter, struct doctor_trials trials,
                    struct diagnosis *out_diagnosis);
void diagnosis_free(struct diagnosis *diagnosis);

#endif
