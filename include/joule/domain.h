/* joule/domain.h - what can be measured on this machine.
 *
 * A domain is a part of the machine whose energy somebody can tell: a CPU package, its cores, memory, a GPU
 * board, the whole node. Domains form a tree in which a parent covers more than its children, so sums are made
 * by libjoule (JOULE_TOTAL), not by adding whatever is listed.
 * Newcomers: one domain may be readable by several sources; it is listed once for each, and only the one with
 * `in_total` set counts.
 */
#ifndef JOULE_DOMAIN_H
#define JOULE_DOMAIN_H

#include <joule/quantity.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a domain covers. */
typedef enum joule_scope {
    JOULE_SCOPE_UNKNOWN = 0,
    JOULE_SCOPE_PACKAGE = 1, /* a CPU socket: cores, caches, memory controller, integrated graphics */
    JOULE_SCOPE_CORE = 2,    /* the cores of a package, or one core */
    JOULE_SCOPE_UNCORE = 3,  /* on client parts, the integrated graphics */
    JOULE_SCOPE_DRAM = 4,    /* memory modules */
    JOULE_SCOPE_PSYS = 5,    /* platform: package and whatever else the vendor wired to the meter */
    JOULE_SCOPE_GPU = 6,     /* a graphics or accelerator board with its memory */
    JOULE_SCOPE_GPU_MEMORY = 7,
    JOULE_SCOPE_MODULE = 8,   /* a superchip: CPU, GPU and their memory */
    JOULE_SCOPE_NODE = 9,     /* everything behind one plug, fan or supply */
    JOULE_SCOPE_BATTERY = 10, /* a laptop seen from its battery */
    JOULE_SCOPE_RAIL = 11,    /* one supply rail, of which the label says more */
} joule_scope;

/* What a domain's readings are. */
typedef enum joule_reading_kind {
    JOULE_READING_ENERGY = 1,      /* a counter of joules */
    JOULE_READING_POWER = 2,       /* watts, integrated by libjoule */
    JOULE_READING_TEMPERATURE = 3, /* degrees Celsius; a gauge, never summed */
    JOULE_READING_CLOCK = 4,       /* megahertz; a gauge */
    JOULE_READING_UTILISATION = 5, /* 0 to 1, of what `label` says; a gauge */
} joule_reading_kind;

/* One readable domain, as found. Strings are terminated; an unknown one is empty. */
typedef struct joule_domain {
    uint32_t struct_size; /* set by the caller to sizeof(joule_domain) before the call */
    int32_t id;           /* >= 0; stays valid until the meter is closed */
    int32_t parent;       /* id of the domain that contains this one, or -1 */
    joule_scope scope;
    joule_reading_kind reading;
    joule_status state;     /* of the last reading */
    joule_class cls;        /* of the energies that come from here */
    uint32_t in_total;      /* 1: a term of JOULE_TOTAL */
    uint32_t tier;          /* 1 modelled, 2 CPU counters, 3 accelerator */
    int32_t device_index;   /* 0 for cpu:0 and gpu:0; -1 where there is none */
    double update_period_s; /* the sensor's own; NaN: unknown */
    char name[48];          /* unique: "package-0", "gpu-0", "package-0@rapl_powercap" */
    char label[64];         /* the vendor's or firmware's word for it */
    char device[16];        /* "cpu:0", "gpu:0", "memory:0", "node" */
    char source[24];        /* "rapl_perf", "nvml", "estimated" ... */
    char measurement[24];   /* closed list of the report: "rapl", "nvml", "hwmon", "battery", "estimated" */
    char vendor[24];        /* "intel", "amd", "nvidia" */
    char model[96];         /* "Xeon w9-3595X", "NVIDIA H200" */
    char uuid[64];          /* of a device that has one */
    char remedy[192]; /* what to do where state is not JOULE_OK, or what hides it from totals; else empty */
} joule_domain;

/* Names in static storage ("package", "energy"). Any thread. */
JOULE_API const char *joule_scope_name(joule_scope scope);
JOULE_API const char *joule_reading_kind_name(joule_reading_kind kind);

#ifdef __cplusplus
}
#endif
#endif
