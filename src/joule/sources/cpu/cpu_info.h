/* joule/sources/cpu/cpu_info.h - reads /proc/cpuinfo and CPU topology: vendor, model, packages.
 *
 * Note: only the first CPU's block is read, because machines with hundreds of CPUs have a megabyte of blocks.
 * Unknown values are 0 or empty. */
#ifndef JOULE_CPU_INFO_H
#define JOULE_CPU_INFO_H

#include "joule/host/host.h"

struct cpu_info {
    /* "intel", "amd", "hygon", "arm" or another, as in joule_domain.vendor */
    char vendor[24];
    char model[96];                    /* "Xeon w9-3595X": without vendor, trademark signs and clock */
    unsigned family, number, stepping; /* number: x86's model number, or an Arm core's part number */
    double nominal_hz;                 /* the frequency at the end of the model's name; NaN: none */
    /* true in a virtual machine: from the hypervisor flag, on Arm from names in the firmware */
    bool is_virtual;
    unsigned threads;         /* online */
    unsigned cores, packages; /* >= 1 if threads is known */
};

void cpu_info_read(struct joule_host *host, struct cpu_info *out_info);
/* true for an Intel CPU of family 6 with this model number */
bool cpu_is_intel(const struct cpu_info *info, unsigned number);
bool cpu_is_amd(const struct cpu_info *info); /* AMD or Hygon */

/* Returns true if firmware with these names belongs to a hypervisor; for CPUs without a hypervisor flag. */
bool cpu_firmware_is_virtual(const char *vendor, const char *product);

/* A part with an energy counter of its own: a package, or one die of a package with several counters. */
struct cpu_unit {
    unsigned package; /* the kernel's number */
    int die;          /* -1: the package has one die, or one counter for all dies */
};
/* Finds the unit of a CPU. Returns false, with package 0, if the kernel does not report the package. */
bool cpu_find_unit(struct joule_host *host, const struct cpu_info *info, unsigned cpu,
                   struct cpu_unit *out_unit);
/* Write the zone or the name of a part of the unit: "cpu1.2/dram", "dram-1-die-2". All views of one zone must
 * use these functions. */
void cpu_unit_zone(struct cpu_unit unit, const char *part, char *out_zone, size_t size);
void cpu_unit_name(struct cpu_unit unit, const char *part, char *out_name, size_t size);
bool cpu_is_same_unit(struct cpu_unit a, struct cpu_unit b);
/* Sets die to -1 for packages with only one unit. `units` is the first of `count` units, `stride` bytes
 * apart. A unit may occur several times. */
void cpu_unset_single_dies(struct cpu_unit *units, size_t count, size_t stride);

/* Reads a number of /sys/devices/system/cpu/cpuN/topology, such as "physical_package_id". Returns false if it
 * is unknown. */
bool cpu_read_topology(struct joule_host *host, unsigned cpu, const char *what, unsigned *out_value);

#endif
