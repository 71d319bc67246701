/* joule/sources/nvidia/nvml_names.c - file names of NVIDIA's library. See nvml.h.
 *
 * Note: the file without ".1" is a stub for linking, not the driver's library, so it is not tried. */
#include "joule/sources/nvidia/nvml.h"

const char *const nvml_names[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1", NULL};
