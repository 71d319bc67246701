/* tools/forge/prediction.h - prints the predicted time and energy of a program, for devices that only
 * estimate. */
#ifndef FORGE_PREDICTION_H
#define FORGE_PREDICTION_H

#include <forge/program.h>
#include <stdio.h>

/* Returns true if the device runs no programs and only predicts their time and energy. */
bool device_is_estimate_only(forge_device *device);
/* Writes a time or an energy with its interval to `out`, such as "1.20 ms (0.6 ms to 2.4 ms)". Returns
 * `out`. */
enum { QUANTITY_TEXT = 100 };
const char *quantity_text(joule_quantity quantity, joule_dimension dimension, char out[QUANTITY_TEXT]);
/* Prints a line such as "estimated: 1.20 ms (...) and 30 mJ (...) each run, modelled; nothing was run".
 * Prints nothing for a device that runs programs. */
joule_status expected_print(const forge_program *program, forge_device *device, joule_error *error);

#endif
