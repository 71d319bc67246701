/* joule/sources/hwmon/hwmon.h - internal interface of the source "hwmon": chips, their inputs, and the
 * domains that the inputs measure.
 *
 * A chip is a sysfs folder of attributes. An input is a set of attributes from which one value is computed. A
 * domain is the part of the machine that the value covers. hwmon_chip.c finds chips and inputs, hwmon_pairs.c
 * multiplies voltages by currents, hwmon_domain.c assigns domains, and hwmon.c reads the values.
 * Note: for most voltage rails it is unknown which part they supply. Such a rail is listed, but never added
 * to a total. */
#ifndef JOULE_HWMON_H
#define JOULE_HWMON_H

#include "joule/sources/device.h"
#include "joule/sources/sysfs.h"

/* The kernel's numbers of all CPU packages, which the zones of all sources contain. The numbers are read at
 * the first use. */
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
    char folder[96];               /* folder of the attributes: that of the chip or of its device */
    char pci[SYSFS_PCI_SIZE];      /* "0000:03:00.0"; empty: not a PCI device */
    char driver[32];               /* driver of the device; empty: unknown */
    char **files;                  /* names in `folder`, sorted */
    size_t file_count;
    unsigned index;       /* number of the chip among all chips */
    unsigned ordinal;     /* number of the chip among the chips with this name */
    bool is_power_supply; /* a battery or adapter, which the source "battery" reads */
};

enum hwmon_kind { HWMON_ENERGY, HWMON_POWER, HWMON_PAIR };

#define HWMON_TERMS 4

/* An energy in uJ or a power in uW, computed as the sum of the terms. A term is the content of the file
 * `first`; for HWMON_PAIR it is the product of `first` (mV) and `second` (mA). */
struct hwmon_input {
    enum hwmon_kind kind;
    unsigned number;
    char label[64];
    bool is_average; /* true: mean since the sensor's last update; false: instantaneous, or unknown */
    size_t term_count;
    struct hwmon_files {
        char first[24], second[24]; /* second is empty except for HWMON_PAIR */
    } terms[HWMON_TERMS];
};

/* The part of the machine that an input covers, and the properties of the sensor. */
struct hwmon_domain {
    joule_scope scope;
    int device_index;
    uint32_t rank, tier;
    char name[48], zone[48], parent_zone[48], device[16], label[64], vendor[24], model[96];
    double period_s; /* the sensor's update period; assumed unless period_is_known */
    bool period_is_known;
    /* Fraction of the period over which the sensor averages, for inputs without is_average; 0: unknown. */
    double coverage;
    /* Range, in joules, of a hardware register that the driver reads only when its own file is read. If more
     * than this energy is used between two reads, the driver loses energy. 0: the driver loses no energy. */
    double fold_joules;
    double gain_sd;
    uint32_t cause;
    double max_watts;
    double unit_watts;    /* for HWMON_POWER: watts per unit of the file, usually 1e-6 */
    bool zero_is_unknown; /* the driver reports 0 if it has no value */
};

/* Describes the chip `id`, such as "hwmon3". Returns false if the chip has no sensor attributes. The source's
 * arena owns the list of files. */
bool hwmon_chip_open(struct source *source, const char *id, struct hwmon_chip *out_chip);
bool hwmon_has_file(const struct hwmon_chip *chip, const char *file);
/* Read the text or number of the attribute KIND + NUMBER + "_" + SUFFIX, such as "power1_label". Return false
 * if it is missing or invalid. */
bool hwmon_read_text(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                     char *out_text, size_t size);
bool hwmon_read_number(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                       uint64_t *out_value);
/* Returns false only if the input's attribute "_enable" is 0. */
bool hwmon_is_enabled(const struct hwmon_chip *chip, const char *kind, unsigned number);
/* Opens the file of the device's runtime power state. Returns a handle, which the caller closes. Negative:
 * there is no such file, so the device is never suspended. */
int hwmon_open_power_state(const struct hwmon_chip *chip);
/* Returns true if reading a value now would wake the device. `power_state` is the handle from
 * hwmon_open_power_state. */
bool hwmon_is_suspended(struct joule_host *host, int power_state);

typedef void (*hwmon_visit)(const struct hwmon_chip *chip, const struct hwmon_input *input, void *context);
/* Calls `visit` for each energy and power input of the chip. If the chip has neither, calls hwmon_each_pair,
 * which calls `visit` for each voltage whose current is known. Disabled inputs are skipped. */
void hwmon_each_input(const struct hwmon_chip *chip, hwmon_visit visit, void *context);
void hwmon_each_pair(const struct hwmon_chip *chip, hwmon_visit visit, void *context);

/* Returns the kernel's number of the package that firmware calls socket `number`. Firmware counts sockets
 * from 0; the kernel's numbers may start anywhere and have gaps. */
unsigned hwmon_package_of_socket(const struct hwmon_chip *chip, unsigned number);

/* PCI device id of AMD's MI300A, an accelerator that contains CPU cores. Its readings include these cores. */
#define HWMON_MI300A 0x74a0

/* Finds the domain of the input. Returns false if the input repeats another input or a part of another input,
 * and must not be used. */
bool hwmon_domain_of(const struct hwmon_chip *chip, const struct hwmon_input *input,
                     struct hwmon_domain *out_domain);

/* Returns the number of the accelerator that the chip monitors, among those of one kind ("npu"). The number
 * is the same in every source. */
int32_t hwmon_accelerator_index(const struct hwmon_chip *chip, const char *kind);
/* Sets the domain of an input of an accelerator other than a GPU. Returns false, with the domain unchanged,
 * for any other chip. */
bool hwmon_accelerator_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                              struct hwmon_domain *domain);

#endif
