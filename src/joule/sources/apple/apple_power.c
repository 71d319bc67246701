/* joule/sources/apple/apple_power.c - see apple_power.h. */
#include "joule/sources/apple/apple_power.h"

#include <math.h>
#include "base/string.h"

#define MODEL_SD    0.2 /* assumed: Apple calls these values estimates and states no error */
#define GAIN_SD     0.03
#define FIRST_CAUSE 360
#define MAX_WATTS   2000.0

struct apple_power apple_power_unknown(void)
{
    struct apple_power power = {.gpu_busy = NAN, .gpu_megahertz = NAN, .gpu_celsius = NAN};
    for (int part = 0; part < APPLE_PARTS; part++)
        power.watts[part] = NAN;
    return power;
}

/* A Mac with an Apple chip has one GPU, without a PCI address. "apple" takes the place of the address. */
struct device *apple_gpu_device(struct source *source)
{
    struct device *gpu = source->device_count ? source->devices[0] : source_add_gpu(source, "apple");
    if (!gpu)
        return NULL;
    gpu->pci_address[0] = '\0';
    string_copy(gpu->vendor, sizeof gpu->vendor, "apple");
    string_copy(gpu->model, sizeof gpu->model, "Apple GPU");
    return gpu;
}

static const struct {
    joule_scope scope;
    const char *name, *device, *zone, *label;
} parts[APPLE_PARTS] = {
    [APPLE_CPU] = {JOULE_SCOPE_PACKAGE, "package-0", "cpu:0", "cpu0/package", "CPU: all clusters"},
    [APPLE_GPU] = {JOULE_SCOPE_GPU, NULL, NULL, NULL, "GPU"},
    [APPLE_NEURAL] = {JOULE_SCOPE_GPU, "npu-0", "npu:0", "npu0/board", "neural engine"},
    [APPLE_MEMORY] = {JOULE_SCOPE_DRAM, "dram-0", "memory:0", "cpu0/dram", "memory"},
    [APPLE_GPU_MEMORY] = {JOULE_SCOPE_GPU_MEMORY, "gpu-sram", "node", "gpu/sram",
                          "the GPU's memory on the chip"},
    [APPLE_SYSTEM] = {JOULE_SCOPE_NODE, "node", "node", "node", "the whole machine"},
};

static bool name_gpu(struct source *source, struct channel *ch)
{
    const struct device *gpu = apple_gpu_device(source);
    if (!gpu)
        return false;
    gpu_name_channel(ch, gpu->index, "");
    gpu_zone(gpu->index, false, ch->zone);
    return true;
}

struct channel *apple_add_part(struct source *source, enum apple_part part)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    ch->info.scope = parts[part].scope;
    ch->info.device_index = part == APPLE_SYSTEM || part == APPLE_GPU_MEMORY ? -1 : 0;
    ch->info.tier = part == APPLE_GPU || part == APPLE_NEURAL ? 3 : 2;
    ch->info.cls = part == APPLE_SYSTEM ? JOULE_CLASS_DERIVED : JOULE_CLASS_MODELLED;
    ch->gain_sd = part == APPLE_SYSTEM ? GAIN_SD : MODEL_SD;
    ch->cause = CAUSE(CAUSE_HWMON_GAIN, FIRST_CAUSE + part);
    ch->integrator.max_watts = ch->counter.max_watts = MAX_WATTS;
    string_copy(ch->info.vendor, sizeof ch->info.vendor, "apple");
    string_copy(ch->info.label, sizeof ch->info.label, parts[part].label);
    if (part == APPLE_GPU)
        return name_gpu(source, ch) ? ch : NULL;
    string_copy(ch->info.name, sizeof ch->info.name, parts[part].name);
    string_copy(ch->info.device, sizeof ch->info.device, parts[part].device);
    string_copy(ch->zone, sizeof ch->zone, parts[part].zone);
    return ch;
}
