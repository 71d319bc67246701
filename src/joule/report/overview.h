/* joule/report/overview.h - a copy of all values that a meter knows at one moment.
 *
 * An overview contains every domain, device, source and sum with its values. Printers read only the overview:
 * metrics.h for Prometheus, overview_json for a web page.
 * Note: gathering takes locks but never waits for hardware, because lanes have read all values. The arrays
 * are reused, so that a server rarely allocates after the first call.
 */
#ifndef JOULE_REPORT_OVERVIEW_H
#define JOULE_REPORT_OVERVIEW_H

#include <joule/joule.h>
#include "base/string.h"

struct overview_domain {
    joule_domain domain;
    /* for energy and power domains only: energy since the meter opened, and current power */
    joule_quantity joules, watts;
    double temperature_celsius, clock_megahertz, utilisation; /* gauges only; NaN: a gauge of another kind */
    double age_s; /* energy and power domains only: seconds since the last reading; NaN: never read */
};

struct overview_device {
    joule_device device;
    double memory_total_bytes, memory_used_bytes, memory_free_bytes; /* NaN: unknown */
    double sm_activity, tensor_activity, dram_activity;              /* 0 to 1 */
    double process_count, partition_count;
};

/* A whole device, or a part of one (a MIG device). */
struct overview_part {
    size_t device;               /* index in `devices` */
    joule_device_partition info; /* empty for a whole device */
    /* Free and used memory is reported once: by the first compute instance of each GPU instance, or by the
     * device if no memory of GPU instances is known. NaN elsewhere. Reserved memory is neither used nor
     * free. */
    double memory_total_bytes, memory_used_bytes, memory_free_bytes, memory_reserved_bytes;
};

struct overview_source {
    const char *name, *measurement; /* in static storage */
    uint32_t tier;
    joule_status state;
};

/* JOULE_TOTAL, JOULE_CPU and JOULE_GPU. */
enum { OVERVIEW_TOTAL, OVERVIEW_CPU, OVERVIEW_GPU, OVERVIEW_SUMS };
struct overview_sum {
    const char *part; /* "all", "cpu", "gpu" */
    joule_quantity joules, watts;
    bool is_partial; /* a domain of the sum cannot be read */
    char cover[512]; /* "package-0 + gpu-0"; empty: no domain */
};

struct tenants; /* attribute_tenant.h */

struct process_shares; /* attribute_process.h */

/* Initialise with zeros before the first gathering. */
struct overview {
    const struct tenants *tenants;          /* energy by tenant, owned by the caller; NULL: off */
    const struct process_shares *processes; /* energy by process, owned by the caller; NULL: off */
    char hostname[65];
    /* Seconds: wall-clock time since 1970; time since the meter opened; time between readings. */
    double unix_time_s, age_s, period_s;
    double overhead_cpu_s; /* CPU seconds used by the threads that measure */
    struct overview_sum sums[OVERVIEW_SUMS];
    struct overview_domain *domains;
    size_t domain_count, domain_capacity;
    struct overview_device *devices;
    size_t device_count, device_capacity;
    struct overview_part *parts;
    size_t part_count, part_capacity;
    struct overview_source *sources;
    size_t source_count, source_capacity;
};

/* Fills the overview. Returns false if out of memory. The meter must have been opened in this process. Any
 * thread. */
bool overview_gather(struct overview *overview, joule_meter *meter);
void overview_free(struct overview *overview); /* frees neither tenants nor processes */

/* Writes one line of JSON (docs/serve.schema.json). */
void overview_json(const struct overview *overview, struct text *out);

#endif
