/* tools/forge/prediction.h - prints the time and energy of a program that a device predicts. The device only
 * estimates and runs nothing. */
#ifndef FORGE_PREDICTION_H
#define FORGE_PREDICTION_H

#include <forge/program.h>
#include <stdio.h>

bool device_is_estimate_only(forge_device *device);
/* Writes a time or an energy with its interval to `out`, such as "1.20 ms (0.6 ms to 2.4 ms)". Returns
 * `out`. */
enum { QUANTITY_TEXT = 100 };
const char *quantity_text(joule_quantity quantity, joule_dimension dimension, char out[QUANTITY_TEXT]);
/* Prints "estimated: 1.20 ms (...) and 30 mJ (...) each run, modelled; nothing was run". Prints nothing for
 * other devices. */
joule_status expected_print(const forge_program *program, forge_device *device, joule_error *error);

#endif
