/* joule/sources/accelerator/accelerator.c - see accelerator.h.
 *
 * Ids are from the drivers (habanalabs, neuron, tt-kmd), Google's tpu_info and the PCI ID Repository. */
#include "joule/sources/accelerator/accelerator.h"

#include <string.h>
#include "base/string.h"

#define ANY UINT32_MAX

/* Known accelerators by PCI id. The first row that matches a device is used. */
static const struct row {
    uint32_t vendor, device, subsystem_device;
    /* If true, only devices of the PCI class "processing accelerators" match. The vendor also makes other
     * devices, such as network cards. */
    bool by_class;
    enum accelerator_power power;
    const char *driver, *kind, *vendor_name, *model; /* driver: NULL for any */
} rows[] = {
    {0x1da3, 0x0001, ANY, false, ACCELERATOR_SOURCE, NULL, "hpu", "intel", "Intel Goya"},
    {0x1da3, 0x0030, ANY, false, ACCELERATOR_SOURCE, NULL, "hpu", "intel", "Intel Greco"},
    {0x1da3, 0x1000, ANY, false, ACCELERATOR_SOURCE, NULL, "hpu", "intel", "Intel Gaudi"},
    {0x1da3, 0x1010, ANY, false, ACCELERATOR_SOURCE, NULL, "hpu", "intel", "Intel Gaudi"},
    {0x1da3, 0x1020, ANY, false, ACCELERATOR_SOURCE, NULL, "hpu", "intel", "Intel Gaudi 2"},
    {0x1da3, ANY, ANY, true, ACCELERATOR_SOURCE, NULL, "hpu", "intel", ""},
    {0x1ae0, 0x0027, 0x004e, false, ACCELERATOR_SOURCE, NULL, "tpu", "google", "TPU v2"},
    {0x1ae0, 0x0027, 0x004f, false, ACCELERATOR_SOURCE, NULL, "tpu", "google", "TPU v3"},
    {0x1ae0, 0x005e, ANY, false, ACCELERATOR_SOURCE, NULL, "tpu", "google", "TPU v4"},
    {0x1ae0, 0x0063, ANY, false, ACCELERATOR_SOURCE, NULL, "tpu", "google", "TPU v5e"},
    {0x1ae0, 0x0062, ANY, false, ACCELERATOR_SOURCE, NULL, "tpu", "google", "TPU v5p"},
    {0x1ae0, 0x006f, ANY, false, ACCELERATOR_SOURCE, NULL, "tpu", "google", "TPU v6e"},
    {0x1ae0, 0x0076, ANY, false, ACCELERATOR_SOURCE, NULL, "tpu", "google", "TPU 7x"},
    {0x1d0f, 0x7064, ANY, false, ACCELERATOR_SOURCE, NULL, "neuron", "amazon", "Inferentia"},
    {0x1d0f, 0x7065, ANY, false, ACCELERATOR_SOURCE, NULL, "neuron", "amazon", "Inferentia"},
    {0x1d0f, 0x7066, ANY, false, ACCELERATOR_SOURCE, NULL, "neuron", "amazon", "Inferentia"},
    {0x1d0f, 0x7067, ANY, false, ACCELERATOR_SOURCE, NULL, "neuron", "amazon", "Inferentia"},
    {0x1d0f, 0x7164, ANY, false, ACCELERATOR_SOURCE, NULL, "neuron", "amazon", "Trainium1"},
    {0x1d0f, 0x7264, ANY, false, ACCELERATOR_SOURCE, NULL, "neuron", "amazon", "Inferentia2"},
    {0x1d0f, 0x7364, ANY, false, ACCELERATOR_SOURCE, NULL, "neuron", "amazon", "Trainium2"},
    {0x1e52, 0xfaca, ANY, false, ACCELERATOR_RAIL, NULL, "npu", "tenstorrent", "Tenstorrent Grayskull"},
    {0x1e52, 0x401e, ANY, false, ACCELERATOR_RAIL, NULL, "npu", "tenstorrent", "Tenstorrent Wormhole"},
    {0x1e52, 0xb140, ANY, false, ACCELERATOR_RAIL, NULL, "npu", "tenstorrent", "Tenstorrent Blackhole"},
    {0x17cb, ANY, ANY, false, ACCELERATOR_HWMON, "qaic", "npu", "qualcomm", "Qualcomm Cloud AI 100"},
    {0x17cb, ANY, ANY, true, ACCELERATOR_HWMON, NULL, "npu", "qualcomm", "Qualcomm Cloud AI 100"},
    {0x1de0, 0x0000, ANY, false, ACCELERATOR_NONE, NULL, "npu", "groq", "GroqChip"},
    {0x1d95, ANY, ANY, false, ACCELERATOR_NONE, NULL, "npu", "graphcore", "Graphcore IPU"},
    {0x1ed2, 0x0000, ANY, false, ACCELERATOR_NONE, NULL, "npu", "furiosa", "FuriosaAI Warboy"},
    {0x1ed2, ANY, ANY, true, ACCELERATOR_NONE, NULL, "npu", "furiosa", ""},
    {0x8086, ANY, ANY, false, ACCELERATOR_PACKAGE, "intel_vpu", "npu", "intel", "Intel NPU"},
    {0x1022, ANY, ANY, false, ACCELERATOR_PACKAGE, "amdxdna", "npu", "amd", "AMD NPU"},
    {0x19e5, ANY, ANY, true, ACCELERATOR_NONE, NULL, "npu", "huawei", "Huawei Ascend"},
};

