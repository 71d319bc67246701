/* tools/top/model.h - what is shown, apart from how.
 *
 * Owns the rows of devices and processes, their order, which of them match the filter, and the history of each power. Gathered
 * by gather.c, drawn by draw*.c; it knows neither meters nor terminals.
 * Newcomers: what is not known is NaN or JOULE_BYTES_UNKNOWN. Rows move; remember a device by name and a process by id.
 */
#ifndef TOP_MODEL_H
#define TOP_MODEL_H

#include <joule/devices.h>
#include "history.h"

/* One of a device's domains, for the detail view. */
struct domain_row {
    joule_domain domain;
    joule_quantity watts, joules;
    double gauge;
};

struct device_row {
    char name[16], vendor[24], model[96];
    joule_status state;
    char remedy[192]; /* where state is not OK; may be empty */
    int32_t domain;   /* that power and energy are of; -1: none */
    bool in_total;
    joule_quantity watts, joules;
    double busy, celsius, limit_watts;
    uint64_t memory_used_bytes, memory_total_bytes;
    bool is_board; /* `board` is filled in */
    joule_device board;
    struct history history;
    bool is_listed; /* gather.c's: still there */
};

struct process_row {
    int pid;
    uint64_t start_ticks;
    char user[16];
    char command[160];
    bool is_outside;
    double cpu_share, gpu_share, watts;
    joule_quantity joules;
    joule_class cls;
    uint64_t gpu_memory_bytes;
    bool uses_detail; /* the device of the detail view */
};

/* Where the joules went that were shared out; the last four add up to the first. */
struct sums {
    double seen, processes, ended, idle, rest;
};

struct model {
    char host[64];
    double period_s;
    double running_s; /* since the meter was opened */
    uint64_t tick;    /* of the last gathering */
    joule_quantity watts, joules;
    char cover[256];
    bool is_partial;
    double cpu_busy;
    unsigned cpus;
    uint64_t memory_used_bytes, memory_total_bytes;
    struct history history; /* of the total */
    struct device_row *devices;
    size_t device_count, device_capacity;
    struct process_row *processes;
    size_t process_count, process_capacity;
    joule_status proc_state; /* of /proc */
    struct sums sums;
    /* Of the device that the detail view is about; empty without one. */
    char detail[16];
    struct domain_row *domains;
    size_t domain_count, domain_capacity;
};

enum sort_key { SORT_POWER, SORT_ENERGY, SORT_CPU, SORT_GPU, SORT_MEMORY, SORT_PID, SORT_NAME, SORT_KEYS };
const char *sort_key_name(enum sort_key key);

/* Sorts processes: figures from the highest on, names and ids from the first, unknown ones last; `reversed` the other way
 * round, unknown ones still last. Equal ones by id. */
void model_sort(struct model *model, enum sort_key key, bool reversed);
/* GPUs and accelerators first, then processors, memory, the rest; each kind by number. */
void model_sort_devices(struct model *model);
/* Puts the indices of processes that match into out_shown, room for all; their number. The filter is looked for in command,
 * user and id, upper and lower case alike; empty: all. With a detail device only those that use it. */
size_t model_filter(const struct model *model, const char *filter, size_t *out_shown);
/* NULL: there is none of that name. */
struct device_row *model_device(struct model *model, const char *name);
/* The same, and where there is none a new one; NULL when memory is used up. Moves the others. */
struct device_row *model_add_device(struct model *model, const char *name);
void model_free(struct model *model);

#endif
