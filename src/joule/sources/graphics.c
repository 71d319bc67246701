/* joule/sources/graphics.c - the source "graphics": GPUs on the PCI bus that no other source opens, with the
 * reason why their energy is unknown.
 *
 * A board of AMD, Intel or NVIDIA is listed here in four cases: it has the driver radeon or nouveau, it has
 * no driver, it is passed through to a virtual machine, or NVIDIA's driver is present without its library. A
 * GPU inside a processor is listed too, but its energy is part of the package's energy.
 * Note: only files are read, so no board is woken. */
#include <string.h>
#include "base/string.h"
#include "joule/sources/device.h"
#include "joule/sources/nvidia/nvml.h"
#include "joule/sources/pci_names.h"

#define CLASS_DISPLAY 0x03 /* PCI base class of display devices */
#define PERIOD_S      1

enum { AMD = 0x1002, NVIDIA = 0x10de, INTEL = 0x8086 };

struct graphics {
    struct device *listed[MAX_GPUS]; /* devices that no other source describes */
    size_t count;
};

/* --- properties of a board ------------------------------------------------------------------------------ */

static const char *vendor_name(uint32_t vendor)
{
    return vendor == AMD ? "amd" : vendor == NVIDIA ? "nvidia" : "intel";
}

/* Returns true if the source "amdgpu" or "intel_gpu" describes the board. */
static bool has_source(const struct pci_device *pci)
{
    static const char *const drivers[] = {"amdgpu", "i915", "xe", NULL};
    return string_is_one_of(pci->driver, drivers);
}

static bool is_graphics(const struct pci_device *pci)
{
    return pci->class >> 16 == CLASS_DISPLAY &&
           (pci->vendor == AMD || pci->vendor == NVIDIA || pci->vendor == INTEL);
}

static bool is_integrated(const struct pci_device *pci)
{
    return string_starts(pci->address, "0000:00:");
}

static bool has_nvidia_driver(const struct pci_device *pci)
{
    return strcmp(pci->driver, "nvidia") == 0;
}

/* Returns why the energy of a board with this driver is unknown, and what the user can do. */
static const char *reason_for(const struct pci_device *pci)
{
    if (!pci->driver[0])
        return pci->vendor == NVIDIA
                   ? "no driver is bound to this board: install NVIDIA's driver, or `modprobe nvidia`"
               : pci->vendor == AMD ? "no driver is bound to this board: `modprobe amdgpu`"
                                    : "no driver is bound to this board: `modprobe xe` or `modprobe i915`";
    if (strcmp(pci->driver, "vfio-pci") == 0)
        return "this board is passed through to a virtual machine: it can only be measured there";
    if (strcmp(pci->driver, "radeon") == 0)
        return "the driver radeon reports no power; amdgpu does from GCN 1 on: boot with "
               "radeon.si_support=0 "
               "radeon.cik_support=0 amdgpu.si_support=1 amdgpu.cik_support=1";
    if (strcmp(pci->driver, "nouveau") == 0)
        return "the driver nouveau reports no power of this board: NVIDIA's own driver does";
    if (has_nvidia_driver(pci))
        return "NVIDIA's driver reports power through libnvidia-ml.so.1 or nvidia-smi; neither answers for "
               "this board: "
               "install both with the driver, or set JOULE_NVML_LIB";
    return "the driver of this board reports no power: measure the machine at its BMC, supply or PDU";
}

/* Returns true if the board's driver has a hardware monitor with power or energy. The source hwmon reads this
 * monitor. */
