/* joule/sources/cpu/cpu_info.h - which CPU this is.
 *
 * Owns the reading of /proc/cpuinfo and of CPU topology for all sources that need a vendor, a model or a package.
 * Newcomers: only the first CPU's block is read, as machines with hundreds of CPUs have a megabyte of them; what
 * is not known is 0 or empty.
 */
#ifndef JOULE_CPU_INFO_H
#define JOULE_CPU_INFO_H

#include "joule/host/host.h"

struct cpu_info {
    char vendor[24];                   /* "intel", "amd", "hygon", "arm" ... as joule_domain.vendor */
    char model[96];                    /* "Xeon w9-3595X": without vendor, marks and clock */
    unsigned family, number, stepping; /* number: x86's model number, or the part number of an Arm core */
    double nominal_hz;                 /* that the model's name ends in; NaN: none */
    bool is_virtual;                   /* by the hypervisor flag, on Arm by the names in firmware */
    unsigned threads;                  /* online */
    unsigned cores, packages;          /* >= 1 where threads is known */
};

void cpu_info_read(struct joule_host *host, struct cpu_info *out_info);
bool cpu_is_intel(const struct cpu_info *info, unsigned number); /* family 6 */
bool cpu_is_amd(const struct cpu_info *info);                    /* or Hygon */

/* Whether firmware with these names is a hypervisor's, for CPUs that do not tell. */
bool cpu_firmware_is_virtual(const char *vendor, const char *product);

/* What has an energy of its own: a package, or one die of a package with several, as RAPL sees it. */
struct cpu_unit {
    unsigned package; /* as the kernel numbers it */
    int die;          /* -1: the package has one, or its dies have one meter */
};
/* The unit of a CPU. False where the kernel tells no package, which is then 0. */
bool cpu_unit_of(struct joule_host *host, const struct cpu_info *info, unsigned cpu,
                 struct cpu_unit *out_unit);
/* The zone and the name of a part of it: "cpu1.2/dram", "dram-1-die-2". Views of one zone must all use these. */
void cpu_unit_zone(struct cpu_unit unit, const char *part, char *out_zone, size_t size);
void cpu_unit_name(struct cpu_unit unit, const char *part, char *out_name, size_t size);
bool cpu_is_same_unit(struct cpu_unit a, struct cpu_unit b);
/* Only packages with several units are told apart by die. `units` is the first of `count`, which lie `stride` bytes
 * apart; one unit may be there many times. */
void cpu_forget_single_dies(struct cpu_unit *units, size_t count, size_t stride);

/* One number of /sys/devices/system/cpu/cpuN/topology, such as "physical_package_id"; false where unknown. */
bool cpu_topology(struct joule_host *host, unsigned cpu, const char *what, unsigned *out_value);

#endif
