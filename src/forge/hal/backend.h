/* hal/backend.h - the table of functions that every backend implements.
 *
 * Note: an entry may be NULL only if its comment says what happens then.
 */
#ifndef FORGE_HAL_BACKEND_H
#define FORGE_HAL_BACKEND_H

#include <joule/meter.h>
#include "base/clock.h"
#include "forge/hal/expected.h"
#include "forge/ir/program.h"

/* The result of a kernel selection: the kernel that a device would choose for an operation. */
struct selection {
    const char *kernel;     /* its name; static storage */
    in_place_bits in_place; /* which outputs it may place on which inputs */
};

/* A launch of an instance, bound to addresses and sizes. */
struct bound_launch {
    struct launch launch;
    const void *kernel;       /* from find_kernel; belongs to the backend */
    struct program_cost cost; /* cost at the bound sizes */
};

/* Additional functions of a device that only estimates times and joules. Its memory has addresses but no
 * bytes, so inputs, states and outputs have no values. The device's clock advances by the estimated time of
 * each launch. */
struct expect_ops {
    /* Computes the expected time and joules of one launch. */
    void (*launch)(forge_device *device, const struct bound_launch *launch, struct expected *out_expected);
    /* Returns the time on the device's clock, in ns. */
    int64_t (*now_ns)(forge_device *device);
    /* Begins the count of consumed_joules at 0. */
    void (*reset)(forge_device *device);
    /* Returns the joules since the last reset, without idle time between runs. */
    joule_quantity (*consumed_joules)(forge_device *device);
    /* Returns the mean power of the last run, in W. Before the first run, returns the idle power. */
    joule_quantity (*power_watts)(forge_device *device);
};

/* The functions of a backend. forge_device_open calls `open`; all others take the device that it returned. */
struct device_ops {
    const char *name;
    int32_t energy; /* the libjoule domain that contains the device's energy: JOULE_CPU or JOULE_GPU */
    joule_status (*open)(forge_device **out_device, joule_error *out_error);
    void (*close)(forge_device *device);
    /* Allocates zeroed memory, aligned to PROGRAM_ALIGNMENT. The host can access it at forge_buffer_data.
     * Only memory.c calls this function. Returns JOULE_NO_MEMORY if the device has not enough memory. */
    joule_status (*allocate)(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                             joule_error *out_error);
    /* Chooses the kernel for an operation on views with these types, shapes and strides; addresses are
     * ignored. If there are symbols, it is called again for each size of an instance, and must not allocate
     * then. Memory is planned only once. Therefore in_place must not depend on sizes and strides, and views
     * that are accepted at the largest sizes must be accepted at all sizes. Returns JOULE_UNSUPPORTED if
     * there is no kernel. */
    joule_status (*select)(forge_device *device, const struct launch *launch,
                           struct selection *out_selection);
    /* Returns the kernel with this name, for bound launches. Returns NULL if there is no such kernel, or if
     * it does not support this operation on these views (with addresses). Must not trust the arguments,
     * because they may come from a file. */
    const void *(*find_kernel)(forge_device *device, const char *name, const struct launch *launch);
    /* Runs `count` launches in order. Returns when all are complete. ends_ns: [count], gets the end time of
     * each launch, in ns of CLOCK_MONOTONIC. */
    joule_status (*run)(forge_device *device, const struct bound_launch *launches, size_t count,
                        int64_t *ends_ns, joule_error *out_error);
    joule_status (*set_threads)(forge_device *device, unsigned threads, joule_error *out_error);
    /* Fills in the facts, which the caller has zeroed. */
    void (*query)(forge_device *device, forge_device_facts *out_facts);
    const struct expect_ops *expect; /* NULL: the device runs launches, and sensors measure their energy */
};

struct forge_device {
    const struct device_ops *ops;
    struct device_memory *memory; /* memory.h; forge_device_open creates it */
    _Atomic int64_t reset_ns;     /* time of the last reset of the energy counter; 0: never */
};

/* Returns the time on the clock of this device's launches, in ns. */
static inline int64_t device_now_ns(forge_device *device)
{
    return device->ops->expect ? device->ops->expect->now_ns(device) : clock_now_ns();
}

extern const struct device_ops cpu_ops;       /* backends/cpu/cpu.c */
extern const struct device_ops estimated_ops; /* backends/estimated/estimated_device.c */

#endif
