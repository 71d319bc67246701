/* joule/doctor/doctor_exam.h - internal interface of the doctor's checks. Only doctor*.c include it.
 *
 * Note: a check uses the facts and reports at most one finding per cause. The order of the table in doctor.c
 * is the order of the findings.
 */
#ifndef JOULE_DOCTOR_EXAM_H
#define JOULE_DOCTOR_EXAM_H

#include "joule/doctor/doctor.h"
#include "joule/doctor/doctor_facts.h"

struct exam {
    struct joule_host *host;
    joule_meter *meter;
    struct doctor_trials trials;
    struct doctor_facts facts;
    bool is_recorded;              /* values stand still because no process changes the files */
    const struct channel *package; /* the first package meter that can be read and moves; NULL: none */
    const struct channel *whole;   /* the first such meter of more than a package: board, node, battery */
    const struct channel *other;   /* the first such meter of anything else: a board, memory, a rail */
    bool has_refused_package;      /* a sensor exists but permission is denied */
    struct diagnosis *out;
};

/* Adds a finding; `what` is a printf format. The caller sets the other fields. */
struct finding *exam_find(struct exam *exam, enum finding_severity severity, const char *id, const char *what,
                          ...) __attribute__((format(printf, 4, 5)));
/* Returns a formatted text that lives as long as the diagnosis. */
const char *exam_format(struct exam *exam, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* doctor_counting.c */
void check_counting(struct exam *exam);

/* doctor_calibration.c */
void check_calibration(struct exam *exam);

/* doctor_helper.c */
void check_helper(struct exam *exam);

/* doctor_still.c */
void check_still_counters(struct exam *exam);
void check_hidden(struct exam *exam);

/* doctor_gpu.c */
void check_nvidia_driver(struct exam *exam);
void check_nvml(struct exam *exam);
void check_other_gpus(struct exam *exam);

#endif
