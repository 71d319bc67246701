/* joule/sources/hwmon/hwmon_domain.c - finds which part of the machine an input covers. See hwmon.h.
 *
 * This file contains the scopes and zones by driver and label, the update periods, and the gain errors. A
 * gain error is one standard deviation of the scale. Errors that are not from a data sheet are marked as
 * assumed.
 * Note: the power of NVIDIA's module includes its GPU. AMD's integrated graphics report the power of the
 * whole package. If it is not certain what an input covers, the input is a rail, which is in no total. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/hwmon/hwmon.h"
#include "joule/sources/sysfs.h"

#define MAX_PACKAGE_WATTS 2000.0
#define MAX_DEVICE_WATTS  5000.0
#define MAX_NODE_WATTS    100000.0 /* one supply may feed a chassis with many machines */

struct traits {
    const char *chip;
    double period_s;
    bool period_is_known;
    double gain_sd;
    double coverage;    /* see struct hwmon_domain */
    double fold_joules; /* see struct hwmon_domain */
};

/* Range of a 32-bit register in units of 2^-14 J. Intel's drivers accumulate such registers only when they
 * are read. */
#define INTEL_FOLD_J 262144.0

static const struct traits traits_of_chips[] = {
    {"power_meter", 1.0, false, 0.03},    /* assumed: power supplies' meters are specified with 1 to 5 % */
    {"amd_energy", 1e-3, true, 0.05},     /* the CPU's own energy registers; gain assumed */
    {"amd_hsmp_hwmon", 0.1, false, 0.05}, /* assumed */
    {"apm_xgene", 0.1, false, 0.05},      /* assumed */
    {"ibmpowernv", 0.1, true, 0.03},      /* firmware updates its sensors every 100 ms; gain assumed */
    /* Gain errors are 0.1 to 0.5 % according to data sheets, plus 1 % for the shunt. The drivers configure
     * these periods. */
    {"ina3221", 0.0066, false, 0.01, 1.0 / 3}, /* three rails are measured in turn */
    {"ina219", 0.0011, false, 0.01, 1},
    {"ina226", 0.0352, false, 0.01, 1},
    {"ina230", 0.0352, false, 0.01, 1},
    {"ina238", 0.05, false, 0.01, 1},
    {"ina260", 0.0352, false, 0.005, 1}, /* the shunt is inside the chip */
    {"amdgpu", 0.1, false, 0.05},        /* assumed, as for all boards */
    {"i915", 1e-3, false, 0.05, 0, INTEL_FOLD_J},
    {"xe", 1e-3, false, 0.05, 0, INTEL_FOLD_J},
};
static const struct traits unknown_chip = {"", 0.1, false, 0.1, 0}; /* assumed */

static const struct traits *traits_of(const char *chip)
{
    for (size_t i = 0; i < sizeof traits_of_chips / sizeof traits_of_chips[0]; i++)
        if (strcmp(traits_of_chips[i].chip, chip) == 0)
            return &traits_of_chips[i];
    return &unknown_chip;
}

/* --- filling in a domain -------------------------------------------------------------------------------- */

static const char *const kind_words[] = {
    [HWMON_ENERGY] = "energy", [HWMON_POWER] = "power", [HWMON_PAIR] = "pair"};

/* Describes the input as a rail, which is the default. */
static void set_rail(const struct hwmon_chip *chip, const struct hwmon_input *input, struct hwmon_domain *d)
{
    char words[112];
    const char *chip_name = chip->name[0] ? chip->name : chip->id;
    d->scope = JOULE_SCOPE_RAIL;
    d->device_index = -1;
    d->tier = 2;
    /* An energy counter is a better view of a zone than a power. */
    d->rank = RANK_DRIVER + (input->kind != HWMON_ENERGY);
    d->max_watts = MAX_DEVICE_WATTS;
    d->unit_watts = 1e-6;
    d->cause = CAUSE(CAUSE_HWMON_GAIN, chip->index);
    if (input->label[0])
        string_print(words, sizeof words, "%s %s", chip_name, input->label);
    else
        string_print(words, sizeof words, "%s %s%u", chip_name, kind_words[input->kind], input->number);
    sysfs_slug(d->name, sizeof d->name, words);
    string_print(d->zone, sizeof d->zone, "%s/%s%u", chip->id, kind_words[input->kind], input->number);
    string_copy(d->device, sizeof d->device, "node");
    string_copy(d->label, sizeof d->label, input->label[0] ? input->label : chip_name);
}

