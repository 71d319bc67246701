/* port/windows/nvml_names.c - in the place of joule/sources/nvidia/nvml_names.c.
 *
 * Newcomers: drivers put it into System32; those of before 2018 beside nvidia-smi.
 */
#include "joule/sources/nvidia/nvml.h"

const char *const nvml_names[] = {"nvml.dll", "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvml.dll", NULL};
