/* hal/device.h - the table of functions that every backend fills.
 *
 * Owns the interface between the floors above and a backend, and the list of backends (device.c). Newcomers: an
 * entry may be NULL only where its comment says what is done instead.
 */
#ifndef FORGE_HAL_DEVICE_H
#define FORGE_HAL_DEVICE_H

#include <joule/meter.h>
#include "base/clock.h"
#include "forge/hal/expected.h"
#include "forge/ir/program.h"

/* What a device would run an operation with. */
struct selection {
    const char *kernel; /* its name; static storage */
    in_place_bits in_place;
};

/* A launch of a loaded program with addresses in it. */
struct bound_launch {
    struct launch launch;
    const void *kernel;       /* the backend's own */
    struct program_cost cost; /* as the program says */
};

/* What a device answers that runs nothing: times and joules by a model. Its memory has addresses and no bytes, so neither
 * inputs nor states nor outputs have values, and its clock goes on by what launches are expected to take. */
struct expect_ops {
    void (*launch)(forge_device *device, const struct bound_launch *launch, struct expected *out_expected);
    int64_t (*now_ns)(forge_device *device);
    void (*reset)(forge_device *device);
    /* Since the last reset, idle time between runs left out: there is none. */
    joule_quantity (*consumed_joules)(forge_device *device);
    /* Mean of the last run; before the first, what the machine takes while idle. */
    joule_quantity (*power_watts)(forge_device *device);
};

struct device_ops {
    const char *name;
    int32_t energy; /* libjoule's domain that holds its joules: JOULE_CPU, JOULE_GPU */
    joule_status (*open)(forge_device **out_device, joule_error *out_error);
    void (*close)(forge_device *device);
    /* Memory of the device, zeroed, aligned to PROGRAM_ALIGNMENT, and reached by the host at forge_buffer_data. Only
     * memory.c calls this; others take from it. NO_MEMORY: there is not as much. */
    joule_status (*allocate)(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                             joule_error *out_error);
    /* The kernel for this operation on such views, whose addresses are not looked at. Where sizes are symbols it is asked for
     * each size that an instance is set to, while nothing may be allocated; so that memory can be planned once, in_place
     * must not depend on sizes and strides, and what is taken at the largest sizes must be taken at all. UNSUPPORTED: none. */
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
    const struct expect_ops *expect; /* NULL: launches are run, and sensors tell what they use */
};

struct forge_device {
    const struct device_ops *ops;
    struct device_memory *memory; /* memory.h; forge_device_open makes it */
    _Atomic int64_t reset_ns;     /* of its energy; 0: never */
};

/* The clock that its launches' ends are told by. */
static inline int64_t device_now_ns(forge_device *device)
{
    return device->ops->expect ? device->ops->expect->now_ns(device) : clock_now_ns();
}

extern const struct device_ops cpu_ops;       /* backends/cpu/cpu.c */
extern const struct device_ops estimated_ops; /* backends/estimated/estimated.c */

#endif
