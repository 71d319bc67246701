/* Fuzz target: a line of the Neuron driver's power file, and a pair of watts. Checks that accepted values are
 * in their ranges. */
#include <stdlib.h>
#include <string.h>
#include "joule/sources/accelerator/neuron_power.h"
#include "joule/sources/hwmon/watts_pair.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct neuron_power power;
    struct watts_pair pair;
    char *text = calloc(1, size + 1);
    require(text != NULL);
    if (size)
        memcpy(text, data, size);
    if (neuron_power_parse(text, &power) == JOULE_OK)
        require(power.mean >= 0 && power.mean <= 1 && power.end_s >= 0);
    if (watts_pair_parse(text, &pair))
        require(pair.idle >= 0 && pair.idle <= pair.max && pair.max > 0 && pair.max <= 5000);
    free(text);
    return 0;
}
