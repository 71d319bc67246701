/* joule/doctor/doctor_exam.h - internal interface of the doctor's checks. Only doctor*.c include it.
 *
 * Note: a check reports at most one finding per cause. Checks run in the order of the table in
 * doctor_examine, which is therefore the order of the findings.
 */
#ifndef JOULE_DOCTOR_EXAM_H
#define JOULE_DOCTOR_EXAM_H

#include "joule/doctor/doctor.h"
#include "joule/doctor/doctor_facts.h"

/* State of one examination, which all checks share. */
struct exam {
    struct joule_host *host;
    joule_meter *meter;
    struct doctor_trials trials;
    struct doctor_facts facts;
    bool is_recorded;              /* the machine is a recording, so its counters stand still */
    const struct channel *package; /* first measured channel of a CPU package; NULL: none */
    /* First measured channel of more than a package: a module, a node, psys or a battery; NULL: none. */
    const struct channel *whole;
    /* First measured channel of anything else: a board, memory, a rail; NULL: none. */
    const struct channel *other;
    bool has_refused_package; /* a package's sensor exists, but permission is denied */
    struct diagnosis *out;
};

/* Adds a finding and returns it. what: a printf format of the first sentence. The diagnosis owns the finding.
 * The caller sets `why` and `command`. If the table is full, the last entry is overwritten. */
struct finding *exam_find(struct exam *exam, enum finding_severity severity, const char *id, const char *what,
                          ...) __attribute__((format(printf, 4, 5)));
/* Returns a formatted text, owned by the diagnosis; "" if out of memory. */
const char *exam_format(struct exam *exam, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* in doctor_counting.c */
void check_counting(struct exam *exam);

/* in doctor_calibration.c */
void check_calibration(struct exam *exam);

/* in doctor_helper.c */
void check_helper(struct exam *exam);

/* in doctor_still.c */
void check_still_counters(struct exam *exam);
void check_hidden(struct exam *exam);

/* in doctor_gpu.c */
void check_nvidia_driver(struct exam *exam);
void check_nvml(struct exam *exam);
void check_other_gpus(struct exam *exam);

#endif
