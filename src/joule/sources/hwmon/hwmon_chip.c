/* joule/sources/hwmon/hwmon_chip.c - finds a chip's attributes and inputs. See hwmon.h.
 *
 * Note: old drivers (the ACPI power meter) have their attributes in hwmonX/device, new ones in hwmonX. Both
 * folders may contain a `name`. Listing files and reading labels does not wake a suspended device; reading
 * values does. */
#include "joule/sources/hwmon/hwmon.h"

#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/sysfs.h"

/* --- attributes ----------------------------------------------------------------------------------------- */

static int compare_names(const void *key, const void *element)
{
    return strcmp(key, *(char *const *)element);
}

bool hwmon_has_file(const struct hwmon_chip *chip, const char *file)
{
    return bsearch(file, chip->files, chip->file_count, sizeof *chip->files, compare_names) != NULL;
}

bool hwmon_read_text(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                     char *out_text, size_t size)
{
    char path[192];
    string_print(path, sizeof path, "%s/%s%u_%s", chip->folder, kind, number, suffix);
    out_text[0] = '\0';
    return hwmon_has_file(chip, path + strlen(chip->folder) + 1) &&
           sysfs_read_text(chip->source, path, out_text, size);
}

bool hwmon_read_number(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                       uint64_t *out_value)
{
    char text[32];
    return hwmon_read_text(chip, kind, number, suffix, text, sizeof text) &&
           string_to_u64(text, 10, out_value);
}

bool hwmon_is_enabled(const struct hwmon_chip *chip, const char *kind, unsigned number)
{
    uint64_t enable;
    return !hwmon_read_number(chip, kind, number, "enable", &enable) || enable != 0;
}

/* --- finding a chip ------------------------------------------------------------------------------------- */

static bool is_attribute(const char *file)
{
    static const char *const kinds[] = {"energy", "power", "curr", "temp"};
    unsigned number;
    const char *suffix;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (sysfs_parse_attribute(file, kinds[i], &number, &suffix))
            return true;
    return false;
}

/* Uses `folder` as the chip's folder if it contains sensor attributes; otherwise returns false. */
static bool try_folder(struct hwmon_chip *chip, const char *folder)
{
    struct source *source = chip->source;
    char **names;
    ssize_t count = source->host->ops->list(source->host, folder, &source->arena, &names);
    for (ssize_t i = 0; i < count; i++)
        if (is_attribute(names[i])) {
            string_copy(chip->folder, sizeof chip->folder, folder);
            chip->files = names;
            chip->file_count = (size_t)count;
            return true;
        }
    return false;
}

static bool read_link(const struct hwmon_chip *chip, const char *suffix, char *out_link, size_t size)
{
    char path[96];
    string_print(path, sizeof path, "/sys/class/hwmon/%s%s", chip->id, suffix);
    return chip->source->host->ops->read_link(chip->source->host, path, out_link, size) > 0;
}

static void follow_links(struct hwmon_chip *chip)
{
    static const char *const suffixes[] = {"/device", ""};
    char link[512];
    for (size_t i = 0; i < 2; i++) {
        if (!read_link(chip, suffixes[i], link, sizeof link))
            continue;
        sysfs_find_pci(link, chip->pci);
        if (strstr(link, "/power_supply/"))
            chip->is_power_supply = true;
    }
    if (read_link(chip, "/device/driver", link, sizeof link)) {
        const char *slash = strrchr(link, '/');
        string_copy(chip->driver, sizeof chip->driver, slash ? slash + 1 : link);
    }
}

/* Returns true for a power supply. Only power supplies have a `type` with one of these values. */
static bool has_power_supply_type(struct source *source, const char *device)
{
    static const char *const types[] = {"Battery", "Mains", "UPS", "USB", "Wireless", NULL};
    char path[128], type[16];
    string_print(path, sizeof path, "%s/type", device);
    return sysfs_read_text(source, path, type, sizeof type) && string_is_one_of(type, types);
}

bool hwmon_chip_open(struct source *source, const char *id, struct hwmon_chip *out_chip)
{
    *out_chip = (struct hwmon_chip){.source = source};
    if (!string_copy(out_chip->id, sizeof out_chip->id, id))
        return false;
    char own[64], device[72], path[96];
    string_print(own, sizeof own, "/sys/class/hwmon/%s", id);
    string_print(device, sizeof device, "%s/device", own);
    if (!try_folder(out_chip, own) && !try_folder(out_chip, device))
        return false;
    string_print(path, sizeof path, "%s/name", own);
    if (!sysfs_read_text(source, path, out_chip->name, sizeof out_chip->name)) {
        string_print(path, sizeof path, "%s/name", device);
        sysfs_read_text(source, path, out_chip->name, sizeof out_chip->name);
    }
    follow_links(out_chip);
    out_chip->is_power_supply = out_chip->is_power_supply || has_power_supply_type(source, device);
    return true;
}

