/* Fuzz target: power readings of a management controller, as bytes and as text. Checks that nothing is read
 * beyond the input, and that accepted readings have a power above 0. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "joule/sources/node/dcmi.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcmi_reading reading;
    if (dcmi_parse_bytes(data, size, &reading) == JOULE_OK)
        require(reading.watts > 0 && reading.watts < 1u << 16 && reading.period_s >= 0);
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (dcmi_parse_text(text, &reading) == JOULE_OK)
        require(reading.watts > 0 && (isnan(reading.period_s) || reading.period_s >= 0));
    free(text);
    return 0;
}
