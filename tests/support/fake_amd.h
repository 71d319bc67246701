/* support/fake_amd.h - a meter over scripted AMD boards in virtual time, through one of the libraries or the
 * kernel's files.
 *
 * Loads the fake library, registers its symbols at a scripted host, and advances the clocks of both together.
 * Note: only one fixture can exist at a time, because the fake library has one script. */
#ifndef TEST_FAKE_AMD_H
#define TEST_FAKE_AMD_H

#include "joule/meter/engine.h"

/* One way to read a board. */
struct fake_amd_interface {
    const char *source;  /* names of sources, separated by commas; "amdgpu,hwmon" means the kernel's files */
    const char *folder;  /* folder of the fake library below fakes/ */
    const char *library; /* the library's file name */
};
enum { FAKE_ROCM_6, FAKE_ROCM_5, FAKE_AMD_1, FAKE_AMD_24, FAKE_AMD_25, FAKE_FILES, FAKE_INTERFACES };
extern const struct fake_amd_interface fake_amd_interfaces[FAKE_INTERFACES];

struct fake_amd {
    const struct fake_amd_interface *interface;
    void *library;
    struct joule_host *host;
    joule_meter *meter;
    int64_t time_ns;
    struct script_symbol symbols[64];
    size_t symbol_count;
};

/* Loads the fake library `interface` and prepares a host with one card for which the kernel has no sensors.
 * `script` describes the boards (tests/fakes/amd/fake_boards.h). Returns false if the library is missing. */
bool fake_amd_prepare(struct fake_amd *fake, const char *folder, int interface, const char *script);
/* Removes a symbol, as in another release of the library. */
void fake_amd_remove(struct fake_amd *fake, const char *symbol);
/* Opens a meter with these sources. NULL means the sources of fake->interface. */
void fake_amd_open(struct fake_amd *fake, const char *sources);
/* Advances the time by `seconds` and reads every 0.1 s. */
void fake_amd_run(struct fake_amd *fake, double seconds);
/* Closes meter and host. */
void fake_amd_close(struct fake_amd *fake);
/* Makes the fake library use the machine's clock again. */
void fake_amd_free_clock(struct fake_amd *fake);
/* The first two return the channel or the source with that name, or NULL. The third returns how often the
 * library was started, less how often it was stopped. */
const struct channel *fake_amd_channel(struct fake_amd *fake, const char *name);
const struct source *fake_amd_source(struct fake_amd *fake, const char *name);
unsigned fake_amd_start_count(struct fake_amd *fake);

#endif
