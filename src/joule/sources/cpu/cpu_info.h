/* joule/sources/cpu/cpu_info.h - reads /proc/cpuinfo and CPU topology: vendor, model, packages.
 *
 * Note: only the first CPU's block of /proc/cpuinfo is read, because the file has a megabyte on machines with
 * hundreds of CPUs. Unknown values are 0 or empty. */
#ifndef JOULE_CPU_INFO_H
#define JOULE_CPU_INFO_H

#include "joule/host/host.h"

struct cpu_info {
    /* "intel", "amd", "hygon", "arm" or another, as in joule_domain.vendor */
    char vendor[24];
    char model[96];                    /* "Xeon w9-3595X": without vendor, trademark signs and clock */
    unsigned family, number, stepping; /* number: x86's model number, or an Arm core's part number */
    double nominal_hz;                 /* frequency in the CPU's name ("@ 2.10GHz"); NaN: none */
    /* True in a virtual machine, according to the hypervisor flag, or on Arm to the firmware's names. */
    bool is_virtual;
    unsigned threads;         /* number of online CPUs */
    unsigned cores, packages; /* >= 1 if threads is known */
};

void cpu_info_read(struct joule_host *host, struct cpu_info *out_info);
/* Returns true for an Intel CPU of family 6 with this model number. */
bool cpu_is_intel(const struct cpu_info *info, unsigned number);
bool cpu_is_amd(const struct cpu_info *info); /* true for AMD and Hygon */

/* Returns true if the firmware's vendor or product name belongs to a hypervisor. Needed only for CPUs without
 * a hypervisor flag. */
bool cpu_firmware_is_virtual(const char *vendor, const char *product);

/* The part of a machine that one energy counter covers: a package, or a die if each die of the package has a
 * counter. */
struct cpu_unit {
    unsigned package; /* the kernel's number of the package */
    int die;          /* -1: the package has one die, or one counter for all dies */
};
/* Finds the unit of a CPU. Returns false, with package 0 in *out_unit, if the kernel does not report the
 * package. */
bool cpu_find_unit(struct joule_host *host, const struct cpu_info *info, unsigned cpu,
                   struct cpu_unit *out_unit);
/* Write the zone ("cpu1.2/dram") or the name ("dram-1-die-2") of a part of the unit. All sources must use
 * these functions, so that views of the same part have the same zone. */
void cpu_unit_zone(struct cpu_unit unit, const char *part, char *out_zone, size_t size);
void cpu_unit_name(struct cpu_unit unit, const char *part, char *out_name, size_t size);
bool cpu_is_same_unit(struct cpu_unit a, struct cpu_unit b);
/* Sets die to -1 in all units of a package with only one die. `units` points to the first of `count` units,
 * which are `stride` bytes apart. Equal units may occur several times. */
void cpu_unset_single_dies(struct cpu_unit *units, size_t count, size_t stride);

/* Reads the number in the file `what` of /sys/devices/system/cpu/cpuN/topology, such as
 * "physical_package_id". Returns false if the file is missing or has no valid number. */
bool cpu_read_topology(struct joule_host *host, unsigned cpu, const char *what, unsigned *out_value);

#endif
