/* joule/sources/amd/amdgpu_describe.c - see amdgpu.h.
 *
 * Note: only server boards report a product name; names of other boards are found by PCI id. Most boards
 * newer than Vega have a unique id. The name of the architecture ("gfx942") comes from the compute driver.
 */
#include "joule/sources/amd/amdgpu.h"

#include <string.h>
#include "base/string.h"
#include "joule/sources/drm_fan.h"

static bool card_text(struct source *source, const char *folder, const char *file, char *out, size_t size)
{
    char path[128];
    string_print(path, sizeof path, "%s/%s", folder, file);
    return sysfs_read_text(source, path, out, size);
}

/* --- identity ------------------------------------------------------------------------------------------- */

void amdgpu_set_identity(struct source *source, const struct drm_card *card, const struct kfd *kfd,
                         struct device *device)
{
    char id[32];
    string_copy(device->vendor, sizeof device->vendor, "amd");
    string_copy(device->driver, sizeof device->driver, card->driver);
    if (!card_text(source, card->folder, "product_name", device->model, sizeof device->model))
        drm_card_find_name(source, card, device->model, sizeof device->model);
    if (card_text(source, card->folder, "unique_id", id, sizeof id) && strspn(id, "0") != strlen(id))
        string_print(device->uuid, sizeof device->uuid, "GPU-%s", id);
    kfd_architecture(kfd, device->pci_address, device->architecture, sizeof device->architecture);
}

void amdgpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size)
{
    char path[64], **names;
    *out_folder = '\0';
    string_print(path, sizeof path, "%s/hwmon", card->folder);
    if (source->host->ops->list(source->host, path, &source->arena, &names) > 0)
        string_print(out_folder, size, "%s/%s", path, names[0]);
}

/* --- facts ---------------------------------------------------------------------------------------------- */

static void read_bytes(struct joule_host *host, const char *folder, const char *file, uint64_t *out_bytes)
{
    char path[128];
    string_print(path, sizeof path, "%s/%s", folder, file);
    host_read_u64(host, path, out_bytes);
}

static void read_watts(struct joule_host *host, const char *folder, const char *file, double *out_watts)
{
    char path[128];
    uint64_t microwatts;
    string_print(path, sizeof path, "%s/%s", folder, file);
    if (host_read_u64(host, path, &microwatts))
        *out_watts = (double)microwatts * 1e-6;
}

static void read_count(struct joule_host *host, const char *folder, const char *file, double *out_count)
{
    char path[128];
    uint64_t count;
    string_print(path, sizeof path, "%s/%s", folder, file);
    if (host_read_u64(host, path, &count) && count < UINT32_MAX)
        *out_count = (double)count;
}

void amdgpu_mode(struct joule_host *host, const char *folder, char *out_mode, size_t size)
{
    char path[128], memory[16];
    string_print(path, sizeof path, "%s/current_compute_partition", folder);
    if (!host_read_text(host, path, out_mode, size) || strcmp(out_mode, "SPX") == 0 ||
        strcmp(out_mode, "UNKNOWN") == 0) {
        *out_mode = '\0';
        return;
    }
    string_print(path, sizeof path, "%s/current_memory_partition", folder);
    size_t length = strlen(out_mode);
    if (host_read_text(host, path, memory, sizeof memory) && string_starts(memory, "NPS"))
        string_print(out_mode + length, size - length, "/%s", memory);
}

struct device_facts amdgpu_facts(struct joule_host *host, const char *folder, const char *hwmon)
{
    struct device_facts facts = device_facts_unknown();
    read_bytes(host, folder, "mem_info_vram_total", &facts.memory_total_bytes);
    read_bytes(host, folder, "mem_info_vram_used", &facts.memory_used_bytes);
    if (facts.memory_total_bytes != JOULE_BYTES_UNKNOWN &&
        facts.memory_used_bytes <= facts.memory_total_bytes)
        facts.memory_free_bytes = facts.memory_total_bytes - facts.memory_used_bytes;
    read_count(host, folder, "pcie_replay_count", &facts.pcie_replays);
    if (!*hwmon)
        return facts;
    drm_fan_read(host, hwmon, true, &facts);
    read_watts(host, hwmon, "power1_cap", &facts.limit_watts);
    read_watts(host, hwmon, "power1_cap_default", &facts.default_limit_watts);
    read_watts(host, hwmon, "power1_cap_min", &facts.min_limit_watts);
    read_watts(host, hwmon, "power1_cap_max", &facts.max_limit_watts);
    return facts;
}
