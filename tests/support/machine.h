/* support/machine.h - a recorded or scripted machine with a meter, in virtual time.
 *
 * Loads a folder into a scripted host, opens a meter with some sources, advances the time, and finds
 * channels. Note: a loaded file can be changed later with host_script_text. */
#ifndef TEST_MACHINE_H
#define TEST_MACHINE_H

#include "joule/meter/engine.h"
#include "support/sensor.h"

/* Returns a scripted host with every file and link below `root` (a recorded tree), or NULL if it cannot be
 * read. */
struct joule_host *machine_load(const char *root);
/* Adds the files below `root` to a scripted host, as if they were below `prefix`. Returns false if they
 * cannot be read. */
bool machine_add(struct joule_host *host, const char *root, const char *prefix);
/* Returns the path of the folder that was extracted from tests/fixtures/machines/NAME.ttar, in static
 * storage. */
const char *machine_fixture(const char *name);
/* Returns a meter with only the sources in the comma-separated list. The caller closes the meter and then the
 * host. Fails the test on an error. */
joule_meter *machine_open(struct joule_host *host, const char *sources);
/* Returns a meter like machine_open, with devices. */
joule_meter *machine_open_devices(struct joule_host *host, const char *sources);
/* Advances virtual time by `seconds` and reads every step_s. */
void machine_run(joule_meter *meter, double seconds, double step_s);
/* Returns the channel called `name`, or NULL. */
const struct channel *machine_channel(joule_meter *meter, const char *name);
/* Returns the channel called `name`; fails the test if there is none. */
const struct channel *machine_require_channel(joule_meter *meter, const char *name);
/* Returns the source called `name`; fails the test if the meter did not try to open it. */
const struct source *machine_source(joule_meter *meter, const char *name);
/* Returns the device at a position of the meter's list; fails the test if there is none. */
joule_device machine_device(joule_meter *meter, size_t position);
/* Returns the domain called `name`; fails the test if there is none. */
int32_t machine_domain(joule_meter *meter, const char *name);
/* Returns the joules of domain `name` since the meter was opened; fails the test if they are unknown. */
double machine_joules(joule_meter *meter, const char *name);
/* Returns the mean watts of a domain or a total (JOULE_TOTAL ...) since the meter was opened; NaN if
 * unknown. */
double machine_mean_watts(joule_meter *meter, int32_t domain);
/* Returns the mean watts of the domain called `name`; fails the test if there is none. */
double machine_watts(joule_meter *meter, const char *name);

/* --- a test's machine ----------------------------------------------------------------------------------- */

struct machine_bench {
    struct joule_host *host;
    joule_meter *meter; /* NULL until the test opens it */
    int64_t next_ns;    /* time at which machine_run_until reads next */
};
/* Set-up and tear-down of a test that begins with an empty scripted machine. *state is the bench. */
int machine_setup(void **state);
int machine_teardown(void **state);
/* Writes a file; NULL removes it. Fails the test if out of memory. */
void machine_put(struct machine_bench *bench, const char *path, const char *text);
/* Reads every 0.1 s from bench->next_ns to end_ns. */
void machine_run_until(struct machine_bench *bench, int64_t end_ns);
/* Opens a meter with one source. Fails the test unless the meter has no domain, the source has this status,
 * and its remedy contains `words`. */
void machine_expect_absent(struct machine_bench *bench, const char *source, joule_status status,
                           const char *words);

/* --- parts of a scripted machine; sensors and counts must live longer than the host --------------------- */

/* Writes /proc/cpuinfo and the topology of `packages` packages with one CPU each. */
void machine_put_cpus(struct joule_host *host, const char *vendor, unsigned family, unsigned model,
                      unsigned packages);
/* Adds a powercap zone. `range` is the text of the file max_energy_range_uj; NULL means that the file is
 * missing. */
void machine_put_zone(struct joule_host *host, const char *id, const char *name, const char *range,
                      struct sensor *sensor);
/* Adds an event of the PMU `power` on CPU `cpu`. The cpumask file of the PMU must contain this CPU. */
void machine_put_event(struct joule_host *host, const char *name, unsigned code, unsigned cpu,
                       struct kernel_count *kernel);

/* Adds a card with AMD's driver at 0000:c1:00.0 that has no energy sensors. */
void machine_put_amd_card(struct joule_host *host);

#endif
