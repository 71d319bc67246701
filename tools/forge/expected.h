/* tools/forge/expected.h - prints the time and energy that a device which only estimates expects of a
 * program. */
#ifndef FORGE_EXPECTED_TOOL_H
#define FORGE_EXPECTED_TOOL_H

#include <forge/program.h>
#include <stdio.h>

bool device_is_estimate_only(forge_device *device);
/* Formats "1.20 ms (0.6 ms to 2.4 ms)", or the same with joules, in `out` and returns it. */
enum { QUANTITY_TEXT = 100 };
const char *quantity_text(joule_quantity quantity, joule_dimension dimension, char out[QUANTITY_TEXT]);
/* Prints "estimated: 1.20 ms (...) and 30 mJ (...) each run, modelled; nothing was run". Prints nothing for
 * other devices. */
joule_status expected_print(const forge_program *program, forge_device *device, joule_error *error);

#endif
