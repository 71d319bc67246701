/* joule/attribute/attribute_process.h - joules of the processes that use most, up to a limit, and of all
 * others together.
 *
 * Chooses the processes that get a row, and keeps sums that only grow. attribute_tenant.c defines the windows
 * and the rule by which joules are shared, so that a process and its tenant are measured alike.
 * Note: joules once reported under "others" stay there, because a Prometheus counter must not fall. While
 * half of the places are free, a process is therefore picked before the joules of its first window are
 * reported.
 */
#ifndef JOULE_ATTRIBUTE_PROCESS_H
#define JOULE_ATTRIBUTE_PROCESS_H

#include "joule/attribute/attribute_tenant.h"
#include "joule/attribute/attribute_table.h"

#define PROCESSES_MOST       64 /* that can be asked for */
#define PROCESS_ROWS_PER_ONE 4  /* told apart at the same time, for each that is asked for */

struct process_row {
    pid_t pid;
    uint64_t start_ticks;
    char name[TREE_NAME];
    char tenant[TENANT_PATH];       /* empty: in none */
    struct tenant_name tenant_name; /* of that */
    double cpu_joules, gpu_joules;  /* since it was picked */
    int64_t alive_ns, most_ns;      /* last seen alive; last among those that use most */
    bool is_named;                  /* its tenant was queried */
};

/* Zeroed but for `most`. One thread. */
struct process_shares {
    size_t most; /* picked at a time, 1 to PROCESSES_MOST */
    struct process_row *rows;
    size_t count, capacity;
    /* Of processes that are not told apart; of rows that went away; of nobody. With the rows' these add up to what the meter
     * saw. */
    double other_cpu_joules, other_gpu_joules;
    double ended_cpu_joules, ended_gpu_joules;
    double rest_cpu_joules, rest_gpu_joules;
    double idle_cpu_joules;           /* joules of the time in which the kernel counts CPUs as idle */
    bool knows_idle;                  /* false: idle joules are part of the rest */
    joule_class cpu_class, gpu_class; /* NONE: nothing was shared out */
    /* Below: attribute_process.c's. The joules in the table are those since the last choice. */
    struct process_table table;
    double machine_busy_s; /* CPU seconds of all at the last look; NaN: unknown */
    double busy_step_s;    /* CPU seconds of all in the window that is not settled; NaN: unknown */
    int64_t picked_ns;     /* time of the last choice, or of the first look; 0: neither */
};

/* What processors used in a window in which they could have given capacity_s of CPU time. NaN: not known, nobody's. */
void process_share_cpu(struct process_shares *shares, const joule_quantity *joules, double capacity_s);
/* Gives joules of a device to a process; returns what it got, 0 where there is no such process in sight. */
double process_share_device(struct process_shares *shares, uint64_t pid, double joules);
/* What a device used that no process got. */
void process_leave_device(struct process_shares *shares, const joule_quantity *joules, double given);

/* Reports the joules that the calls above gave to processes: picks processes for free places, then adds to
 * the rows and to the sum of others. */
void process_settle(struct process_shares *shares, int64_t now_ns);
/* Ends a window: looks at /proc, and now and then chooses anew who is told apart. OK, NO_MEMORY or why /proc cannot be read. */
joule_status process_look(struct process_shares *shares, const struct tenants *tenants, int64_t now_ns);
void process_shares_free(struct process_shares *shares);

#endif
