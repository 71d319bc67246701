/* joule/sources/amdgpu_describe.c - see amdgpu.h.
 *
 * Newcomers: product names are there on servers' boards alone, unique ids on most that are newer than Vega; the name of an
 * architecture ("gfx942") comes from the compute driver's topology, which counts CPUs as nodes, too.
 */
#include "joule/sources/amdgpu.h"

#include <string.h>
#include "base/string.h"

#define KFD_NODES "/sys/class/kfd/kfd/topology/nodes"

static bool card_text(struct source *source, const char *folder, const char *file, char *out, size_t size)
{
    char path[128];
    string_print(path, sizeof path, "%s/%s", folder, file);
    return sysfs_text(source, path, out, size);
}

/* --- architecture --------------------------------------------------------------------------------------------- */

/* The number behind a word at the beginning of a line: "gfx_target_version 90402". */
static bool property(const char *lines, const char *word, uint64_t *out_value)
{
    size_t length = strlen(word);
    for (const char *line = lines; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char number[24];
        if (!string_starts(line, word) || line[length] != ' ')
            continue;
        size_t digits = strcspn(line + length + 1, "\n");
        if (digits >= sizeof number)
            return false;
        memcpy(number, line + length + 1, digits);
        number[digits] = '\0';
        return string_to_u64(number, 10, out_value);
    }
    return false;
}

/* A node's place on the PCI bus, as the kernel writes addresses. */
static bool is_node_at(const char *properties, const char *pci_address)
{
    uint64_t domain, location;
    char address[SYSFS_PCI_SIZE];
    if (!property(properties, "domain", &domain) || !property(properties, "location_id", &location))
        return false;
    string_print(address, sizeof address, "%04x:%02x:%02x.%x", (unsigned)domain & 0xffff,
                 (unsigned)(location >> 8) & 0xff, (unsigned)(location >> 3) & 0x1f, (unsigned)location & 7);
    return strcmp(address, pci_address) == 0;
}

static void find_architecture(struct source *source, struct device *device)
{
    char **nodes;
    ssize_t count = source->host->ops->list(source->host, KFD_NODES, &source->arena, &nodes);
    for (ssize_t i = 0; i < count && !device->architecture[0]; i++) {
        char path[96], properties[4096];
        uint64_t version;
        string_print(path, sizeof path, KFD_NODES "/%s/properties", nodes[i]);
        if (host_read_text(source->host, path, properties, sizeof properties) &&
            is_node_at(properties, device->pci_address) &&
            property(properties, "gfx_target_version", &version) && version)
            string_print(device->architecture, sizeof device->architecture, "gfx%u%u%x",
                         (unsigned)(version / 10000), (unsigned)(version / 100 % 100),
                         (unsigned)(version % 100));
    }
}

/* --- identity ------------------------------------------------------------------------------------------------- */

void amdgpu_introduce(struct source *source, const struct drm_card *card, struct device *device)
{
    char id[32];
    string_copy(device->vendor, sizeof device->vendor, "amd");
    string_copy(device->driver, sizeof device->driver, card->driver);
    card_text(source, card->folder, "product_name", device->model, sizeof device->model);
    if (card_text(source, card->folder, "unique_id", id, sizeof id) && strspn(id, "0") != strlen(id))
        string_print(device->uuid, sizeof device->uuid, "GPU-%s", id);
    find_architecture(source, device);
}

void amdgpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size)
{
    char path[64], **names;
    *out_folder = '\0';
    string_print(path, sizeof path, "%s/hwmon", card->folder);
    if (source->host->ops->list(source->host, path, &source->arena, &names) > 0)
        string_print(out_folder, size, "%s/%s", path, names[0]);
}

/* --- facts ---------------------------------------------------------------------------------------------------- */

static void take_bytes(struct joule_host *host, const char *folder, const char *file, uint64_t *out_bytes)
{
    char path[128];
    string_print(path, sizeof path, "%s/%s", folder, file);
    host_read_u64(host, path, out_bytes);
}

static void take_watts(struct joule_host *host, const char *folder, const char *file, double *out_watts)
{
    char path[128];
    uint64_t microwatts;
    string_print(path, sizeof path, "%s/%s", folder, file);
    if (host_read_u64(host, path, &microwatts))
        *out_watts = (double)microwatts * 1e-6;
}

struct device_facts amdgpu_facts(struct joule_host *host, const char *folder, const char *hwmon)
{
    struct device_facts facts = device_facts_unknown();
    take_bytes(host, folder, "mem_info_vram_total", &facts.memory_total_bytes);
    take_bytes(host, folder, "mem_info_vram_used", &facts.memory_used_bytes);
    if (facts.memory_total_bytes != JOULE_BYTES_UNKNOWN &&
        facts.memory_used_bytes <= facts.memory_total_bytes)
        facts.memory_free_bytes = facts.memory_total_bytes - facts.memory_used_bytes;
    if (!*hwmon)
        return facts;
    take_watts(host, hwmon, "power1_cap", &facts.limit_watts);
    take_watts(host, hwmon, "power1_cap_default", &facts.default_limit_watts);
    take_watts(host, hwmon, "power1_cap_min", &facts.least_limit_watts);
    take_watts(host, hwmon, "power1_cap_max", &facts.most_limit_watts);
    return facts;
}