static void set_sensor(const struct hwmon_chip *chip, const struct hwmon_input *input, struct hwmon_domain *d)
{
    const struct traits *traits = traits_of(chip->name);
    uint64_t interval_ms;
    char text[32];
    d->gain_sd = traits->gain_sd;
    d->period_s = traits->period_s;
    d->coverage = traits->coverage;
    d->fold_joules = traits->fold_joules;
    d->period_is_known = traits->period_is_known;
    bool found = input->kind == HWMON_POWER &&
                 hwmon_read_number(chip, "power", input->number, "average_interval", &interval_ms);
    if (!found && hwmon_has_file(chip, "update_interval")) {
        char path[128];
        string_print(path, sizeof path, "%s/update_interval", chip->folder);
        found =
            sysfs_read_text(chip->source, path, text, sizeof text) && string_to_u64(text, 10, &interval_ms);
    }
    if (found && interval_ms >= 1 && interval_ms <= 600000) {
        d->period_s = (double)interval_ms * 1e-3;
        d->period_is_known = true;
    }
}

static void set_package(struct hwmon_domain *d, unsigned socket, const char *vendor)
{
    d->scope = JOULE_SCOPE_PACKAGE;
    d->device_index = (int)socket;
    d->max_watts = MAX_PACKAGE_WATTS;
    string_print(d->name, sizeof d->name, "package-%u", socket);
    string_print(d->zone, sizeof d->zone, "cpu%u/package", socket);
    string_print(d->device, sizeof d->device, "cpu:%u", socket);
    string_copy(d->vendor, sizeof d->vendor, vendor);
}

/* Describes a part of a package; `zone` is the name of the part, such as "dram". */
static void set_package_part(struct hwmon_domain *d, joule_scope scope, unsigned socket, const char *zone,
                             const char *vendor)
{
    set_package(d, socket, vendor);
    d->scope = scope;
    string_print(d->name, sizeof d->name, "%s-%u", zone, socket);
    string_print(d->zone, sizeof d->zone, "cpu%u/%s", socket, zone);
    string_print(d->parent_zone, sizeof d->parent_zone, "cpu%u/package", socket);
}

static void set_node(struct hwmon_domain *d)
{
    d->scope = JOULE_SCOPE_NODE;
    d->rank = RANK_BOARD;
    d->max_watts = MAX_NODE_WATTS;
    string_copy(d->name, sizeof d->name, "node");
    string_copy(d->zone, sizeof d->zone, "node");
}

/* --- chips ---------------------------------------------------------------------------------------------- */

/* Describes an input of NVIDIA's superchips, which have a meter for each socket and rail, such as "Grace
 * Power Socket 0". Module = Grace + GPU + memory; Grace = CPU rail + SysIO rail + DRAM + losses. Returns
 * false for another kind of meter. */
static bool grace_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                         struct hwmon_domain *d)
{
    static const char middle[] = " Power Socket ";
    const char *at = strstr(input->label, middle);
    unsigned socket;
    if (!at || !sysfs_parse_numbered(at, middle, &socket))
        return false;
    unsigned package = hwmon_package_of_socket(chip, socket);
    if (!d->period_is_known)
        d->period_s = 0.05; /* the firmware's default period */
    if (string_starts(input->label, "Module ")) {
        set_package(d, package, "nvidia");
        d->scope = JOULE_SCOPE_MODULE;
        d->max_watts = MAX_DEVICE_WATTS;
        string_print(d->name, sizeof d->name, "module-%u", socket);
        string_print(d->zone, sizeof d->zone, "module%u", socket);
    } else if (string_starts(input->label, "Grace ")) {
        set_package(d, package, "nvidia");
        string_print(d->parent_zone, sizeof d->parent_zone, "module%u", socket);
    } else if (string_starts(input->label, "CPU ")) {
        set_package_part(d, JOULE_SCOPE_CORE, package, "core", "nvidia");
    } else if (string_starts(input->label, "SysIO ")) {
        set_package_part(d, JOULE_SCOPE_RAIL, package, "sysio", "nvidia");
    } else {
        return true; /* another rail of the socket */
    }
    string_copy(d->model, sizeof d->model, "Grace");
    return true;
}

