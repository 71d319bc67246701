/* hal/device.h - the table of functions that every backend fills.
 *
 * Owns the interface between the floors above and a backend, and the list of backends (device.c). Newcomers: an
 * entry may be NULL only where its comment says what is done instead.
 */
#ifndef FORGE_HAL_DEVICE_H
#define FORGE_HAL_DEVICE_H

#include <joule/meter.h>
#include "forge/ir/program.h"

/* What a device would run an operation with. */
struct selection {
    const char *kernel; /* its name; static storage */
    enum in_place in_place;
};

/* A launch of a loaded program with addresses in it. */
struct bound_launch {
    struct launch launch;
    const void *kernel; /* the backend's own */
};

struct device_ops {
    const char *name;
    int32_t energy; /* libjoule's domain that holds its joules: JOULE_CPU, JOULE_GPU */
    joule_status (*open)(forge_device **out_device, joule_error *out_error);
    void (*close)(forge_device *device);
    /* Memory of the device, zeroed, aligned to PROGRAM_ALIGNMENT. */
    joule_status (*allocate)(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                             joule_error *out_error);
    /* The kernel for this operation on such views (without addresses). UNSUPPORTED: none. */
    joule_status (*select)(forge_device *device, const struct launch *launch,
                           struct selection *out_selection);
    /* The kernel of this name, to be kept in bound launches; NULL: there is none, or not for this operation on such views
     * (with addresses). A program's file may claim anything. */
    const void *(*find_kernel)(forge_device *device, const char *name, const struct launch *launch);
    /* Runs launches in order and returns when they are done. ends_ns gets the time (CLOCK_MONOTONIC) at which each ended;
     * count entries. */
    joule_status (*run)(forge_device *device, const struct bound_launch *launches, size_t count,
                        int64_t *ends_ns, joule_error *out_error);
    joule_status (*set_threads)(forge_device *device, unsigned threads, joule_error *out_error);
    /* Fills in what it knows of the facts, which are zeroed. */
    void (*look)(forge_device *device, forge_device_facts *out_facts);
};

struct forge_device {
    const struct device_ops *ops;
    _Atomic int64_t reset_ns; /* of its energy; 0: never */
};

extern const struct device_ops cpu_ops; /* backends/cpu/cpu.c */

#endif
