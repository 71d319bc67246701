/* joule/sources/hwmon/hwmon.h - inside the hwmon source: chips, what they can read, and what that covers.
 *
 * Owns three nouns that its files share: the chip (a folder of attributes), the input (an attribute, or several, that
 * give one figure) and the domain (the part of the machine that the figure stands for). hwmon_chip.c finds chips and
 * inputs, hwmon_pairs.c multiplies voltages by currents, hwmon_domain.c knows the chips, hwmon.c reads.
 * Newcomers: most rails say nothing about what hangs on them; an unknown one is listed and never added to a total.
 */
#ifndef JOULE_HWMON_H
#define JOULE_HWMON_H

#include "joule/sources/device.h"
#include "joule/sources/sysfs.h"

/* The kernel's numbers of the CPU packages, as the other sources' zones have them. Read when first asked for. */
#define HWMON_MAX_SOCKETS 64
struct hwmon_sockets {
    unsigned ids[HWMON_MAX_SOCKETS]; /* ascending */
    size_t count;
    bool is_read;
};

struct hwmon_chip {
    struct source *source;
    struct hwmon_sockets *sockets; /* shared by all chips of the source */
    char id[32];                   /* "hwmon3"; changes from boot to boot */
    char name[32];                 /* of the driver's choice: "power_meter" */
    char folder[96];               /* where its attributes lie: the chip's own folder or its device's */
    char pci[SYSFS_PCI_SIZE];      /* "0000:03:00.0"; empty: not a PCI device */
    char driver[32];               /* of the device; empty: unknown */
    char **files;                  /* names in `folder`, sorted */
    size_t file_count;
    unsigned index;       /* among all chips */
    unsigned ordinal;     /* among the chips of this name */
    bool is_power_supply; /* a battery or adapter seen through hwmon: the battery source has it */
};

enum hwmon_kind { HWMON_ENERGY, HWMON_POWER, HWMON_PAIR };

#define HWMON_TERMS 4

/* energyN_input in uJ, or a power in uW: the sum over its terms of `first`, or of `first` x `second` (mV x mA). */
struct hwmon_input {
    enum hwmon_kind kind;
    unsigned number;
    char label[64];
    bool is_average; /* over the time since the last update; else a look at one moment */
    size_t term_count;
    struct hwmon_files {
        char first[24], second[24]; /* second is empty unless PAIR */
    } terms[HWMON_TERMS];
};

/* What an input covers and what is known of its sensor. */
struct hwmon_domain {
    joule_scope scope;
    int device_index;
    uint32_t rank, tier;
    char name[48], zone[48], parent_zone[48], device[16], label[64], vendor[24], model[96];
    double period_s; /* the sensor's update period, or a stated guess */
    bool period_is_known;
    double looks; /* part of a period of which a value that calls itself no average is the mean; 0: unknown */
    double
        fold_joules; /* an energy that is added up when it is read loses a step as large as this; 0: none does */
    double gain_sd;
    uint32_t cause;
    double max_watts;
    double unit_watts;    /* of POWER: watts for one of what its file counts, 1e-6 */
    bool zero_is_unknown; /* a driver that has no value says 0 */
};

/* Finds the attributes of chip `id`; false where there are none. */
bool hwmon_chip_open(struct source *source, const char *id, struct hwmon_chip *out_chip);
bool hwmon_has(const struct hwmon_chip *chip, const char *file);
/* Text or number of one of the chip's attributes, such as (chip, "power", 1, "label"). */
bool hwmon_text(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                char *out_text, size_t size);
bool hwmon_number(const struct hwmon_chip *chip, const char *kind, unsigned number, const char *suffix,
                  uint64_t *out_value);
/* False only where the attribute NAME_enable holds 0. */
bool hwmon_is_enabled(const struct hwmon_chip *chip, const char *kind, unsigned number);
/* Handle of the device's power state; negative where the device cannot sleep. The caller closes it. */
int hwmon_open_power_state(const struct hwmon_chip *chip);
/* Whether reading a value now would wake the device. */
bool hwmon_is_asleep(struct joule_host *host, int power_state);

typedef void (*hwmon_visit)(const struct hwmon_chip *chip, const struct hwmon_input *input, void *context);
/* Calls visit for each energy and power that the chip gives; a chip with neither: for each voltage whose current is
 * known. Disabled channels are left out. */
void hwmon_each_input(const struct hwmon_chip *chip, hwmon_visit visit, void *context);
void hwmon_each_pair(const struct hwmon_chip *chip, hwmon_visit visit, void *context);

/* The package that firmware calls socket `number`: firmware counts from 0, the kernel's numbers may have holes or start
 * anywhere. */
unsigned hwmon_package_of_socket(const struct hwmon_chip *chip, unsigned number);

/* PCI device id of AMD's accelerator with CPU cores: what is read of it has them in. */
#define HWMON_MI300A 0x74a0

/* Says what the input covers. False: it repeats or refines another one and is left out. */
bool hwmon_domain_of(const struct hwmon_chip *chip, const struct hwmon_input *input,
                     struct hwmon_domain *out_domain);

/* The number of the accelerator of a kind ("npu") whose monitor this is, the same in every source. */
int32_t hwmon_accelerator_index(const struct hwmon_chip *chip, const char *kind);
/* hwmon_domain_of for monitors of accelerators that are no GPUs; false, and the domain as it was, for any other chip. */
bool hwmon_accelerator_domain(const struct hwmon_chip *chip, const struct hwmon_input *input,
                              struct hwmon_domain *domain);

#endif
