/* support/rig.h - a scripted machine, a meter on it, and checks of its results.
 *
 * This is the fixture of tests that replay machines through the whole meter: it provides usual sensors,
 * advances the time, and compares results with the truth. Note: the test opens the meter when its machine is
 * complete; rig_tear_down closes meter and host. */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include "support/machine.h"

#define INTEL_UNIT  61.035e-6 /* 2^-14 J, truncated as by the kernel */
#define INTEL_RANGE "262143328850\n"
#define INTEL_WRAP  (4294967296.0 * INTEL_UNIT) /* joules from one wrap to the next */
#define AMD_UNIT    15.258e-6
#define AMD_RANGE   "65532610987\n"
#define AMD_WRAP    (4294967296.0 * AMD_UNIT)

struct rig {
    struct joule_host *host;
    joule_meter *meter;
};

/* Set-up and tear-down for cmocka; *state is a struct rig. */
int rig_set_up(void **state);
int rig_tear_down(void **state);

/* Registers of 32 bits that tick each millisecond. sensor_exact_intel counts in the exact unit, 2^-14 J. The
 * other two count in the truncated unit of powercap. */
struct sensor sensor_intel(const struct load *load);
struct sensor sensor_amd(const struct load *load);
struct sensor sensor_exact_intel(const struct load *load);
/* Returns an Intel register with a fault. */
struct sensor sensor_troubled(const struct load *load, struct trouble trouble);

void rig_put_two_packages(struct rig *rig, struct sensor *first, struct sensor *second);
void rig_open_powercap(struct rig *rig);
/* Adds `package` as package 0, opens the meter, and reads for 10 s. */
void rig_run_10_s(struct rig *rig, const char *range, struct sensor *package);
/* Advances the time without readings, as when a process is stopped or blocked. */
void rig_sleep(struct rig *rig, double seconds);

/* Returns the true joules since the meter was opened. */
double rig_truth(const struct rig *rig, const struct load *load);
const struct channel *rig_channel(const struct rig *rig, const char *name);
joule_status rig_state(const struct rig *rig, const char *name);
bool rig_is_partial(const struct rig *rig); /* returns true if the total is partial */
/* Returns the names of the domains whose sum is the total, such as "package-0 + dram-0". The text is valid
 * until the next call. */
const char *rig_cover_name(const struct rig *rig);

/* Checks a domain since the meter was opened. The joules must be within the tolerance and inside the meter's
 * interval, and the seconds without sensor data must be unseen_s. */
void rig_expect(const struct rig *rig, int32_t domain, double joules, double tolerance, double unseen_s);
void rig_expect_unknown(const struct rig *rig, int32_t domain);

#endif
