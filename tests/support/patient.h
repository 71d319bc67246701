/* tests/support/patient.h - a scripted machine and what the doctor finds there.
 *
 * Owns the machine that the doctor's tests begin with, its examination, and assertions about findings.
 * Newcomers: findings live until the next examination; a test breaks the machine first.
 */
#ifndef TEST_PATIENT_H
#define TEST_PATIENT_H

#include "joule/doctor/doctor.h"

struct patient {
    struct joule_host *host;
    joule_meter *meter;
    enum attribute_method run_method; /* what the trial is to have shown */
    struct diagnosis diagnosis;
};

/* For cmocka: a bare machine with an Intel CPU and no driver of its counters, a good clock, a user without rights who
 * can have cgroups. *state is the patient. */
int patient_set_up(void **state);
int patient_tear_down(void **state);
extern const char patient_cpu[]; /* its /proc/cpuinfo; ends in an empty line */

/* A package that takes 60 W, or that may not be read. */
void patient_add_zone(struct joule_host *host, bool is_readable);
/* Makes it a virtual machine of KVM's. */
void patient_make_virtual(struct joule_host *host);

/* Opens a meter, reads for two seconds, examines. */
void patient_examine(struct patient *patient, double clock_read_ns);
/* NULL: no such finding. */
const struct finding *patient_find(const struct patient *patient, const char *id);
void patient_assert_absent(const struct patient *patient, const char *id);
/* command_part: in its command; NULL: it has none. */
void patient_assert_finding(const struct patient *patient, const char *id, enum finding_severity severity,
                            const char *command_part);
/* Facts alone. */
void patient_assert_nothing_to_do(const struct patient *patient);

#endif
