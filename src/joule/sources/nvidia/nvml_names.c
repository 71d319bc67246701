/* joule/sources/nvidia/nvml_names.c - where NVIDIA's library may be. See nvml.h.
 *
 * Newcomers: the file without ".1" is a stub for linking and never the driver's; it is not tried.
 */
#include "joule/sources/nvidia/nvml.h"

const char *const nvml_names[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", NULL};
