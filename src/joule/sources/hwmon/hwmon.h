/* joule/sources/hwmon/hwmon.h - inside the source "hwmon": chips, their inputs, and what these measure.
 *
 * A chip is a folder of attributes. An input is one attribute, or several, that give one value. A domain is
 * the part of the machine that the value covers. hwmon_chip.c finds chips and inputs, hwmon_pairs.c
 * multiplies voltages by currents, hwmon_domain.c assigns domains, hwmon.c reads.
 * Note: most rails do not say what they supply. An unknown rail is listed and never added to a total. */
#ifndef JOULE_HWMON_H
#define JOULE_HWMON_H

#include "joule/sources/device.h"
#include "joule/sources/sysfs.h"

/* The kernel's numbers of the CPU packages, as in other sources' zones. Read at the first use. */
#define HWMON_MAX_SOCKETS 64
struct hwmon_sockets {
    unsigned ids[HWMON_MAX_SOCKETS]; /* ascending */
    size_t count;
    bool is_read;
};

struct hwmon_chip {
    struct source *source;
    struct hwmon_sockets *sockets; /* shared by all chips of the source */
    char id[32];                   /* such as "hwmon3"; differs between boots */
    char name[32];                 /* chosen by the driver, such as "power_meter" */
    char folder[96];               /* folder of its attributes: the chip's own folder or its device's */
    char pci[SYSFS_PCI_SIZE];      /* "0000:03:00.0"; empty: not a PCI device */
    char driver[32];               /* driver of the device; empty: unknown */
    char **files;                  /* names in `folder`, sorted */
    size_t file_count;
    unsigned index;       /* number of the chip among all chips */
    unsigned ordinal;     /* number of the chip among the chips of this name */
    bool is_power_supply; /* a battery or adapter, which the source "battery" reads */
};

enum hwmon_kind { HWMON_ENERGY, HWMON_POWER, HWMON_PAIR };

#define HWMON_TERMS 4

/* An energy in uJ (energyN_input), or a power in uW: the sum over its terms of `first`, or of `first` x
 * `second` (mV x mA). */
struct hwmon_input {
    enum hwmon_kind kind;
    unsigned number;
    char label[64];
    bool is_average; /* averaged since the last update, not instantaneous */
    size_t term_count;
    struct hwmon_files {
        char first[24], second[24]; /* second is empty except for HWMON_PAIR */
    } terms[HWMON_TERMS];
};

/* The coverage of an input, and the properties of its sensor. */
struct hwmon_domain {
    joule_scope scope;
    int device_index;
    uint32_t rank, tier;
    char name[48], zone[48], parent_zone[48], device[16], label[64], vendor[24], model[96];
    double period_s; /* the sensor's update period; assumed unless period_is_known */
    bool period_is_known;
    /* Fraction of a period over which a value that is not a declared average is averaged; 0: unknown. */
    double coverage;
    /* An energy that the driver accumulates only when it is read loses steps of this size; 0: it loses
     * none. */
    double fold_joules;
    double gain_sd;
    uint32_t cause;
    double max_watts;
    double unit_watts;    /* for HWMON_POWER: watts per unit of the file, usually 1e-6 */
    bool zero_is_unknown; /* the driver reports 0 if it has no value */
};

/* Finds the attributes of chip `id`. Returns false if there are none. */
bool hwmon_chip_open(struct source *source, const char *id, struct hwmon_chip *out_chip);
bool hwmon_has_file(const struct hwmon_chip *chip, const char *file);
/* Read the text or number of an attribute, such as (chip, "power", 1, "label"). Return false if there is
 * none. */
bool hwmon_read_text(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                     char *out_text, size_t size);
bool hwmon_read_number(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                       uint64_t *out_value);
/* Returns false only if the attribute NAME_enable is 0. */
bool hwmon_is_enabled(const struct hwmon_chip *chip, const char *kind, unsigned number);
/* Opens the device's runtime power state. Returns its handle, which the caller closes; negative: never
 * suspended. */
int hwmon_open_power_state(const struct hwmon_chip *chip);
/* Returns true if reading a value now would wake the device. */
bool hwmon_is_suspended(struct joule_host *host, int power_state);

typedef void (*hwmon_visit)(const struct hwmon_chip *chip, const struct hwmon_input *input, void *context);
/* Calls visit for each energy and power of the chip. If there are none, calls it for each voltage with a
 * known current. Disabled channels are skipped. */
void hwmon_each_input(const struct hwmon_chip *chip, hwmon_visit visit, void *context);
void hwmon_each_pair(const struct hwmon_chip *chip, hwmon_visit visit, void *context);

/* Returns the package that firmware calls socket `number`. Firmware counts from 0; the kernel's numbers may
 * start anywhere and have gaps. */
unsigned hwmon_package_of_socket(const struct hwmon_chip *chip, unsigned number);

/* PCI device id of AMD's MI300A, an accelerator with CPU cores, which its readings include. */
#define HWMON_MI300A 0x74a0

/* Finds what the input covers. Returns false if it repeats another input or a part of one; it is then not
 * used. */
bool hwmon_domain_of(const struct hwmon_chip *chip, const struct hwmon_input *input,
                     struct hwmon_domain *out_domain);

/* Returns the number of the monitored accelerator of a kind ("npu"), the same in every source. */
int32_t hwmon_accelerator_index(const struct hwmon_chip *chip, const char *kind);
/* Like hwmon_domain_of, for accelerators other than GPUs. Returns false, with the domain unchanged, for any
 * other chip. */
bool hwmon_accelerator_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                              struct hwmon_domain *domain);

#endif
