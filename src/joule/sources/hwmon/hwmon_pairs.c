/* joule/sources/hwmon/hwmon_pairs.c - computes power as voltage times current, for chips that report no
 * power. See hwmon.h.
 *
 * This file decides which voltage belongs to a current. Equal numbers in inN and currN do not imply the same
 * rail. A voltage and a current are paired only if the driver's documentation pairs them, if they have the
 * same label, or if neither has a label.
 * Note: some voltage inputs are shunt voltages. The product of a shunt's voltage and its current is about a
 * thousandth of the real power. */
#include <string.h>
#include "base/string.h"
#include "joule/sources/hwmon/hwmon.h"
#include "joule/sources/sysfs.h"

/* Pairs of a voltage and a current, from the kernel's documentation of the driver. For example, {2, 1} pairs
 * in2 with curr1. Other inputs of these chips are ignored. */
struct pairing {
    const char *chip;
    size_t count;
    unsigned char pairs[3][2];
};

static const struct pairing pairings[] = {
    {"ina3221", 3, {{1, 1}, {2, 2}, {3, 3}}}, /* in4 to in6 are the shunts, in7 is their sum */
    {"ina209", 1, {{1, 1}}},                  /* in the INA family in0 is the shunt */
    {"ina219", 1, {{1, 1}}},
    {"ina220", 1, {{1, 1}}},
    {"ina226", 1, {{1, 1}}},
    {"ina230", 1, {{1, 1}}},
    {"ina231", 1, {{1, 1}}},
    {"ina233", 1, {{1, 1}}},
    {"ina237", 1, {{1, 1}}},
    {"ina238", 1, {{1, 1}}},
    {"ina260", 1, {{1, 1}}},
    {"ltc2945", 1, {{1, 1}}},
    {"ltc2947", 1, {{0, 1}}},
    {"ltc2992", 2, {{0, 1}, {2, 2}}},
    {"ltc4260", 1, {{1, 1}}},
    {"ltc4261", 1, {{1, 1}}},
    {"ltc4282", 1, {{1, 1}}},
    {"max20730", 1, {{2, 1}}}, /* in1 is the supply, in2 and curr1 are the output */
    {"max20751", 1, {{2, 1}}},
};

static const struct pairing *pairing_of(const char *chip)
{
    for (size_t i = 0; i < sizeof pairings / sizeof pairings[0]; i++)
        if (strcmp(pairings[i].chip, chip) == 0)
            return &pairings[i];
    return NULL;
}

/* Returns true if two labels name one rail. PMBus drivers label the voltage "vout1" and the current "iout1".
 * Other drivers use the rail's name for both. */
static bool is_same_rail(const char *voltage, const char *current)
{
    return strcmp(voltage, current) == 0 ||
           (voltage[0] == 'v' && current[0] == 'i' && strcmp(voltage + 1, current + 1) == 0);
}

static bool has_value(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix)
{
    char file[32];
    string_print(file, sizeof file, "%s%u_%s", kind, number, suffix);
    return hwmon_has_file(chip, file);
}

static void visit_pair(const struct hwmon_chip *chip, unsigned voltage, unsigned current, hwmon_visit visit,
                       void *context)
{
    struct hwmon_input input = {.kind = HWMON_PAIR, .number = current, .term_count = 1};
    input.is_average =
        has_value(chip, "in", voltage, "average") && has_value(chip, "curr", current, "average");
    const char *suffix = input.is_average ? "average" : "input";
    if (!has_value(chip, "in", voltage, suffix) || !has_value(chip, "curr", current, suffix) ||
        !hwmon_is_enabled(chip, "in", voltage) || !hwmon_is_enabled(chip, "curr", current))
        return;
    string_print(input.terms[0].first, sizeof input.terms[0].first, "in%u_%s", voltage, suffix);
    string_print(input.terms[0].second, sizeof input.terms[0].second, "curr%u_%s", current, suffix);
    if (!hwmon_read_text(chip, "curr", current, "label", input.label, sizeof input.label))
        hwmon_read_text(chip, "in", voltage, "label", input.label, sizeof input.label);
    visit(chip, &input, context);
}

/* Finds the voltage that belongs to a current, for a chip that is not in `pairings`: the voltage with the
 * same label, or with the same number if neither has a label. Returns false if there is none. */
static bool find_voltage(const struct hwmon_chip *chip, unsigned current, unsigned *out_voltage)
{
    char current_label[64], voltage_label[64];
    if (!hwmon_read_text(chip, "curr", current, "label", current_label, sizeof current_label)) {
        *out_voltage = current;
        return !hwmon_read_text(chip, "in", current, "label", voltage_label, sizeof voltage_label);
    }
    for (size_t i = 0; i < chip->file_count; i++) {
        const char *suffix;
        if (sysfs_parse_attribute(chip->files[i], "in", out_voltage, &suffix) &&
            strcmp(suffix, "label") == 0 &&
            hwmon_read_text(chip, "in", *out_voltage, "label", voltage_label, sizeof voltage_label) &&
            is_same_rail(voltage_label, current_label))
            return true;
    }
    return false;
}

void hwmon_each_pair(const struct hwmon_chip *chip, hwmon_visit visit, void *context)
{
    const struct pairing *listed = pairing_of(chip->name);
    for (size_t i = 0; listed && i < listed->count; i++)
        visit_pair(chip, listed->pairs[i][0], listed->pairs[i][1], visit, context);
    for (size_t i = 0; !listed && i < chip->file_count; i++) {
        unsigned current, voltage;
        const char *suffix;
        if (sysfs_parse_attribute(chip->files[i], "curr", &current, &suffix) &&
            strcmp(suffix, "input") == 0 && find_voltage(chip, current, &voltage))
            visit_pair(chip, voltage, current, visit, context);
    }
}
