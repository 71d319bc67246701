/* joule/live/live_state.h - the accounts, for the files that keep them.
 *
 * Owns what live.c and live_devices.c share. Newcomers: time of activity waits in a step until the meter has told
 * the joules of the same time; a meter that ticks every few seconds gets several looks' worth at once.
 */
#ifndef JOULE_LIVE_STATE_H
#define JOULE_LIVE_STATE_H

#include <joule/devices.h>
#include "joule/attribute/attribute.h"
#include "joule/cost/cost.h"
#include "joule/live/live.h"
#include "joule/attribute/attribute_table.h"

/* What one meter tells from look to look. */
struct live_meter {
    int64_t begin_ns,
        shared_ns; /* CLOCK_MONOTONIC: of the first reading, and up to where its joules are shared out */
};
/* The joules that came in since the last time, and how much time they cover; false: none, all may wait. *sum gets what was
 * seen and its error. */
bool live_take(joule_meter *meter, int32_t domain, struct live_meter *account, struct live_sum *sum,
               double *out_joules, double *out_seconds);

/* A process on a device. */
struct live_use {
    pid_t pid;
    uint64_t start_ticks;
    double step_s; /* active time that waits for its joules */
    double joules;
};

struct live_device {
    struct live_meter account;
    int64_t waits_since_ns; /* when the steps begin */
    double busy_s;          /* active time of all, as the device tells; all time where it does not */
    struct live_use *uses;
    size_t use_count, use_capacity;
};

struct live {
    joule_meter *meter;
    struct process_table table;
    int64_t looked_ns;
    struct live_sum *sums;       /* [0]: CPUs; [1 + i]: devices[i] */
    struct live_device *devices; /* as many as sums, less one */
    size_t device_count, device_capacity, sum_capacity;
    struct {
        struct live_meter account;
        struct machine_time shared, looked; /* up to where steps are shared out; at the last look */
        int64_t shared_ns;
        struct estimate idle_watts;
        struct cost_cpu model;
        bool has_model;
    } cpu;
};

/* After the table of processes was read. */
joule_status live_look_at_devices(struct live *live, int64_t now_ns);
void live_free_devices(struct live *live);

#endif
