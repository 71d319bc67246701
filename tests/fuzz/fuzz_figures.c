/* Fuzz target: the file with figures of a machine for which TensorForge estimates time and energy. Checks
 * that accepted values are in the ranges that the estimates need. */
#include <math.h>
#include <string.h>
#include "file.h"
#include "forge/backends/estimated/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];
    struct machine machine = {0};
    joule_error error = {0};
    size = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, size);
    text[size] = '\0';
    joule_status status = machine_read(&machine, text, &error);
    require((status == JOULE_OK) == (error.message[0] == '\0'));
    for (int i = 0; i < FIGURES; i++) {
        double value = machine.figures[i].value;
        /* An infinite rate means that the machine has no loops of this kind. */
        require(value >= 0 && (isfinite(value) || i == FIGURE_PLAIN_RATE));
    }
    return 0;
}
