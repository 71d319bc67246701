/* joule/sources/hwmon/hwmon_accelerator.c - monitors of accelerators other than GPUs. See hwmon.h.
 *
 * These are Intel's Gaudi (habanalabs), Qualcomm's AI 100 (qaic), and Tenstorrent's Wormhole and Blackhole.
 * Note: a Qualcomm card may have four devices that each report the card's power. Gaudi's driver does not
 * convert the firmware's value, so its unit is unknown. Tenstorrent's value covers only the chip's core. */
#include <string.h>
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"
#include "joule/sources/hwmon/hwmon.h"

#define MAX_BRIDGES 16

static bool has_driver(const struct hwmon_chip *chip, const char *driver)
{
    return strcmp(chip->name, driver) == 0 || strcmp(chip->driver, driver) == 0;
}

/* --- unit of Gaudi's power ------------------------------------------------------------------------------ */

static bool read_power(const struct hwmon_chip *chip, uint64_t *out_raw)
{
    int power_state = hwmon_open_power_state(chip);
    bool is_suspended = hwmon_is_suspended(chip->source->host, power_state);
    host_close_handle(chip->source->host, power_state);
    return !is_suspended && hwmon_read_number(chip, "power", 1, "input", out_raw);
}

/* Returns the watts per unit of power1_input: 1e-6, or 1e-3 if the driver does not convert the firmware's
 * milliwatts. A board draws between 1/100 of max_power, when idle, and 2 * max_power. max_power is in
 * milliwatts. A value below 2 * max_power is therefore in milliwatts, because a value in microwatts is at
 * least 10 * max_power. */
static double gaudi_unit_watts(const struct hwmon_chip *chip)
{
    static const char *const folders[] = {"device", "device/device"};
    uint64_t raw, max_milliwatts;
    char path[96];
    for (size_t i = 0; i < 2; i++) {
        string_print(path, sizeof path, "/sys/class/hwmon/%s/%s/max_power", chip->id, folders[i]);
        if (host_read_u64(chip->source->host, path, &max_milliwatts) && max_milliwatts > 0)
            return read_power(chip, &raw) && raw > 0 && raw < 2 * max_milliwatts ? 1e-3 : 1e-6;
    }
    return 1e-6;
}

/* --- cards with several devices ------------------------------------------------------------------------- */

/* Writes the PCI address of the second bridge above a device, which is the same for all devices behind one
 * PCI switch. Returns false if there is none, as for a device that is alone in a slot. */
static bool switch_of(struct source *source, const char *address, char out_bridge[SYSFS_PCI_SIZE])
{
    char path[96], link[512], *rest = link, *part;
    char found[MAX_BRIDGES][SYSFS_PCI_SIZE];
    size_t count = 0;
    string_print(path, sizeof path, PCI_FOLDER "/%s", address);
    if (source->host->ops->read_link(source->host, path, link, sizeof link) <= 0)
        return false;
    while ((part = strsep(&rest, "/")) != NULL && count < MAX_BRIDGES) {
        found[count][0] = '\0';
        sysfs_find_pci(part, found[count]);
        count += found[count][0] != '\0';
    }
    return count >= 3 && string_copy(out_bridge, SYSFS_PCI_SIZE, found[count - 3]);
}

static bool read_power_at(const struct hwmon_chip *chip, const char *address, uint64_t *out_raw)
{
    char folder[96], path[192], **names;
    string_print(folder, sizeof folder, PCI_FOLDER "/%s/hwmon", address);
    if (chip->source->host->ops->list(chip->source->host, folder, &chip->source->arena, &names) <= 0)
        return false;
    string_print(path, sizeof path, "%s/%s/power1_input", folder, names[0]);
    return host_read_u64(chip->source->host, path, out_raw);
}

/* Returns true if the device at `address` reports the same power as this chip's device, to the microwatt. Two
 * such devices behind one switch are one card. The power may change between two reads, so this chip is read
 * before and after the other device, and one match suffices. */
