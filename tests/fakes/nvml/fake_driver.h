/* tests/fakes/nvml/fake_driver.h - what the parts of the fake library share.
 *
 * Owns the declarations of all exported symbols, the way into every call on a device, and the driver's clock.
 * fake_nvml.c is the driver's life and finds boards, fake_power.c tells energy and power, fake_state.c everything else.
 * Newcomers: a handle is a pointer to a fake_board; ENTER returns from the function that it stands in.
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <time.h>
#include "fake_board.h"
#include "joule/sources/nvidia/nvml_abi.h"

#define EXPORT                    __attribute__((visibility("default")))
#define DECLARE(name, parameters) EXPORT nvml_return nvml##name parameters;
NVML_FUNCTIONS(DECLARE)

extern struct fake_script fake_script;

/* The driver's clocks: the machine's, or where fake_nvml_set_time put them. */
int64_t fake_clock_ns(clockid_t clock);
double fake_now_s(void);
/* Whether an event of the script has come; at_ms after the first Init_v2. */
bool fake_has_come(double at_ms);
/* Seconds, on the driver's clock, at which that event came. */
double fake_time_of(double at_ms);

/* What every call on a device goes through: the scripted misfortunes. */
nvml_return fake_enter(nvml_device device, const struct fake_board **out_board);

/* Fills in a count of bytes of the PCIe link. */
void fake_put_bytes(const struct fake_board *board, struct nvml_field *field);

#define ENTER(device)                                                                                        \
    const struct fake_board *board;                                                                          \
    nvml_return entered = fake_enter(device, &board);                                                        \
    if (entered != NVML_SUCCESS)                                                                             \
    return entered

#endif