/* Returns true for vendors whose GPUs may have the class "processing accelerators". Other sources describe
 * and number these GPUs. */
static bool is_gpu_vendor(uint32_t vendor)
{
    return vendor == 0x10de || vendor == 0x1002 || vendor == 0x8086;
}

static bool matches(const struct row *row, const struct pci_device *pci)
{
    return row->vendor == pci->vendor && (row->device == ANY || row->device == pci->device) &&
           (row->subsystem_device == ANY || row->subsystem_device == pci->subsystem_device) &&
           (!row->by_class || pci->class >> 16 == PCI_CLASS_ACCELERATOR) &&
           (!row->driver || strcmp(row->driver, pci->driver) == 0);
}

static bool recognise(const struct pci_device *pci, struct accelerator *out)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        if (!matches(row, pci))
            continue;
        *out = (struct accelerator){*pci, row->kind, row->vendor_name, row->model, row->power, 0};
        return true;
    }
    *out = (struct accelerator){*pci, "accel", "", "", ACCELERATOR_HWMON, 0};
    return pci->class >> 16 == PCI_CLASS_ACCELERATOR && !is_gpu_vendor(pci->vendor);
}

/* Returns true if `a` and `b` are functions of the same PCI device. TPUs of the seventh generation have one
 * function for each core. */
static bool is_same_device(const struct accelerator *a, const struct accelerator *b)
{
    size_t length = strlen("0000:65:00");
    return strncmp(a->pci.address, b->pci.address, length) == 0 && strcmp(a->kind, b->kind) == 0;
}

struct search {
    const char *kind;
    struct accelerator *list;
    size_t count, max;
    struct accelerator last; /* the last accelerator found; its kind is NULL before the first */
    struct {
        const char *kind;
        int32_t next;
    } numbers[8]; /* the next number of each kind */
};

static int32_t next_number(struct search *search, const char *kind)
{
    for (size_t i = 0; i < sizeof search->numbers / sizeof search->numbers[0]; i++) {
        if (!search->numbers[i].kind)
            search->numbers[i].kind = kind;
        if (strcmp(search->numbers[i].kind, kind) == 0)
            return search->numbers[i].next++;
    }
    return -1;
}

static bool visit(const struct pci_device *pci, void *context)
{
    struct search *search = context;
    struct accelerator found;
    if (!recognise(pci, &found) || (search->last.kind && is_same_device(&search->last, &found)))
        return true;
    found.index = next_number(search, found.kind);
    search->last = found;
    if (!search->kind || strcmp(search->kind, found.kind) == 0)
        search->list[search->count++] = found;
    return search->count < search->max;
}

size_t accelerators_find(struct source *source, const char *kind, struct accelerator *out_list, size_t max)
{
    struct search search = {.kind = kind, .list = out_list, .max = max};
    if (max)
        pci_visit_all(source, visit, &search);
    return search.count;
}

int32_t accelerator_index(struct source *source, const char *kind, const char *address)
{
    struct accelerator list[MAX_ACCELERATORS];
    size_t count = accelerators_find(source, kind, list, MAX_ACCELERATORS);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].pci.address, address) == 0)
            return list[i].index;
    return -1;
}

/* --- identity that all sources report ------------------------------------------------------------------- */

struct device *source_add_accelerator(struct source *source, const struct accelerator *accelerator)
{
    struct device *device = source_add_device(source, accelerator->kind, accelerator->index);
    if (!device)
        return NULL;
    string_copy(device->vendor, sizeof device->vendor, accelerator->vendor);
    string_copy(device->model, sizeof device->model, accelerator->model);
    if (!device->model[0])
        string_print(device->model, sizeof device->model, "PCI device %04x:%04x", accelerator->pci.vendor,
                     accelerator->pci.device);
    string_copy(device->pci_address, sizeof device->pci_address, accelerator->pci.address);
    string_copy(device->driver, sizeof device->driver, accelerator->pci.driver);
    return device;
}

void accelerator_name_channel(struct channel *channel, const char *kind, int32_t index, const char *what)
{
    joule_domain *info = &channel->info;
    string_print(info->name, sizeof info->name, "%s-%d%s%s", kind, index, *what ? "-" : "", what);
    string_print(info->device, sizeof info->device, "%s:%d", kind, index);
    info->device_index = index;
}

void accelerator_zone(const char *kind, int32_t index, char out_zone[48])
{
    string_print(out_zone, 48, "%s%d/board", kind, index);
}