static bool acpi_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                        struct hwmon_domain *d)
{
    uint64_t is_battery = 0;
    hwmon_read_number(chip, "power", input->number, "is_battery", &is_battery);
    hwmon_read_text(chip, "power", input->number, "model_number", d->model, sizeof d->model);
    if (grace_domain(chip, input, d))
        return true;
    /* The first meter covers the whole machine. It is unknown what a second meter covers. */
    if (chip->ordinal == 0 && !is_battery)
        set_node(d);
    return true;
}

/* Describes a counter of amd_energy. Returns false for the counter of a core; only the counters of sockets
 * are used. */
static bool amd_energy_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                              struct hwmon_domain *d)
{
    unsigned number;
    if (sysfs_parse_numbered(input->label, "Ecore", &number))
        return false;
    if (sysfs_parse_numbered(input->label, "Esocket", &number)) {
        set_package(d, hwmon_package_of_socket(chip, number), "amd");
        d->cause = CAUSE(CAUSE_RAPL_GAIN, 0); /* the rapl sources read the same registers */
    }
    return true;
}

static bool hsmp_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                        struct hwmon_domain *d)
{
    if (input->number == 1)
        set_package(d, hwmon_package_of_socket(chip, chip->ordinal), "amd");
    return true;
}

/* Describes the power of Ampere's in-band driver: "CPU power" (cores) plus "IO power" (the rest of the
 * socket). Only their sum is the package. */
static bool xgene_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                         struct hwmon_domain *d)
{
    if (input->term_count == 2)
        set_package(d, hwmon_package_of_socket(chip, chip->ordinal), "ampere");
    return true;
}

/* Describes a sensor of OPAL by its label: "System", "Chip 0", "Chip 0 Memory", "Chip 0 Vdd" and others. */
static bool power_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                         struct hwmon_domain *d)
{
    unsigned socket;
    char words[sizeof input->label];
    (void)chip;
    string_copy(words, sizeof words, input->label);
    bool is_memory = string_ends(words, " Memory");
    if (is_memory)
        words[strlen(words) - strlen(" Memory")] = '\0';
    if (strcmp(words, "System") == 0) {
        set_node(d);
        d->rank += input->kind != HWMON_ENERGY;
    } else if (sysfs_parse_numbered(words, "Chip ", &socket) && is_memory) {
        set_package_part(d, JOULE_SCOPE_DRAM, socket, "dram", "ibm");
        d->parent_zone[0] = '\0'; /* memory is outside the package */
        string_print(d->device, sizeof d->device, "memory:%u", socket);
    } else if (sysfs_parse_numbered(words, "Chip ", &socket)) {
        set_package(d, socket, "ibm");
    }
    return true;
}

static bool is_gpu(const struct hwmon_chip *chip)
{
    static const char *const drivers[] = {"amdgpu", "radeon", "i915", "xe", "nouveau", NULL};
    return string_is_one_of(chip->name, drivers) || string_is_one_of(chip->driver, drivers) ||
           string_starts(chip->name, "i915_gt");
}

static const char *gpu_vendor(const struct hwmon_chip *chip)
{
    static const char *const amd[] = {"amdgpu", "radeon", NULL}, *const nvidia[] = {"nouveau", NULL};
    if (string_is_one_of(chip->name, amd) || string_is_one_of(chip->driver, amd))
        return "amd";
    return string_is_one_of(chip->name, nvidia) || string_is_one_of(chip->driver, nvidia) ? "nvidia"
                                                                                          : "intel";
}

