/* joule/sources/nvidia/nvml_names.c - file names of NVIDIA's library. See nvml.h.
 *
 * Note: libnvidia-ml.so is not tried, because it is a stub for linking, not the driver's library. */
#include "joule/sources/nvidia/nvml.h"

const char *const nvml_names[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", NULL};
