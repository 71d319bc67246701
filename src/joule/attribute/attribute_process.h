/* joule/attribute/attribute_process.h - sums the joules of each of the largest users, and of all other
 * processes together.
 *
 * attribute_process.c chooses the processes that get a row; its sums never decrease. attribute_tenant.c
 * defines the windows and the rule that divides joules, so that the same rule applies to a process and its
 * tenant.
 * Note: joules once reported under "others" stay there, because a Prometheus counter must not decrease. While
 * half of the rows are free, a process therefore gets a row before the joules of its first window are
 * reported.
 */
#ifndef JOULE_ATTRIBUTE_PROCESS_H
#define JOULE_ATTRIBUTE_PROCESS_H

#include "joule/attribute/attribute_tenant.h"
#include "joule/attribute/attribute_table.h"

#define MAX_PICKED_PROCESSES    64 /* maximum that can be requested */
#define ROWS_PER_PICKED_PROCESS 4  /* rows per requested process */

/* A process whose joules are reported. */
struct process_row {
    pid_t pid;
    uint64_t start_ticks;
    char name[TREE_NAME];
    char tenant[TENANT_PATH];       /* cgroup path; empty: none */
    struct tenant_name tenant_name; /* name of that tenant */
    double cpu_joules, gpu_joules;  /* since the process got its row */
    /* time at which the process was last seen alive; time at which it was last among the largest users */
    int64_t alive_ns, top_ns;
    bool is_named; /* the tenant of the process was looked up */
};

/* Initialise with zeros, except `max_picked`. Not thread-safe. */
struct process_shares {
    size_t max_picked; /* number of processes that get a row at one choice, 1 to MAX_PICKED_PROCESSES */
    struct process_row *rows;
    size_t count, capacity;
    /* Joules of processes without a row (other), of rows that were removed (ended), and of no known process
     * (rest). Together with the rows they add up to the meter's energy. */
    double other_cpu_joules, other_gpu_joules;
    double ended_cpu_joules, ended_gpu_joules;
    double rest_cpu_joules, rest_gpu_joules;
    double idle_cpu_joules;           /* joules of the time in which the kernel counts CPUs as idle */
    bool knows_idle;                  /* true: idle_cpu_joules is known; false: idle joules are part of the
                                       * rest */
    joule_class cpu_class, gpu_class; /* NONE: nothing was attributed yet */
    /* Below: private to attribute_process.c. The joules in the table are those since the last choice. */
    struct process_table table;
    double machine_busy_s; /* CPU seconds of the machine at the last update; NaN: unknown */
    double busy_step_s;    /* CPU seconds of the machine in the window that is not settled; NaN: unknown */
    int64_t picked_ns;     /* time of the last choice, or of the first update; 0: neither */
};

/* Divides the processors' joules of a window among the processes, in proportion to their CPU time.
 * capacity_s: the CPU seconds that the window offered, number of CPUs times its length. If joules->value is
 * NaN, no process gets joules. */
void process_share_cpu(struct process_shares *shares, const joule_quantity *joules, double capacity_s);
/* Adds joules of a device to a process. Returns the joules added; 0 if /proc does not show the process. */
double process_share_device(struct process_shares *shares, uint64_t pid, double joules);
/* Adds the joules of a device that belong to no process (`joules` minus `given`) to the rest. given: joules
 * attributed to processes. */
void process_leave_device(struct process_shares *shares, const joule_quantity *joules, double given);

/* Moves the joules that the functions above added to processes into the reported sums: chooses processes for
 * free rows, then adds to the rows and to the sum of others. */
void process_settle(struct process_shares *shares, int64_t now_ns);
/* Ends a window: reads /proc and periodically chooses the processes with rows again. Returns JOULE_OK,
 * JOULE_NO_MEMORY, or why /proc cannot be read. */
joule_status process_shares_update(struct process_shares *shares, const struct tenants *tenants,
                                   int64_t now_ns);
/* Frees the rows and the table; max_picked stays. */
void process_shares_free(struct process_shares *shares);

#endif
