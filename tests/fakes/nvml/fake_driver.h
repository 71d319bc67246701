/* tests/fakes/nvml/fake_driver.h - declarations that the files of the fake NVML share.
 *
 * Declares all exported symbols, the common start of every call on a device, and the driver's clock.
 * fake_nvml.c starts the driver and finds boards. fake_power.c implements energy and power, fake_condition.c
 * implements fans, video engines, the PCIe link and errors, and fake_state.c implements all other values.
 * Note: a handle is a pointer to a fake_board. ENTER may return from the function that contains it. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <time.h>
#include "fake_board.h"
#include "joule/sources/nvidia/nvml_abi.h"

#define EXPORT                    __attribute__((visibility("default")))
#define DECLARE(name, parameters) EXPORT nvml_return nvml##name parameters;
NVML_FUNCTIONS(DECLARE)

extern struct fake_script fake_script;

/* Returns the time of the driver's clock: the machine's time, or the time set by fake_nvml_set_time. */
int64_t fake_clock_ns(clockid_t clock);
double fake_now_s(void);
/* Returns true if the event's time has come. at_ms: milliseconds since the first Init_v2. */
bool fake_has_come(double at_ms);
/* Returns the event's time in seconds on the driver's clock. */
double fake_time_of(double at_ms);

/* Every call on a device begins with this function. Sets *out_board to the board of the handle. Returns the
 * error that the script requests, or NVML_SUCCESS. */
nvml_return fake_enter(nvml_device device, const struct fake_board **out_board);

/* Sets the value of a field that counts bytes of the PCIe link. */
void fake_put_bytes(const struct fake_board *board, struct nvml_field *field);

#define ENTER(device)                                                                                        \
    const struct fake_board *board;                                                                          \
    nvml_return entered = fake_enter(device, &board);                                                        \
    if (entered != NVML_SUCCESS)                                                                             \
    return entered

#endif
