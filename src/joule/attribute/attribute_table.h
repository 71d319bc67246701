/* joule/attribute/attribute_table.h - the machine's processes from look to look: who there is, and how long each has run since.
 *
 * Owns the table of processes and the CPU time that is not shared out yet. live.c and attribute_process.c add joules.
 * Newcomers: a process that starts and ends between two looks is never seen; its time shows when its parent waits for it,
 * and is then the parent's. A process id says nothing without the time at which it began.
 */
#ifndef JOULE_ATTRIBUTE_TABLE_H
#define JOULE_ATTRIBUTE_TABLE_H

#include <joule/base.h>
#include "joule/attribute/attribute_tree.h"

struct seen_process {
    pid_t pid, parent;
    uint64_t start_ticks; /* after boot */
    char name[TREE_NAME];
    bool
        is_outside; /* a driver says that it uses a GPU, and /proc does not know it: another container's, say */
    double
        cpu_share; /* CPUs that it, and children that it waited for, kept busy between the last two looks */
    double gpu_share;              /* the same for GPUs; NaN: unknown */
    uint64_t gpu_memory_bytes;     /* on all GPUs together; JOULE_BYTES_UNKNOWN */
    double cpu_joules, gpu_joules; /* its part since the first look, or since it was asked for last */
    double cpu_watts, gpu_watts;   /* and over the last interval */
    /* For who shares out */
    double own_s, children_s; /* as /proc showed last */
    double owed_s;            /* of descendants that ended and were counted, until the waits for them show */
    double step_s;            /* CPU time that waits for its joules */
    double cpu_step_joules,
        gpu_step_joules; /* joules of the window that is being settled; used by attribute_process.c */
    bool is_listed;      /* is_outside: a driver still knew it at the last look */
};

struct process_table {
    struct seen_process *items; /* by pid */
    size_t count, capacity;
    struct seen_process *next; /* under construction */
    size_t next_capacity;
    int64_t looked_ns;   /* CLOCK_BOOTTIME of the last look; 0: none yet */
    double ended_joules; /* of CPUs: of the processes that went away with the last look */
};

/* Reads /proc again. OK, NO_MEMORY (nothing has changed), or as status_of_errno. */
joule_status process_table_look(struct process_table *table, struct joule_host *host);
struct seen_process *process_table_find(struct process_table *table, pid_t pid);
/* The same, and where there is none one that is outside; NULL when memory is used up. Moves the others. */
struct seen_process *process_table_outside(struct process_table *table, pid_t pid);
void process_table_free(struct process_table *table);

#endif
