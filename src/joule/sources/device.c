/* joule/sources/device.c - see device.h.
 *
 * Note: a GPU is recognised by its driver, because the names of device files and card numbers identify
 * nothing. The folder of a driver lists its devices by PCI address. Recordings may lack these folders, so DRM
 * cards are read too. */
#include "joule/sources/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/drm_card.h"

#define PCI_DRIVERS "/sys/bus/pci/drivers"

/* --- records -------------------------------------------------------------------------------------------- */

struct device_facts device_facts_unknown(void)
{
    return (struct device_facts){.memory_total_bytes = JOULE_BYTES_UNKNOWN,
                                 .memory_used_bytes = JOULE_BYTES_UNKNOWN,
                                 .memory_free_bytes = JOULE_BYTES_UNKNOWN,
                                 .limit_watts = NAN,
                                 .default_limit_watts = NAN,
                                 .enforced_limit_watts = NAN,
                                 .min_limit_watts = NAN,
                                 .max_limit_watts = NAN,
                                 .clock_reasons = JOULE_CLOCKS_UNKNOWN,
                                 .fan_rpm = NAN,
                                 .fan_ratio = NAN,
                                 .encoder_busy = NAN,
                                 .decoder_busy = NAN,
                                 .pcie_receive_bytes_per_second = NAN,
                                 .pcie_transmit_bytes_per_second = NAN,
                                 .pcie_replays = NAN,
                                 .ecc_corrected = NAN,
                                 .ecc_uncorrected = NAN,
                                 .ecc_corrected_lifetime = NAN,
                                 .ecc_uncorrected_lifetime = NAN,
                                 .xid_count = NAN,
                                 .last_xid = NAN};
}

joule_device_partition device_partition_unknown(void)
{
    return (joule_device_partition){.instance = JOULE_INSTANCE_UNKNOWN,
                                    .compute_instance = JOULE_INSTANCE_UNKNOWN,
                                    .memory_total_bytes = JOULE_BYTES_UNKNOWN,
                                    .memory_used_bytes = JOULE_BYTES_UNKNOWN,
                                    .memory_free_bytes = JOULE_BYTES_UNKNOWN};
}

joule_device_process *device_facts_process(struct device_facts *facts, uint64_t pid)
{
    facts->has_process_list = true;
    for (size_t i = 0; i < facts->process_count; i++)
        if (facts->processes[i].pid == pid)
            return &facts->processes[i];
    if (facts->process_count == DEVICE_MAX_PROCESSES)
        return NULL;
    joule_device_process *process = &facts->processes[facts->process_count++];
    *process = (joule_device_process){.pid = pid, .memory_bytes = JOULE_BYTES_UNKNOWN, .busy = NAN};
    return process;
}

struct device *source_add_device(struct source *source, const char *kind, int32_t index)
{
    struct device *device = arena_alloc(&source->arena, sizeof *device);
    struct device **devices =
        device ? arena_push(&source->arena, source->devices, source->device_count, device) : NULL;
    if (!devices)
        return NULL;
    source->devices = devices;
    source->device_count++;
    device->index = index;
    device->facts = device_facts_unknown();
    string_print(device->name, sizeof device->name, "%s:%d", kind, index);
    return device;
}

struct device *source_add_gpu(struct source *source, const char *pci_address)
{
    int32_t index = gpu_index(source, pci_address);
    struct device *device = index < 0 ? NULL : source_add_device(source, "gpu", index);
    if (device)
        string_copy(device->pci_address, sizeof device->pci_address, pci_address);
    return device;
}

void gpu_name_channel(struct channel *channel, int32_t index, const char *what)
{
    joule_domain *info = &channel->info;
    string_print(info->name, sizeof info->name, "gpu-%d%s%s", index, *what ? "-" : "", what);
    string_print(info->device, sizeof info->device, "gpu:%d", index);
    info->device_index = index;
}

void gpu_zone(int32_t index, bool has_cpu, char out_zone[48])
{
    string_print(out_zone, 48, "gpu%d/%s", index, has_cpu ? "module" : "board");
}

