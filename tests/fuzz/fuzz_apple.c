/* Fuzz target: output of macmon and powermetrics. Checks that nothing is read beyond the text, and that every
 * value is unknown or in its physical range. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "joule/sources/apple/apple_power.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require_sound(const struct apple_power *power)
{
    for (int part = 0; part < APPLE_PARTS; part++)
        require(isnan(power->watts[part]) || (power->watts[part] >= 0 && power->watts[part] <= 2000));
    require(!isnan(power->watts[APPLE_CPU]));
    require(isnan(power->gpu_busy) || (power->gpu_busy >= 0 && power->gpu_busy <= 1));
    require(isnan(power->gpu_megahertz) || (power->gpu_megahertz >= 0 && power->gpu_megahertz <= 1e4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct apple_power power;
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (powermetrics_parse(text, size, &power))
        require_sound(&power);
    if (macmon_parse(text, &power))
        require_sound(&power);
    free(text);
    return 0;
}
