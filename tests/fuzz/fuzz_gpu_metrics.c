/* Fuzz target: AMD's gpu_metrics table. Checks that nothing is read beyond the input, that the energy count
 * is below its modulus, and that other values are unknown or in their ranges. */
#include <math.h>
#include <stdint.h>
#include "joule/sources/amd/gpu_metrics.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t counts = 0, modulus = 1;
    joule_status status = gpu_metrics_read_energy(data, size, &counts, &modulus);
    require(status == JOULE_OK || (counts == 0 && modulus == 1));
    require(status != JOULE_OK || modulus == 0 || counts < modulus - 1);
    struct gpu_metrics metrics;
    gpu_metrics_read(data, size, &metrics);
    require(isnan(metrics.busy) || (metrics.busy >= 0 && metrics.busy <= 100));
    require(isnan(metrics.memory_busy) || (metrics.memory_busy >= 0 && metrics.memory_busy <= 100));
    require(isnan(metrics.clock_megahertz) ||
            (metrics.clock_megahertz >= 0 && metrics.clock_megahertz < 65535));
    require(isnan(metrics.fan_rpm) || (metrics.fan_rpm >= 0 && metrics.fan_rpm < 65535));
    return 0;
}
