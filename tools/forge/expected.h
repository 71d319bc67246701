/* tools/forge/expected.h - what a device that runs nothing expects of a program, as a line for people.
 *
 * Newcomers: other devices are asked in vain, and nothing is printed.
 */
#ifndef FORGE_EXPECTED_TOOL_H
#define FORGE_EXPECTED_TOOL_H

#include <forge/program.h>
#include <stdio.h>

bool device_only_estimates(forge_device *device);
/* "1.20 ms (0.6 ms to 2.4 ms)", or with joules. */
enum { QUANTITY_TEXT = 100 };
const char *quantity_text(joule_quantity quantity, joule_dimension dimension, char out[QUANTITY_TEXT]);
/* "estimated: 1.20 ms (...) and 30 mJ (...) each run, modelled; nothing was run". */
joule_status expected_print(const forge_program *program, forge_device *device, joule_error *error);

#endif
