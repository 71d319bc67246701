/* Fuzz target: memory regions listed by i915 or xe. Checks that no board uses more memory than it has. The
 * first byte selects the driver. */
#include "joule/sources/intel/intel_gpu.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct intel_memory memory = {0};
    if (size > 0 && intel_memory_parse((const char *)data + 1, size - 1, data[0] & 1, &memory))
        require(memory.total_bytes > 0 && memory.used_bytes <= memory.total_bytes);
    return 0;
}
