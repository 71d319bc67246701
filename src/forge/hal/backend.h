/* hal/backend.h - the table of functions that every backend implements.
 *
 * Note: a function pointer may be NULL only if its comment defines the meaning of NULL.
 */
#ifndef FORGE_HAL_BACKEND_H
#define FORGE_HAL_BACKEND_H

#include <joule/meter.h>
#include "base/clock.h"
#include "forge/hal/expected.h"
#include "forge/hal/rates.h"
#include "forge/ir/program.h"

/* The kernel that a device selects for an operation. */
struct selection {
    const char *kernel;     /* name of the kernel, in static storage */
    in_place_bits in_place; /* the outputs that the kernel may write over an input */
};

/* A launch of an instance, bound to addresses and sizes. */
struct bound_launch {
    struct launch launch;
    const void *kernel;       /* from find_kernel; owned by the backend */
    struct program_cost cost; /* cost of the launch at the bound sizes */
    unsigned cores;           /* the device uses at most so many cores for the launch; 0: all */
};

/* Additional functions of a device that only estimates times and joules. The addresses of its memory must not
 * be accessed, so inputs, slots and outputs have no values. The device's clock advances by the expected time
 * of each launch. */
struct expect_ops {
    /* Computes the expected time and joules of one launch. */
    void (*launch)(forge_device *device, const struct bound_launch *launch, struct expected *out_expected);
    /* Returns the time on the device's clock, in ns. */
    int64_t (*now_ns)(forge_device *device);
    /* Makes consumed_joules count from 0 again. */
    void (*reset)(forge_device *device);
    /* Returns the joules since the last reset, without idle time between runs. */
    joule_quantity (*consumed_joules)(forge_device *device);
    /* Returns the mean power of the last run, in W. Before the first run, returns the idle power. */
    joule_quantity (*power_watts)(forge_device *device);
};

/* The functions of a backend. forge_device_open calls `open`, and all other functions receive the device that
 * `open` returned. */
struct device_ops {
    const char *name;
    int32_t energy; /* the libjoule domain that contains the device's energy: JOULE_CPU or JOULE_GPU */
    joule_status (*open)(forge_device **out_device, joule_error *out_error);
    void (*close)(forge_device *device);
    /* Allocates zeroed memory, aligned to PROGRAM_ALIGNMENT. The host can access it at forge_buffer_data. The
     * caller owns the buffer. Memory of programs comes from memory.c, which calls this function. Returns
     * JOULE_NO_MEMORY if the device does not have enough memory. */
    joule_status (*allocate)(forge_device *device, size_t size_bytes, forge_buffer **out_buffer,
                             joule_error *out_error);
    /* Selects the kernel for an operation on views with these types, shapes and strides; addresses are
     * ignored. If sizes are symbols, this function is called again for each new size of an instance, so it
     * must not allocate memory. Memory is planned only once, for the largest sizes. So in_place must not
     * depend on sizes or strides, and views that are accepted at the largest sizes must be accepted at all
     * sizes. Returns JOULE_UNSUPPORTED if there is no kernel. */
    joule_status (*select)(forge_device *device, const struct launch *launch,
                           struct selection *out_selection);
    /* Returns the kernel with this name, for bound launches. Returns NULL if there is no such kernel, or if
     * the kernel does not support this operation on these views and addresses. Must check its arguments,
     * because they may come from a file that is not trusted. */
    const void *(*find_kernel)(forge_device *device, const char *name, const struct launch *launch);
    /* Runs `count` launches in order, and returns when all are complete. ends_ns: [count], receives the end
     * time of each launch, in ns of CLOCK_MONOTONIC (or of the device's clock if it only estimates). */
    joule_status (*run)(forge_device *device, const struct bound_launch *launches, size_t count,
                        int64_t *ends_ns, joule_error *out_error);
    /* Returns the size of a copy of input `input` of a bound launch in the order of bytes that its kernel
     * reads fastest; 0: the kernel has no such order. repack: writes the copy, which the device then reads
     * through the input's `repacked`. The copy depends only on the type, shape and elements of the input.
     * NULL: the device has no such orders. */
    size_t (*repacked_bytes)(forge_device *device, const struct bound_launch *launch, size_t input);
    void (*repack)(forge_device *device, const struct bound_launch *launch, size_t input, void *out_copy);
    /* Fills the rates and prices from which schedules compute seconds and joules. */
    joule_status (*rates)(forge_device *device, struct device_rates *out_rates, joule_error *out_error);
    /* Describes the work of a launch of the kernel that `select` returns; addresses are ignored. */
    void (*work)(forge_device *device, const struct launch *launch, const struct program_cost *cost,
                 struct launch_work *out_work);
    /* Returns code that the device compiled for the operations of a launch; sizes and addresses are ignored.
     * The caller stores it in launch->compiled. The device owns it. Returns NULL if there is none. May take
     * seconds. set_compiled: turns the compilation on or off; query_compiled: describes it, and sets all
     * members. NULL: the device compiles nothing. */
    const void *(*compile)(forge_device *device, const struct launch *launch);
    joule_status (*set_compiled)(forge_device *device, bool is_on, joule_error *out_error);
    void (*query_compiled)(forge_device *device, forge_compiled_facts *out_facts);
    joule_status (*set_threads)(forge_device *device, unsigned threads, joule_error *out_error);
    /* Sets the members of *out_facts that apply to the device; the caller has set all members to 0. */
    void (*query)(forge_device *device, forge_device_facts *out_facts);
    const struct expect_ops *expect; /* NULL: the device runs launches, and sensors measure their energy */
};

struct forge_device {
    const struct device_ops *ops;
    struct device_memory *memory; /* memory.h; forge_device_open creates it */
    /* time of the last forge_reset_counters, in ns of CLOCK_MONOTONIC; 0: never */
    _Atomic int64_t reset_ns;
};

/* Returns the present time on the clock that measures this device's launches, in ns. */
static inline int64_t device_now_ns(forge_device *device)
{
    return device->ops->expect ? device->ops->expect->now_ns(device) : clock_now_ns();
}

extern const struct device_ops cpu_ops;       /* backends/cpu/cpu.c */
extern const struct device_ops estimated_ops; /* backends/estimated/estimated_device.c */

#endif
