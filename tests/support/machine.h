/* support/machine.h - a recorded or scripted machine under a meter, in virtual time.
 *
 * Owns what tests of sources do again and again: load a folder into a scripted host, open a meter with one source,
 * let time pass, find a channel. Newcomers: a loaded file can be changed afterwards with host_script_text.
 */
#ifndef TEST_MACHINE_H
#define TEST_MACHINE_H

#include "joule/meter/engine.h"
#include "support/sensor.h"

/* A scripted host with every file and link below `root` (a recorded tree); NULL where it cannot be read. */
struct joule_host *machine_load(const char *root);
/* Adds what lies below `root` to a scripted host, as if it were below `prefix`; false where it cannot be read. */
bool machine_add(struct joule_host *host, const char *root, const char *prefix);
/* Path of one of tests/fixtures/machines, in static storage. */
const char *machine_fixture(const char *name);
/* A meter with only the sources in the comma list; it does not own the host. Fails the test on an error. */
joule_meter *machine_open(struct joule_host *host, const char *sources);
/* The same, which looks at devices, too. */
joule_meter *machine_open_devices(struct joule_host *host, const char *sources);
/* Readings every step_s for `seconds` of virtual time. */
void machine_run(joule_meter *meter, double seconds, double step_s);
/* The channel called `name`, or NULL. */
const struct channel *machine_channel(joule_meter *meter, const char *name);
/* The domain called `name`; fails the test where there is none. */
int32_t machine_domain(joule_meter *meter, const char *name);
/* Joules of the domain called `name` since the meter was opened; fails the test where they are not known. */
double machine_joules(joule_meter *meter, const char *name);
/* Mean watts of a domain, or JOULE_TOTAL ..., since the meter was opened; NaN where nothing is known. */
double machine_mean_watts(joule_meter *meter, int32_t domain);

/* --- a test's machine ------------------------------------------------------------------------------------------- */

struct machine_bench {
    struct joule_host *host;
    joule_meter *meter; /* once the test has opened it */
};
/* Of a test that begins on an empty scripted machine; the state is its bench. */
int machine_setup(void **state);
int machine_teardown(void **state);

/* --- parts of a scripted machine; sensors and counts must outlive the host ------------------------------------ */

/* What /proc/cpuinfo and the topology say: `packages` CPUs, each a package of its own. */
void machine_put_cpus(struct joule_host *host, const char *vendor, unsigned family, unsigned model,
                      unsigned packages);
/* A powercap zone; `range` is the text of max_energy_range_uj, NULL: no such file. */
void machine_put_zone(struct joule_host *host, const char *id, const char *name, const char *range,
                      struct sensor *sensor);
/* An event of the PMU `power` for CPU `cpu`, which the PMU's cpumask must list. */
void machine_put_event(struct joule_host *host, const char *name, unsigned code, unsigned cpu,
                       struct kernel_count *kernel);

/* A card with AMD's driver at 0000:c1:00.0, and nothing that tells of its joules. */
void machine_put_amd_card(struct joule_host *host);

#endif
