/* joule/report/overview.h - what a meter knows now, all at once, for those who print it again and again.
 *
 * Owns a copy of every domain, device, source and sum with what it says, and the moment. The printers read that copy alone:
 * metrics.h for Prometheus, overview_json for a page.
 * Newcomers: gathering takes locks, but never waits for hardware; everything comes from what the lanes have read. The
 * arrays stay for the next time, so that a server that gathers for years needs no more memory than after the first.
 */
#ifndef JOULE_REPORT_OVERVIEW_H
#define JOULE_REPORT_OVERVIEW_H

#include <joule/joule.h>
#include "base/string.h"

struct overview_domain {
    joule_domain domain;
    joule_quantity joules, watts; /* of energy and power domains: since the meter was opened; now */
    double temperature_celsius, clock_megahertz, utilisation; /* of gauges, each of its own kind */
    double age_s; /* of energy and power domains, since they last answered; NaN: never */
};

struct overview_device {
    joule_device device;
    double memory_total_bytes, memory_used_bytes, memory_free_bytes; /* as numbers that may be unknown */
    double sm_activity, tensor_activity, dram_activity;              /* 0 to 1 */
    double process_count, partition_count;
};

/* A device, or a part of it: a MIG device. */
struct overview_part {
    size_t device;               /* among the overview's */
    joule_device_partition info; /* of a whole device nothing */
    /* What is free and used is told once: by GPU instances where there are any, and by the first of each one's compute
     * instances; else by the device. NaN elsewhere. Reserved: neither used nor free. */
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
    bool is_partial; /* a part of it cannot be read */
    char cover[512]; /* "package-0 + gpu-0"; empty: nothing makes it up */
};

struct tenants; /* attribute_tenant.h */

struct process_shares; /* attribute_process.h */

/* Zeroed before the first gathering. */
struct overview {
    const struct tenants *tenants; /* who used the energy; NULL: nobody asked. The caller's, who updates it */
    const struct process_shares *processes; /* the same of single processes */
    char hostname[65];
    double unix_time_s, age_s, period_s; /* the moment; since the meter was opened; between readings */
    double overhead_cpu_s;               /* what measuring itself took */
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

/* Fills in the overview; false where memory is used up. For a meter of this process, any thread. */
bool overview_gather(struct overview *overview, joule_meter *meter);
void overview_free(struct overview *overview); /* not the tenants */

/* As one line of JSON, docs/serve.schema.json. */
void overview_json(const struct overview *overview, struct text *out);

#endif
