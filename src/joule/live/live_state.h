/* joule/live/live_state.h - the accounts that live.c and live_devices.c share.
 *
 * Note: the step of a process is its active time since energy was last divided. Steps grow until the meter
 * has the joules of the same time. If a sensor ticks every few seconds, a step spans several updates.
 */
#ifndef JOULE_LIVE_STATE_H
#define JOULE_LIVE_STATE_H

#include <joule/devices.h>
#include "joule/attribute/attribute.h"
#include "joule/cost/cost.h"
#include "joule/live/live.h"
#include "joule/attribute/attribute_table.h"

/* The account of the CPUs or of one device. */
struct live_meter {
    /* CLOCK_MONOTONIC: time of the first reading; end of the time whose joules are already divided */
    int64_t begin_ns, shared_ns;
};
/* Sets *out_joules to the joules since the last call that returned true, and *out_seconds to the time in
 * which they were used. Updates total_joules, cls and relative_sd in *sum. Returns false if the meter has no
 * new joules. The caller then keeps the steps of processes. */
bool live_take_joules(joule_meter *meter, int32_t domain, struct live_meter *account, struct live_sum *sum,
                      double *out_joules, double *out_seconds);

/* The use of a device by a process. */
struct live_use {
    pid_t pid;
    uint64_t start_ticks;
    double step_s; /* active time whose joules are not known yet */
    double joules;
};

struct live_device {
    struct live_meter account;
    int64_t waits_since_ns; /* time at which the current steps began */
    /* seconds in which the device was active since the steps began. If the device does not report its
     * activity, all seconds count as active */
    double busy_s;
    struct live_use *uses;
    size_t use_count, use_capacity;
};

struct live {
    joule_meter *meter;
    struct process_table table;
    int64_t updated_ns;
    struct live_sum *sums;       /* [0]: CPUs; [1 + i]: devices[i] */
    struct live_device *devices; /* has device_count items */
    size_t device_count, device_capacity, sum_capacity;
    struct {
        struct live_meter account;
        /* CPU times when energy was last divided, and at the last update */
        struct machine_time shared, updated;
        int64_t shared_ns;
        struct estimate idle_watts;
        struct cost_cpu model;
        bool has_model;
    } cpu;
};

/* Updates the devices; call it after the table of processes was read. */
joule_status live_update_devices(struct live *live, int64_t now_ns);
void live_free_devices(struct live *live);

#endif
