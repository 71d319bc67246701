/* tests/support/fake_nvml.h - a meter over scripted NVIDIA boards in virtual time.
 *
 * Owns the way from a script's text to a running meter: the fake library is loaded for real, its symbols are given to a
 * scripted host, and both clocks are moved together. Newcomers: one rig at a time, because the fake library has one
 * script.
 */
#ifndef TEST_FAKE_NVML_H
#define TEST_FAKE_NVML_H

#include "joule/meter/engine.h"

struct fake_nvml {
    void *library;
    struct joule_host *host;
    joule_meter *meter;
    int64_t time_ns;
    struct script_symbol symbols[96];
    size_t symbol_count;
};

/* Loads the fake of a driver line ("580" or "535") and readies a host; boards as `script` says (see
 * tests/fakes/nvml/fake_board.h). False: the library is not there. */
bool fake_nvml_prepare(struct fake_nvml *fake, const char *folder, const char *line, const char *script);
/* Takes a symbol away, as an older driver would. */
void fake_nvml_remove(struct fake_nvml *fake, const char *symbol);
/* Opens a meter of the nvml source alone. */
void fake_nvml_open(struct fake_nvml *fake);
/* The same, which looks at devices, too. */
void fake_nvml_open_devices(struct fake_nvml *fake);
/* Lets time pass with a reading every 0.1 s. */
void fake_nvml_run(struct fake_nvml *fake, double seconds);
void fake_nvml_close(struct fake_nvml *fake);
/* Puts the library back on the machine's own clocks, for a meter that a test opens by itself. */
void fake_nvml_free_clock(struct fake_nvml *fake);

/* The channel of that name, or NULL; and the source's state. */
struct channel *fake_nvml_channel(struct fake_nvml *fake, const char *name);
struct source *fake_nvml_source(struct fake_nvml *fake);
/* Calls on devices that the library has had. */
unsigned long fake_nvml_call_count(struct fake_nvml *fake);

#endif