static bool has_meter(struct source *source, const struct pci_device *pci)
{
    static const char *const files[] = {"power1_input", "power1_average", "energy1_input"};
    char path[160], text[32], **names;
    string_print(path, sizeof path, PCI_FOLDER "/%s/hwmon", pci->address);
    ssize_t count = source->host->ops->list(source->host, path, &source->arena, &names);
    for (ssize_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
            string_print(path, sizeof path, PCI_FOLDER "/%s/hwmon/%s/%s", pci->address, names[i], files[k]);
            if (host_read_text(source->host, path, text, sizeof text))
                return true;
        }
    return false;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static void find_name(struct source *source, const struct pci_device *pci, struct device *device)
{
    char path[96], text[16];
    uint64_t revision;
    string_print(path, sizeof path, PCI_FOLDER "/%s/revision", pci->address);
    bool has_revision =
        host_read_text(source->host, path, text, sizeof text) && string_to_u64(text, 0, &revision);
    if (!pci_find_name(source->host, pci->vendor, pci->device, has_revision ? (int32_t)revision : -1,
                       device->model, sizeof device->model))
        string_print(device->model, sizeof device->model, "PCI device %04x:%04x", pci->vendor, pci->device);
}

/* Adds an unavailable channel for the board, with the reason why its energy is unknown. Returns false if out
 * of memory. */
static bool add_unavailable(struct source *source, const struct device *device)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return false;
    gpu_name_channel(ch, device->index, "");
    ch->mode = CHANNEL_POWER;
    ch->rank = RANK_MODEL;
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    ch->info.state = JOULE_UNSUPPORTED;
    string_copy(ch->info.remedy, sizeof ch->info.remedy, device->remedy);
    string_copy(ch->info.vendor, sizeof ch->info.vendor, device->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, device->model);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, device->pci_address);
    gpu_zone(device->index, false, ch->zone);
    ch->integrator.period_s = PERIOD_S;
    return true;
}

/* Adds the board, and an unavailable channel unless another source measures the board. nvidia_index: the
 * number that NVIDIA's driver gives this board, which is its place in the order of PCI addresses. The number
 * is used only if this driver is bound. Returns false if out of memory. */
static bool add_board(struct source *source, const struct pci_device *pci, int32_t nvidia_index)
{
    struct graphics *graphics = source->data;
    bool has_nvml = has_nvidia_driver(pci) && nvml_is_available(source->host);
    struct device *device = has_nvidia_driver(pci) ? source_add_device(source, "gpu", nvidia_index)
                                                   : source_add_gpu(source, pci->address);
    if (!device)
        return graphics->count == MAX_GPUS;
    string_copy(device->pci_address, sizeof device->pci_address, pci->address);
    string_copy(device->vendor, sizeof device->vendor, vendor_name(pci->vendor));
    string_copy(device->driver, sizeof device->driver, pci->driver);
    string_copy(device->remedy, sizeof device->remedy,
                is_integrated(pci) ? "this GPU is part of a processor and is measured with it"
                                   : reason_for(pci));
    find_name(source, pci, device);
    if (!has_nvml)
        graphics->listed[graphics->count++] = device;
    return has_nvml || is_integrated(pci) || has_meter(source, pci) || add_unavailable(source, device);
}

struct search {
    struct source *source;
    int32_t nvidia_count;
    bool has_memory;
};

static bool visit(const struct pci_device *pci, void *context)
{
    struct search *search = context;
    struct graphics *graphics = search->source->data;
    if (is_graphics(pci) && !has_source(pci))
        search->has_memory = add_board(search->source, pci, search->nvidia_count);
    search->nvidia_count += is_graphics(pci) && has_nvidia_driver(pci);
    return search->has_memory && graphics->count < MAX_GPUS;
}

static joule_status graphics_open(struct source *source)
{
    struct search search = {.source = source, .has_memory = true};
    source->data = arena_alloc(&source->arena, sizeof(struct graphics));
    if (!source->data)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    pci_visit_all(source, visit, &search);
    if (!search.has_memory)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    if (source->device_count == 0)
        return source_set_state(source, JOULE_ABSENT, "no GPU on the PCI bus needs this source");
    return JOULE_OK;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void graphics_read(struct source *source, struct sink *sink)
{
    (void)source;
    (void)sink;
}

/* Reports the boards as present, except those that NVIDIA's library describes. */
static void graphics_query(struct source *source, struct sink *sink)
{
    const struct graphics *graphics = source->data;
    struct device_facts facts = device_facts_unknown();
    for (size_t i = 0; i < graphics->count; i++)
        sink_facts(sink, graphics->listed[i], &facts);
}

const struct source_ops source_graphics = {
    .name = "graphics",
    .measurement = "external",
    .tier = 3,
    .is_slow = true, /* a server's bus has hundreds of devices */
    .is_late = true,
    .folder = PCI_FOLDER,
    .period_s = PERIOD_S,
    .open = graphics_open,
    .read = graphics_read,
    .query = graphics_query,
};
