/* support/fake_nvml.h - a meter over scripted NVIDIA boards in virtual time.
 *
 * Loads the fake library, registers its symbols at a scripted host, and advances the clocks of both together.
 * Note: only one fixture can exist at a time, because the fake library has one script. */
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

/* Loads the fake of the driver that `line` names, "580" or "535", and prepares a host. `script` describes the
 * boards (tests/fakes/nvml/fake_board.h). Returns false if the library is missing. */
bool fake_nvml_prepare(struct fake_nvml *fake, const char *folder, const char *line, const char *script);
/* Removes a symbol, as in an older driver. */
void fake_nvml_remove(struct fake_nvml *fake, const char *symbol);
/* Opens a meter with the nvml source only. */
void fake_nvml_open(struct fake_nvml *fake);
/* Opens a meter with the nvml source and with devices. */
void fake_nvml_open_devices(struct fake_nvml *fake);
/* Advances the time by `seconds` and reads every 0.1 s. */
void fake_nvml_run(struct fake_nvml *fake, double seconds);
void fake_nvml_close(struct fake_nvml *fake);
/* Makes the library use the machine's clocks again, for a meter that the test opens itself. */
void fake_nvml_free_clock(struct fake_nvml *fake);

/* The first function returns the channel with that name, or NULL. The second returns the nvml source. */
struct channel *fake_nvml_channel(struct fake_nvml *fake, const char *name);
struct source *fake_nvml_source(struct fake_nvml *fake);
/* Returns the device at `position`. If no meter is open, prepares the fake, opens a meter with devices, and
 * reads for 3 s. */
joule_device fake_nvml_device(struct fake_nvml *fake, const char *folder, const char *line,
                              const char *script, size_t position);
/* Returns how many calls on devices the library has received. */
unsigned long fake_nvml_call_count(struct fake_nvml *fake);

#endif
