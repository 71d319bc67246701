/* support/rig.h - a scripted machine, a meter on it, and what the meter must say.
 *
 * Owns the fixture of the tests that replay machines through the whole meter: usual sensors, the passing of time, and the
 * comparison with the truth.
 * Newcomers: a meter is opened by the test, when its machine is complete; both are closed by rig_tear_down.
 */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include "support/machine.h"

#define INTEL_UNIT  61.035e-6 /* as the kernel cuts 2^-14 */
#define INTEL_RANGE "262143328850\n"
#define INTEL_WRAP  (4294967296.0 * INTEL_UNIT) /* joules */
#define AMD_UNIT    15.258e-6
#define AMD_RANGE   "65532610987\n"
#define AMD_WRAP    (4294967296.0 * AMD_UNIT)

struct rig {
    struct joule_host *host;
    joule_meter *meter;
};

/* As cmocka calls them; *state becomes a struct rig. */
int rig_set_up(void **state);
int rig_tear_down(void **state);

/* Registers of 32 bits that tick each millisecond, as powercap cuts their units and as they are. */
struct sensor sensor_intel(const struct load *load);
struct sensor sensor_amd(const struct load *load);
struct sensor sensor_exact_intel(const struct load *load);
struct sensor sensor_troubled(const struct load *load, struct trouble trouble); /* intel's */

void rig_put_two_packages(struct rig *rig, struct sensor *first, struct sensor *second);
void rig_open_powercap(struct rig *rig);
/* Makes it package 0, opens, and reads for 10 s. */
void rig_run_10_s(struct rig *rig, const char *range, struct sensor *package);
/* Time passes and nobody reads: a stopped process, a machine too busy, a blocked call. */
void rig_sleep(struct rig *rig, double seconds);

/* True joules since the meter was opened. */
double rig_truth(const struct rig *rig, const struct load *load);
const struct channel *rig_channel(const struct rig *rig, const char *name);
joule_status rig_state(const struct rig *rig, const char *name);
bool rig_is_partial(const struct rig *rig);        /* the total */
const char *rig_cover_name(const struct rig *rig); /* of the total; until the next call */

void expect_near(double a, double b, double tolerance);
/* The domain since the meter was opened: joules within a tolerance and inside the interval that the meter gives, and how
 * many seconds it did not see. */
void rig_expect(const struct rig *rig, int32_t domain, double joules, double tolerance, double unseen_s);
void rig_expect_unknown(const struct rig *rig, int32_t domain);

#endif
