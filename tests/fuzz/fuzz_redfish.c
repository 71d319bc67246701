/* Fuzz target: output of joule-redfish. Checks that nothing is read beyond the lines, and that every power is
 * unknown or between 0 and a maximum. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "joule/sources/node/redfish_text.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redfish_text parsed;
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    redfish_parse(text, &parsed);
    require(parsed.count <= REDFISH_MAX_READINGS);
    for (size_t i = 0; i < parsed.count; i++)
        require(strstr(parsed.readings[i].target, ":/") && !strchr(parsed.readings[i].target, ' '));
    for (int view = 0; view < REDFISH_VIEWS; view++) {
        double watts = redfish_watts(&parsed, (enum redfish_view)view);
        require(isnan(watts) || (watts >= 0 && watts <= 1e5 * REDFISH_MAX_READINGS));
    }
    free(text);
    return 0;
}
