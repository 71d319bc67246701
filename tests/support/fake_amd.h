/* support/fake_amd.h - a meter over scripted AMD boards in virtual time, by either library or by the kernel's files.
 *
 * Owns the way from a script's text to a running meter: the fake library is loaded for real, its symbols are given to a
 * scripted host, and both clocks are moved together. Newcomers: one rig at a time, because the fake library has one script.
 */
#ifndef TEST_FAKE_AMD_H
#define TEST_FAKE_AMD_H

#include "joule/meter/engine.h"

/* One way of asking. */
struct fake_way {
    const char *source;  /* "rocm_smi"; "amdgpu,hwmon": by the kernel's files */
    const char *folder;  /* of the fake library, below fakes/ */
    const char *library; /* its file's name */
};
enum { FAKE_ROCM_6, FAKE_ROCM_5, FAKE_AMD_1, FAKE_AMD_24, FAKE_AMD_25, FAKE_FILES, FAKE_WAYS };
extern const struct fake_way fake_ways[FAKE_WAYS];

struct fake_amd {
    const struct fake_way *way;
    void *library;
    struct joule_host *host;
    joule_meter *meter;
    int64_t time_ns;
    struct script_symbol symbols[64];
    size_t symbol_count;
};

/* Loads the way's fake library and readies a host with one card of which the kernel tells nothing; boards as `script` says
 * (tests/fakes/amd/fake_boards.h). False: the library is not there. */
bool fake_amd_prepare(struct fake_amd *fake, const char *folder, int way, const char *script);
/* Takes a symbol away, as another release would. */
void fake_amd_remove(struct fake_amd *fake, const char *symbol);
/* Opens a meter of these sources; NULL: of the way's own. */
void fake_amd_open(struct fake_amd *fake, const char *sources);
/* Lets time pass with a reading every 0.1 s. */
void fake_amd_run(struct fake_amd *fake, double seconds);
/* Closes meter and host. */
void fake_amd_close(struct fake_amd *fake);
/* Puts the library back on the machine's own clock. */
void fake_amd_free_clock(struct fake_amd *fake);
/* The channel of that name, or NULL; the source of that name; how often the library was started less stopped. */
const struct channel *fake_amd_channel(struct fake_amd *fake, const char *name);
const struct source *fake_amd_source(struct fake_amd *fake, const char *name);
unsigned fake_amd_start_count(struct fake_amd *fake);

#endif
