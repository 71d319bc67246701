/* joule/sources/intel/intel_gpu_describe.c - an Intel GPU's model, architecture, power limits and reasons for
 * low clocks. See intel_gpu.h.
 *
 * Models are found by PCI id, with the names of Intel's compute runtime. The drivers i915 and xe have
 * different files for the same facts.
 * Note: a power limit of 0 is disabled. The files power1_* contain the card's limits, power2_* those of its
 * package. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/drm_fan.h"
#include "joule/sources/intel/intel_gpu.h"

/* --- identity ------------------------------------------------------------------------------------------- */

/* Families by ranges of PCI ids. */
static const struct {
    uint64_t first, last;
    const char *name;
} architectures[] = {
    {0x0b69, 0x0b6e, "Xe-HPC"}, {0x0bd4, 0x0bdb, "Xe-HPC"},  {0x4905, 0x4909, "Xe-LP"},
    {0x5690, 0x56c2, "Xe-HPG"}, {0xe202, 0xe223, "Xe2-HPG"},
};

static const struct {
    uint64_t id;
    const char *name;
} models[] = {
    {0x0b69, "Intel Data Center GPU Max 1450"},
    {0x0b6e, "Intel Data Center GPU Max 1100C"},
    {0x0bd4, "Intel Data Center GPU Max 1550VG"},
    {0x0bd5, "Intel Data Center GPU Max 1550"},
    {0x0bd6, "Intel Data Center GPU Max 1550"},
    {0x0bd7, "Intel Data Center GPU Max 1350"},
    {0x0bd8, "Intel Data Center GPU Max 1350"},
    {0x0bd9, "Intel Data Center GPU Max 1100"},
    {0x0bda, "Intel Data Center GPU Max 1100"},
    {0x0bdb, "Intel Data Center GPU Max 1100"},
    {0x4905, "Intel Iris Xe MAX"},
    {0x4907, "Intel Server GPU SG-18M"},
    {0x4909, "Intel Iris Xe MAX 100"},
    {0x5690, "Intel Arc A770M"},
    {0x5691, "Intel Arc A730M"},
    {0x5692, "Intel Arc A550M"},
    {0x5693, "Intel Arc A370M"},
    {0x5694, "Intel Arc A350M"},
    {0x5696, "Intel Arc A570M"},
    {0x5697, "Intel Arc A530M"},
    {0x56a0, "Intel Arc A770"},
    {0x56a1, "Intel Arc A750"},
    {0x56a2, "Intel Arc A580"},
    {0x56a5, "Intel Arc A380"},
    {0x56a6, "Intel Arc A310 LP"},
    {0x56af, "Intel Arc A760A"},
    {0x56b0, "Intel Arc Pro A30M"},
    {0x56b1, "Intel Arc Pro A40/A50"},
    {0x56b2, "Intel Arc Pro A60M"},
    {0x56b3, "Intel Arc Pro A60"},
    {0x56ba, "Intel Arc A380E"},
    {0x56bb, "Intel Arc A310E"},
    {0x56bc, "Intel Arc A370E"},
    {0x56bd, "Intel Arc A350E"},
    {0x56be, "Intel Arc A750E"},
    {0x56bf, "Intel Arc A580E"},
    {0x56c0, "Intel Data Center GPU Flex 170"},
    {0x56c1, "Intel Data Center GPU Flex 140"},
    {0x56c2, "Intel Data Center GPU Flex 170V"},
    {0xe209, "Intel Arc B580"},
    {0xe20b, "Intel Arc B580"},
    {0xe20c, "Intel Arc B570"},
    {0xe211, "Intel Arc Pro B60"},
    {0xe212, "Intel Arc Pro B50"},
    {0xe222, "Intel Arc Pro B65"},
    {0xe223, "Intel Arc Pro B70"},
};

void intel_gpu_set_identity(struct source *source, const struct drm_card *card, struct device *device)
{
    string_copy(device->vendor, sizeof device->vendor, "intel");
    string_copy(device->driver, sizeof device->driver, card->driver);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (models[i].id == card->pci_device)
            string_copy(device->model, sizeof device->model, models[i].name);
    if (!device->model[0])
        drm_card_find_name(source, card, device->model, sizeof device->model);
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (card->pci_device >= architectures[i].first && card->pci_device <= architectures[i].last)
            string_copy(device->architecture, sizeof device->architecture, architectures[i].name);
}