int hwmon_open_power_state(const struct hwmon_chip *chip)
{
    char path[96];
    if (!chip->pci[0])
        return -1;
    string_print(path, sizeof path, "/sys/class/hwmon/%s/device/power/runtime_status", chip->id);
    return chip->source->host->ops->open_file(chip->source->host, path);
}

bool hwmon_is_suspended(struct joule_host *host, int power_state)
{
    char state[16];
    return power_state >= 0 && host->ops->read_handle(host, power_state, state, sizeof state) > 0 &&
           string_starts(state, "suspend"); /* suspended, suspending */
}

/* --- energies and powers -------------------------------------------------------------------------------- */

static struct hwmon_input make_input(const struct hwmon_chip *chip, enum hwmon_kind kind, const char *word,
                                     unsigned number, const char *suffix)
{
    struct hwmon_input input = {.kind = kind, .number = number, .term_count = 1};
    string_print(input.terms[0].first, sizeof input.terms[0].first, "%s%u_%s", word, number, suffix);
    input.is_average = strcmp(suffix, "average") == 0;
    /* The ACPI power meter has no label; its oem_info is the firmware's description. */
    if (!hwmon_read_text(chip, word, number, "label", input.label, sizeof input.label))
        hwmon_read_text(chip, word, number, "oem_info", input.label, sizeof input.label);
    return input;
}

/* Returns true if `file` contains the value to read for its channel: the file "_average" of a power if it
 * exists, otherwise the file "_input". */
static bool is_value(const struct hwmon_chip *chip, const char *file, const char *word, unsigned *number,
                     const char **suffix)
{
    if (!sysfs_parse_attribute(file, word, number, suffix))
        return false;
    if (strcmp(*suffix, "average") == 0)
        return strcmp(word, "power") == 0;
    if (strcmp(*suffix, "input") != 0)
        return false;
    char average[32];
    string_print(average, sizeof average, "%s%u_average", word, *number);
    return !hwmon_has_file(chip, average);
}

/* Calls `visit` for each enabled channel of one kind. Returns the number of channels, including disabled
 * ones. */
static size_t each_value(const struct hwmon_chip *chip, enum hwmon_kind kind, hwmon_visit visit,
                         void *context)
{
    const char *word = kind == HWMON_ENERGY ? "energy" : "power", *suffix;
    size_t count = 0;
    for (size_t i = 0; i < chip->file_count; i++) {
        unsigned number;
        if (!is_value(chip, chip->files[i], word, &number, &suffix))
            continue;
        count++;
        if (!hwmon_is_enabled(chip, word, number))
            continue;
        struct hwmon_input input = make_input(chip, kind, word, number, suffix);
        visit(chip, &input, context);
    }
    return count;
}

static void add_term(const struct hwmon_chip *chip, const struct hwmon_input *input, void *context)
{
    struct hwmon_input *sum = context;
    (void)chip;
    if (sum->term_count == 0)
        *sum = *input;
    else if (sum->term_count < HWMON_TERMS) {
        sum->terms[sum->term_count++] = input->terms[0];
        size_t length = strlen(sum->label);
        string_print(sum->label + length, sizeof sum->label - length, " + %s", input->label);
    }
}

/* Returns true for chips that report only the parts of a domain. The sum of the parts is then used as one
 * input. */
static bool is_summed(const struct hwmon_chip *chip)
{
    return strcmp(chip->name, "apm_xgene") == 0;
}

void hwmon_each_input(const struct hwmon_chip *chip, hwmon_visit visit, void *context)
{
    if (is_summed(chip)) {
        struct hwmon_input sum = {0};
        each_value(chip, HWMON_POWER, add_term, &sum);
        if (sum.term_count)
            visit(chip, &sum, context);
        return;
    }
    size_t count = each_value(chip, HWMON_ENERGY, visit, context);
    count += each_value(chip, HWMON_POWER, visit, context);
    if (count == 0)
        hwmon_each_pair(chip, visit, context);
}