static bool has_same_power(const struct hwmon_chip *chip, const char *address)
{
    uint64_t before, other, after;
    return read_power(chip, &before) && read_power_at(chip, address, &other) && read_power(chip, &after) &&
           (other == before || other == after);
}

/* Returns the index of the first device on the same card. `own` is the index of this chip's device. */
static int32_t card_of(const struct hwmon_chip *chip, int32_t own)
{
    struct accelerator list[MAX_ACCELERATORS];
    char own_switch[SYSFS_PCI_SIZE], other_switch[SYSFS_PCI_SIZE];
    size_t count = accelerators_find(chip->source, "npu", list, MAX_ACCELERATORS);
    if (!switch_of(chip->source, chip->pci, own_switch))
        return own;
    for (size_t i = 0; i < count && list[i].index < own; i++)
        if (strcmp(list[i].vendor, "qualcomm") == 0 &&
            switch_of(chip->source, list[i].pci.address, other_switch) &&
            strcmp(own_switch, other_switch) == 0 && has_same_power(chip, list[i].pci.address))
            return list[i].index;
    return own;
}

/* --- domains -------------------------------------------------------------------------------------------- */

int32_t hwmon_accelerator_index(const struct hwmon_chip *chip, const char *kind)
{
    int32_t index = chip->pci[0] ? accelerator_index(chip->source, kind, chip->pci) : -1;
    return index >= 0 ? index : (int32_t)chip->ordinal;
}

static void set_device(struct hwmon_domain *d, const char *kind, int32_t index, const char *vendor)
{
    d->tier = 3;
    d->device_index = index;
    string_print(d->device, sizeof d->device, "%s:%d", kind, index);
    string_copy(d->vendor, sizeof d->vendor, vendor);
}

static void set_board(struct hwmon_domain *d, const char *kind, int32_t index, int32_t board)
{
    d->scope = JOULE_SCOPE_GPU;
    d->rank++; /* a vendor library's view of the board has priority */
    d->cause = CAUSE(CAUSE_HWMON_GAIN, 512 + (uint32_t)board);
    string_print(d->name, sizeof d->name, "%s-%d", kind, index);
    accelerator_zone(kind, board, d->zone);
}

static void gaudi_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                         struct hwmon_domain *d)
{
    int32_t index = hwmon_accelerator_index(chip, "hpu");
    set_device(d, "hpu", index, "intel");
    if (input->kind != HWMON_POWER)
        return;
    d->unit_watts = gaudi_unit_watts(chip);
    if (input->number == 1)
        set_board(d, "hpu", index, index);
    else
        accelerator_zone("hpu", index, d->parent_zone);
}

static void qualcomm_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                            struct hwmon_domain *d)
{
    int32_t index = hwmon_accelerator_index(chip, "npu");
    set_device(d, "npu", index, "qualcomm");
    d->zero_is_unknown = true; /* the driver reports 0 if the firmware does not answer */
    if (input->kind == HWMON_POWER && input->number == 1)
        set_board(d, "npu", index, card_of(chip, index));
}

/* Describes Tenstorrent's power, which is in whole watts and covers only the chip's core. */
static void tenstorrent_domain(const struct hwmon_chip *chip, struct hwmon_domain *d)
{
    int32_t index = hwmon_accelerator_index(chip, "npu");
    set_device(d, "npu", index, "tenstorrent");
    string_print(d->name, sizeof d->name, "npu-%d-core", index);
    accelerator_zone("npu", index, d->parent_zone);
}

bool hwmon_accelerator_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                              struct hwmon_domain *d)
{
    if (has_driver(chip, "habanalabs"))
        gaudi_domain(chip, input, d);
    else if (has_driver(chip, "qaic"))
        qualcomm_domain(chip, input, d);
    else if (has_driver(chip, "wormhole") || has_driver(chip, "blackhole"))
        tenstorrent_domain(chip, d);
    else
        return false;
    return true;
}
