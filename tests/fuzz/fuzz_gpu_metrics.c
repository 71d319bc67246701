/* Fuzz target: AMD's table of figures. Whatever its bytes are, nothing beyond them is read, and a count that comes out is one
 * that the field can hold. */
#include <stdint.h>
#include "joule/sources/amd/gpu_metrics.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t counts = 0, modulus = 1;
    joule_status status = gpu_metrics_energy(data, size, &counts, &modulus);
    require(status == JOULE_OK || (counts == 0 && modulus == 1));
    require(status != JOULE_OK || modulus == 0 || counts < modulus - 1);
    return 0;
}