void intel_gpu_find_hwmon(struct source *source, const struct drm_card *card, char *out_folder, size_t size)
{
    char path[64], file[128], name[16], **names;
    *out_folder = '\0';
    string_print(path, sizeof path, "%s/hwmon", card->folder);
    ssize_t count = source->host->ops->list(source->host, path, &source->arena, &names);
    for (ssize_t i = 0; i < count && !*out_folder; i++) {
        string_print(file, sizeof file, "%s/%s/name", path, names[i]);
        if (sysfs_read_text(source, file, name, sizeof name) &&
            strcmp(name, card->driver) == 0) /* the file of the card, not of a tile */
            string_print(out_folder, size, "%s/%s", path, names[i]);
    }
}

/* --- limits --------------------------------------------------------------------------------------------- */

/* Returns a power limit in watts, or NaN if it is unknown or disabled. */
static double read_watts(struct joule_host *host, const char *hwmon, unsigned channel, const char *suffix)
{
    char path[128];
    uint64_t microwatts = 0;
    string_print(path, sizeof path, "%s/power%u_%s", hwmon, channel, suffix);
    return host_read_u64(host, path, &microwatts) && microwatts ? (double)microwatts * 1e-6 : NAN;
}

/* Reads the limits of the card, or else of its package. powerN_max is the sustained limit, powerN_cap the
 * limit of bursts, powerN_crit the limit at any time. */
static void find_limits(struct joule_host *host, const char *hwmon, struct device_facts *facts)
{
    for (unsigned channel = 1; channel <= 2 && isnan(facts->limit_watts); channel++) {
        double sustained = read_watts(host, hwmon, channel, "max");
        double burst = read_watts(host, hwmon, channel, "cap");
        double critical = read_watts(host, hwmon, channel, "crit");
        facts->limit_watts = isnan(sustained) ? burst : sustained;
        facts->enforced_limit_watts = fmin(sustained, fmin(burst, critical)); /* fmin ignores NaN */
        facts->default_limit_watts = read_watts(host, hwmon, channel, "rated_max");
    }
}

/* --- clocks --------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t reason;
} throttles[] = {
    {"pl1", JOULE_CLOCKS_POWER},
    {"pl2", JOULE_CLOCKS_POWER},
    {"pl4", JOULE_CLOCKS_POWER},
    {"thermal", JOULE_CLOCKS_TEMPERATURE},
    {"ratl", JOULE_CLOCKS_TEMPERATURE}, /* running average of the temperature */
    {"prochot", JOULE_CLOCKS_HOT_HARDWARE},
    {"vr_thermalert", JOULE_CLOCKS_HOT_HARDWARE},
    {"vr_tdc", JOULE_CLOCKS_SLOWDOWN}, /* the current of a voltage regulator */
};

static bool read_throttle(struct joule_host *host, const struct drm_card *card, const char *name,
                          uint64_t *out_value)
{
    char path[128];
    bool is_status = strcmp(name, "status") == 0;
    if (strcmp(card->driver, "xe") == 0)
        string_print(path, sizeof path, "%s/tile0/gt0/freq0/throttle/%s%s", card->folder,
                     is_status ? "" : "reason_", name);
    else
        string_print(path, sizeof path, DRM_FOLDER "/%s/gt/gt0/throttle_reason_%s", card->id, name);
    return host_read_u64(host, path, out_value);
}

static uint32_t find_reasons(struct joule_host *host, const struct drm_card *card)
{
    uint64_t status, value;
    uint32_t reasons = 0;
    if (!read_throttle(host, card, "status", &status))
        return JOULE_CLOCKS_UNKNOWN;
    for (size_t i = 0; status && i < sizeof throttles / sizeof throttles[0]; i++)
        if (read_throttle(host, card, throttles[i].name, &value) && value)
            reasons |= throttles[i].reason;
    return status && !reasons ? JOULE_CLOCKS_OTHER : reasons;
}

/* --- memory --------------------------------------------------------------------------------------------- */

/* Returns the size of the board's memory in bytes. Only the first kernels with xe have these files, one for
 * each tile. */
static uint64_t find_memory(struct joule_host *host, const struct drm_card *card)
{
    uint64_t sum = 0, bytes;
    char path[96];
    for (unsigned tile = 0;; tile++) {
        string_print(path, sizeof path, "%s/tile%u/physical_vram_size_bytes", card->folder, tile);
        if (tile == 8 || !host_read_u64(host, path, &bytes))
            return sum ? sum : JOULE_BYTES_UNKNOWN;
        sum += bytes;
    }
}

struct device_facts intel_gpu_facts(struct joule_host *host, const struct drm_card *card, const char *hwmon)
{
    struct device_facts facts = device_facts_unknown();
    facts.memory_total_bytes = find_memory(host, card);
    facts.clock_reasons = find_reasons(host, card);
    if (!*hwmon)
        return facts;
    find_limits(host, hwmon, &facts);
    drm_fan_read(host, hwmon, false, &facts);
    return facts;
}
