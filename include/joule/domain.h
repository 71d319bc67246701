/* joule/domain.h - the parts of this machine whose energy or state can be read.
 *
 * A domain is a CPU package, its cores, memory, a GPU board or the whole node. Domains form a tree: a parent
 * includes its children. So do not add the energies of all domains; query JOULE_TOTAL instead.
 * Note: a domain that several sources can read is listed once for each source. Only one of them has
 * `in_total` set.
 */
#ifndef JOULE_DOMAIN_H
#define JOULE_DOMAIN_H

#include <joule/quantity.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The part of the machine that a domain covers. */
typedef enum joule_scope {
    JOULE_SCOPE_UNKNOWN = 0,
    JOULE_SCOPE_PACKAGE = 1, /* a CPU socket: cores, caches, memory controller, integrated graphics */
    JOULE_SCOPE_CORE = 2,    /* the cores of a package, or one core */
    JOULE_SCOPE_UNCORE = 3,  /* the integrated graphics; client processors only */
    JOULE_SCOPE_DRAM = 4,    /* memory modules */
    JOULE_SCOPE_PSYS = 5,    /* platform: the package and all that the vendor connected to the same sensor */
    JOULE_SCOPE_GPU = 6,     /* a graphics or accelerator board with its memory */
    JOULE_SCOPE_GPU_MEMORY = 7,
    JOULE_SCOPE_MODULE = 8,   /* a superchip: CPU, GPU and their memory */
    JOULE_SCOPE_NODE = 9,     /* the whole machine, for example measured at its power supply */
    JOULE_SCOPE_BATTERY = 10, /* a laptop while it runs on its battery */
    JOULE_SCOPE_RAIL = 11,    /* one supply rail; the label names it */
} joule_scope;

/* The quantity that a domain's sensor reports. */
typedef enum joule_reading_kind {
    JOULE_READING_ENERGY = 1,      /* an energy counter */
    JOULE_READING_POWER = 2,       /* watts; libjoule integrates them */
    JOULE_READING_TEMPERATURE = 3, /* degrees Celsius; a gauge, never summed */
    JOULE_READING_CLOCK = 4,       /* megahertz; a gauge */
    JOULE_READING_UTILISATION = 5, /* 0 to 1, of the resource that `label` names; a gauge */
} joule_reading_kind;

/* One readable domain. Strings are terminated; an unknown one is empty. */
typedef struct joule_domain {
    uint32_t struct_size; /* set by the caller to sizeof(joule_domain) before the call */
    int32_t id;           /* >= 0; stays valid until the meter is closed */
    int32_t parent;       /* id of the domain that contains this one, or -1 */
    joule_scope scope;
    joule_reading_kind reading;
    joule_status state;     /* result of the last reading */
    joule_class cls;        /* class of this domain's energies */
    uint32_t in_total;      /* 1: JOULE_TOTAL includes this domain */
    uint32_t tier;          /* 1 modelled, 2 CPU counters, 3 accelerator */
    int32_t device_index;   /* 0 for cpu:0 and gpu:0; -1: no device */
    double update_period_s; /* update period of the sensor itself; NaN: unknown */
    char name[48];          /* unique: "package-0", "gpu-0", "package-0@rapl_powercap" */
    char label[64];         /* the name that the vendor or firmware uses */
    char device[16];        /* "cpu:0", "gpu:0", "memory:0", "node" */
    char source[24];        /* "rapl_perf", "nvml", "estimated" ... */
    char measurement[24];   /* method, as in the report: "rapl", "nvml", "hwmon", "battery", "estimated" */
    char vendor[24];        /* "intel", "amd", "nvidia" */
    char model[96];         /* "Xeon w9-3595X", "NVIDIA H200" */
    char uuid[64];          /* UUID of the device, if it has one */
    char remedy[192];       /* what to do if state is not JOULE_OK; or why totals exclude the domain */
} joule_domain;

/* Return the name of a scope ("package") or of a reading ("energy"), in static storage. Any thread. */
JOULE_API const char *joule_scope_name(joule_scope scope);
JOULE_API const char *joule_reading_kind_name(joule_reading_kind kind);

#ifdef __cplusplus
}
#endif
#endif