struct channel *gpu_add_gauge(struct source *source, const struct device *gpu, enum gauge_role role,
                              const char *what)
{
    char zone[48];
    struct channel *ch = gpu ? source_add_channel(source) : NULL;
    if (!ch)
        return NULL;
    gpu_zone(gpu->index, false, zone);
    channel_set_gauge(ch, role, zone);
    gpu_name_channel(ch, gpu->index, what);
    ch->info.tier = 3;
    ch->info.scope = JOULE_SCOPE_GPU;
    string_print(ch->info.label, sizeof ch->info.label, "GPU %s", what);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, gpu->vendor);
    return ch;
}

/* --- numbers -------------------------------------------------------------------------------------------- */

/* Kernel drivers of GPUs, in the order in which their GPUs are numbered. */
static const char *const drivers[] = {"amdgpu", "radeon", "xe", "i915", "nouveau"};
#define DRIVER_COUNT (sizeof drivers / sizeof drivers[0])

/* A GPU on the PCI bus, with the sort keys of its number. */
struct found {
    char address[SYSFS_PCI_SIZE];
    bool is_integrated;
    size_t driver;
};

static int compare_found(const void *a, const void *b)
{
    const struct found *left = a, *right = b;
    if (left->is_integrated != right->is_integrated)
        return left->is_integrated ? 1 : -1;
    if (left->driver != right->driver)
        return left->driver < right->driver ? -1 : 1;
    return strcmp(left->address, right->address);
}

static size_t add_found(struct found *list, size_t count, const char *text, size_t driver)
{
    struct found found = {.driver = driver};
    sysfs_find_pci(text, found.address);
    if (!found.address[0] || count == MAX_GPUS)
        return count;
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].address, found.address) == 0)
            return count;
    found.is_integrated = string_starts(found.address, "0000:00:");
    list[count] = found;
    return count + 1;
}

static ssize_t list_driver(struct joule_host *host, const char *driver, struct arena *arena,
                           char ***out_names)
{
    char path[64];
    string_print(path, sizeof path, PCI_DRIVERS "/%s", driver);
    return host->ops->list(host, path, arena, out_names);
}

static size_t find_bound(struct source *source, struct arena *arena, struct found *list)
{
    char **names;
    size_t count = 0;
    for (size_t d = 0; d < DRIVER_COUNT; d++) {
        ssize_t length = list_driver(source->host, drivers[d], arena, &names);
        for (ssize_t i = 0; i < length; i++)
            count = add_found(list, count, names[i], d);
    }
    return count;
}

static size_t find_cards(struct source *source, struct arena *arena, struct found *list, size_t count)
{
    char **ids;
    ssize_t length = source->host->ops->list(source->host, DRM_FOLDER, arena, &ids);
    for (ssize_t i = 0; i < length; i++) {
        struct drm_card card;
        if (!drm_card_open(source, ids[i], &card))
            continue;
        for (size_t d = 0; d < DRIVER_COUNT; d++)
            if (strcmp(card.driver, drivers[d]) == 0)
                count = add_found(list, count, card.pci, d);
    }
    return count;
}

static int32_t count_nvidia(struct joule_host *host, struct arena *arena)
{
    char **names, address[SYSFS_PCI_SIZE];
    int32_t count = 0;
    ssize_t length = list_driver(host, "nvidia", arena, &names);
    for (ssize_t i = 0; i < length; i++) {
        address[0] = '\0';
        sysfs_find_pci(names[i], address);
        count += address[0] != '\0';
    }
    return count;
}

static void read_list(struct source *source, struct gpu_list *gpus)
{
    struct arena arena = {0};
    struct found list[MAX_GPUS];
    size_t count = find_bound(source, &arena, list);
    count = find_cards(source, &arena, list, count);
    qsort(list, count, sizeof *list, compare_found);
    for (size_t i = 0; i < count; i++)
        string_copy(gpus->addresses[i], sizeof gpus->addresses[i], list[i].address);
    gpus->count = count;
    gpus->first = count_nvidia(source->host, &arena);
    gpus->is_read = true;
    arena_free(&arena);
}

int32_t gpu_index(struct source *source, const char *address)
{
    struct gpu_list *gpus = source->gpus;
    if (!gpus->is_read)
        read_list(source, gpus);
    for (size_t i = 0; i < gpus->count; i++)
        if (strcmp(gpus->addresses[i], address) == 0)
            return gpus->first + (int32_t)i;
    if (gpus->count == MAX_GPUS ||
        !string_copy(gpus->addresses[gpus->count], sizeof gpus->addresses[0], address))
        return -1;
    return gpus->first + (int32_t)gpus->count++;
}
