/* joule/attribute/attribute_table.h - keeps a table of the machine's processes and their CPU time between
 * updates.
 *
 * The table contains the CPU time for which no energy is attributed yet. live.c and attribute_process.c add
 * joules.
 * Note: a process that starts and ends between two updates is never seen. Its time appears when its parent
 * waits for it, and then belongs to the parent. A process is identified by its id and start time, because ids
 * are reused.
 */
#ifndef JOULE_ATTRIBUTE_TABLE_H
#define JOULE_ATTRIBUTE_TABLE_H

#include <joule/base.h>
#include "joule/attribute/attribute_tree.h"

/* A process of the table. */
struct seen_process {
    pid_t pid, parent;
    uint64_t start_ticks; /* clock ticks after boot */
    char name[TREE_NAME];
    /* True if a driver reports that the process uses a GPU, but /proc does not show the process. It may be
     * in another container. */
    bool is_outside;
    /* Number of CPUs that the process and the children that it waited for kept busy between the last two
     * updates. */
    double cpu_share;
    double gpu_share;              /* number of GPUs that the process kept busy; NaN: unknown */
    uint64_t gpu_memory_bytes;     /* sum over all GPUs, or JOULE_BYTES_UNKNOWN */
    double cpu_joules, gpu_joules; /* attributed since the first update or the last reset */
    double cpu_watts, gpu_watts;   /* attributed over the last interval */
    /* For attribution. */
    double own_s, children_s; /* CPU seconds that /proc last showed */
    /* CPU seconds of ended descendants that were counted while the descendants lived; /proc does not include
     * them in children_s yet */
    double owed_s;
    double step_s; /* CPU seconds for which no energy is attributed yet */
    /* Joules of the window that is being settled; used by attribute_process.c. */
    double cpu_step_joules, gpu_step_joules;
    bool is_listed; /* if is_outside: a driver still reported the process at the last update */
};

/* The table. Initialise with zeros. Not thread-safe. */
struct process_table {
    struct seen_process *items; /* sorted by pid */
    size_t count, capacity;
    struct seen_process *next; /* under construction */
    size_t next_capacity;
    int64_t updated_ns;  /* CLOCK_BOOTTIME of the last update; 0: none yet */
    double ended_joules; /* CPU joules of the processes that ended before the last update */
};

/* Updates the table from /proc. Returns JOULE_OK; on failure, JOULE_NO_MEMORY or the status of an errno, with
 * the table unchanged. */
joule_status process_table_update(struct process_table *table, struct joule_host *host);
/* Returns the process with this id; NULL: none. Valid until the next change of the table. */
struct seen_process *process_table_find(struct process_table *table, pid_t pid);
/* Returns the process with this id. If there is none, adds an entry with is_outside. Returns NULL if out of
 * memory. Adding moves other entries. */
struct seen_process *process_table_outside(struct process_table *table, pid_t pid);
/* Frees the entries; the table is then empty. */
void process_table_free(struct process_table *table);

#endif
