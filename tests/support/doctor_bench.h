/* support/doctor_bench.h - a scripted machine, and joule doctor's findings about the machine.
 *
 * Sets up the machine with which the doctor's tests begin, examines it, and asserts findings. Note: a test
 * adds problems to the machine before it examines the machine. Findings are valid until the next
 * examination. */
#ifndef TEST_DOCTOR_BENCH_H
#define TEST_DOCTOR_BENCH_H

#include "joule/doctor/doctor.h"

struct doctor_bench {
    struct joule_host *host;
    joule_meter *meter;
    enum attribute_method run_method; /* method that the trial run of `joule run` will return */
    struct diagnosis diagnosis;
};

/* cmocka set-up: an Intel CPU without a driver for its counters, a good clock, and a user without privileges
 * who can use cgroups. *state is the bench. */
int doctor_bench_set_up(void **state);
int doctor_bench_tear_down(void **state);
extern const char doctor_bench_cpu[]; /* contents of /proc/cpuinfo; ends with an empty line */

/* Adds a package that draws 60 W. is_readable: the user may read the energy counter of the package. */
void doctor_bench_add_zone(struct joule_host *host, bool is_readable);
/* Makes the machine a KVM virtual machine. */
void doctor_bench_make_virtual(struct joule_host *host);

/* Opens a meter, reads for two seconds, and examines the machine. clock_read_ns: duration of one reading of
 * the clock. */
void doctor_bench_examine(struct doctor_bench *bench, double clock_read_ns);
/* Returns the finding with this id, or NULL. */
const struct finding *doctor_bench_find(const struct doctor_bench *bench, const char *id);
void doctor_bench_assert_absent(const struct doctor_bench *bench, const char *id);
/* Asserts that the finding exists. command_part: text that its command contains; NULL means that the finding
 * has no command. */
void doctor_bench_assert_finding(const struct doctor_bench *bench, const char *id,
                                 enum finding_severity severity, const char *command_part);
/* Asserts that all findings are facts that need no action. */
void doctor_bench_assert_nothing_to_do(const struct doctor_bench *bench);

#endif