static bool device_id_is(const struct hwmon_chip *chip, uint64_t id)
{
    char path[96], text[16];
    uint64_t device;
    string_print(path, sizeof path, "/sys/class/hwmon/%s/device/device", chip->id);
    return sysfs_read_text(chip->source, path, text, sizeof text) && string_to_u64(text, 0, &device) &&
           device == id;
}

/* Returns true for the graphics of an AMD processor: only these report the voltage of a north bridge
 * (vddnb). */
static bool is_amd_processor(const struct hwmon_chip *chip)
{
    char label[16];
    return strcmp(chip->name, "amdgpu") == 0 &&
           hwmon_read_text(chip, "in", 1, "label", label, sizeof label) && strcmp(label, "vddnb") == 0;
}

/* Returns true if an energy input of this chip has this label. */
static bool has_energy_labelled(const struct hwmon_chip *chip, const char *label)
{
    char other[16];
    for (unsigned number = 1; number <= 8; number++)
        if (hwmon_read_text(chip, "energy", number, "label", other, sizeof other) &&
            strcmp(other, label) == 0)
            return true;
    return false;
}

/* Returns true if the input covers the whole board: Intel's "card" if the chip has it, else Intel's "pkg" or
 * the first input. */
static bool is_board(const struct hwmon_chip *chip, const struct hwmon_input *input)
{
    if (string_starts(chip->name, "i915_gt")) /* a tile, which is part of the board that "i915" reports */
        return false;
    if (has_energy_labelled(chip, "card"))
        return strcmp(input->label, "card") == 0;
    if (strcmp(input->label, "pkg") == 0)
        return true;
    return input->number == 1;
}

static bool gpu_domain(const struct hwmon_chip *chip, const struct hwmon_input *input, struct hwmon_domain *d)
{
    bool board = is_board(chip, input);
    d->tier = 3;
    string_copy(d->vendor, sizeof d->vendor, gpu_vendor(chip));
    if (is_amd_processor(chip)) { /* the chip's power is that of the whole package */
        if (board)
            set_package(d, hwmon_package_of_socket(chip, 0), "amd");
        d->tier = 2;
        return true;
    }
    bool has_cpu = device_id_is(chip, HWMON_MI300A);
    d->device_index = gpu_index(chip->source, chip->pci[0] ? chip->pci : chip->id);
    string_print(d->device, sizeof d->device, "gpu:%d", d->device_index);
    if (!board) {
        gpu_zone(d->device_index, has_cpu, d->parent_zone);
        if (input->label[0]) /* energy and power with the same label are one zone */
            string_print(d->zone, sizeof d->zone, "gpu%d/%s", d->device_index, d->name);
        return true;
    }
    d->scope = has_cpu ? JOULE_SCOPE_MODULE : JOULE_SCOPE_GPU;
    string_print(d->name, sizeof d->name, "gpu-%d", d->device_index);
    gpu_zone(d->device_index, has_cpu, d->zone);
    return true;
}

bool hwmon_domain_of(const struct hwmon_chip *chip, const struct hwmon_input *input,
                     struct hwmon_domain *out_domain)
{
    static const struct {
        const char *chip;
        bool (*domain)(const struct hwmon_chip *, const struct hwmon_input *, struct hwmon_domain *);
    } known[] = {
        {"power_meter", acpi_domain}, {"amd_energy", amd_energy_domain}, {"amd_hsmp_hwmon", hsmp_domain},
        {"apm_xgene", xgene_domain},  {"ibmpowernv", power_domain},
    };
    *out_domain = (struct hwmon_domain){0};
    set_rail(chip, input, out_domain);
    set_sensor(chip, input, out_domain);
    if (hwmon_accelerator_domain(chip, input, out_domain))
        return true;
    if (is_gpu(chip))
        return gpu_domain(chip, input, out_domain);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].chip, chip->name) == 0)
            return known[i].domain(chip, input, out_domain);
    return true;
}
