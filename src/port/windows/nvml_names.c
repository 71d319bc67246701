/* port/windows/nvml_names.c - replaces joule/sources/nvidia/nvml_names.c.
 *
 * Note: drivers install nvml.dll in System32; drivers before 2018 installed it next to nvidia-smi.
 */
#include "joule/sources/nvidia/nvml.h"

const char *const nvml_names[] = {"nvml.dll", "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvml.dll", NULL};
