/* Fuzz target: AMD's gpu_metrics table. Nothing is read beyond the input, counts fit their field, and other
 * values are unknown or possible. */
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
    struct gpu_metrics said;
    gpu_metrics_read(data, size, &said);
    require(isnan(said.busy) || (said.busy >= 0 && said.busy <= 100));
    require(isnan(said.memory_busy) || (said.memory_busy >= 0 && said.memory_busy <= 100));
    require(isnan(said.clock_megahertz) || (said.clock_megahertz >= 0 && said.clock_megahertz < 65535));
    require(isnan(said.fan_rpm) || (said.fan_rpm >= 0 && said.fan_rpm < 65535));
    return 0;
}
