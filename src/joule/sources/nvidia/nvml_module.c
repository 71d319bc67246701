/* joule/sources/nvidia/nvml_module.c - superchips: one or two GPUs and a Grace CPU on one module. See nvml.h.
 *
 * On a GH200, the energy counter of the GPU measures the whole module. Power may be that of the GPU alone
 * (ml-energy/zeus, pull request 172). Hardware monitors measure the same module and its Grace CPU
 * (hwmon_domain.c). */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvml.h"

#define TOLERANCE  0.02 /* relative difference up to which two values are the same */
#define MAX_SOCKET 63

bool nvml_is_superchip(const char *name)
{
    for (const char *word = name; word; word = strchr(word, ' ')) {
        word += *word == ' ';
        if (word[0] == 'G' && (word[1] == 'H' || word[1] == 'B') && isdigit((unsigned char)word[2]))
            return true;
    }
    return false;
}

/* Returns true if the module's Grace CPU has two GPUs: GB200 and GB300. */
static bool has_two_gpus(const char *name)
{
    return strstr(name, "GB200") || strstr(name, "GB300");
}

/* Note: the NUMA node of a CPU's memory has the number of the socket. Nodes of GPU memory have higher
 * numbers. */
void nvml_module_zone(struct joule_host *host, const char *name, const char *pci_address, unsigned index,
                      char out_zone[48])
{
    char path[96], text[16];
    int64_t node = -1;
    string_print(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", pci_address);
    if (*pci_address && host_read_text(host, path, text, sizeof text) && string_to_i64(text, 10, &node) &&
        node >= 0 && node <= MAX_SOCKET)
        index = (unsigned)node;
    else if (has_two_gpus(name))
        index /= 2;
    string_print(out_zone, 48, "module%u", index);
}

static bool is_same(double gpu, double module)
{
    return fabs(gpu - module) <= TOLERANCE * module;
}

bool nvml_power_covers_module(const struct nvml_api *api, const struct nvml_board *board)
{
    double gpu = 0, module = 0;
    if (!nvml_is_superchip(board->id.name) ||
        nvml_read_field(api, board->handle, NVML_FI_DEV_POWER_INSTANT, NVML_POWER_SCOPE_MODULE, &module) !=
            NVML_SUCCESS)
        return false;
    nvml_return code =
        nvml_read_field(api, board->handle, NVML_FI_DEV_POWER_INSTANT, NVML_POWER_SCOPE_GPU, &gpu);
    return code != NVML_SUCCESS || is_same(gpu, module);
}

bool nvml_counter_covers_module(const struct nvml_api *api, const struct nvml_board *board)
{
    double gpu = 0, module = 0;
    if (!nvml_is_superchip(board->id.name))
        return false;
    if (nvml_read_field(api, board->handle, NVML_FI_DEV_ENERGY, NVML_POWER_SCOPE_MODULE, &module) !=
            NVML_SUCCESS ||
        nvml_read_field(api, board->handle, NVML_FI_DEV_ENERGY, NVML_POWER_SCOPE_GPU, &gpu) != NVML_SUCCESS)
        return true; /* the two values cannot be compared, so the counter is assumed to cover the module */
    return is_same(gpu, module);
}
