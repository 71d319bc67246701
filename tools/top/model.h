/* tools/top/model.h - the data shown by `joule top`: rows of devices and processes, their order, filter and
 * histories.
 *
 * gather.c fills the model, and draw*.c draw it. The model does not depend on meters or terminals.
 *
 * Note: unknown values are NaN or JOULE_BYTES_UNKNOWN. Rows move when the model changes, so refer to devices
 * by name and to processes by id, not by pointer.
 */
#ifndef TOP_MODEL_H
#define TOP_MODEL_H

#include <joule/devices.h>
#include "history.h"

/* A domain of the device in the detail view. */
struct domain_row {
    joule_domain domain;
    joule_quantity watts, joules;
    double gauge;
};

struct device_row {
    char name[16], vendor[24], model[96];
    joule_status state;
    char remedy[192]; /* what to do about the state; empty if the state is OK or no action is known */
    int32_t domain;   /* id of the domain that supplies power and energy; -1: none */
    bool in_total;
    joule_quantity watts, joules;
    double busy, celsius, limit_watts;
    uint64_t memory_used_bytes, memory_total_bytes;
    bool is_board; /* `board` is filled in */
    joule_device board;
    struct history history;
    bool is_listed; /* used by gather.c: the device was found at this tick */
};

struct process_row {
    int pid;
    uint64_t start_ticks;
    char user[16];
    char command[160];
    bool is_outside; /* not visible in /proc, such as a process of another container */
    double cpu_share, gpu_share, watts;
    joule_quantity joules;
    joule_class cls;
    uint64_t gpu_memory_bytes;
    bool uses_detail; /* uses the device of the detail view */
};

/* Energy in joules. `total` is the sum of the other four. `rest` is active energy that belongs to no visible
 * process. */
struct sums {
    double total, processes, ended, idle, rest;
};

struct model {
    char host[64];
    double period_s;
    double running_s; /* seconds since the meter was opened */
    uint64_t tick;    /* last tick gathered */
    joule_quantity watts, joules;
    char cover[256];
    bool is_partial;
    double cpu_busy;
    unsigned cpus;
    uint64_t memory_used_bytes, memory_total_bytes;
    struct history history; /* history of the total */
    struct device_row *devices;
    size_t device_count, device_capacity;
    struct process_row *processes;
    size_t process_count, process_capacity;
    joule_status proc_state; /* status of reading /proc */
    struct sums sums;
    /* The device of the detail view and its domains; empty: no detail view. */
    char detail[16];
    struct domain_row *domains;
    size_t domain_count, domain_capacity;
};

enum sort_key { SORT_POWER, SORT_ENERGY, SORT_CPU, SORT_GPU, SORT_MEMORY, SORT_PID, SORT_NAME, SORT_KEYS };
const char *sort_key_name(enum sort_key key);

/* Sorts processes: values in descending order, names and ids in ascending order, or the other way if
 * `reversed`. Unknown values are always last. Equal rows are sorted by id. */
void model_sort(struct model *model, enum sort_key key, bool reversed);
/* Sorts devices: GPUs and accelerators first, then processors, memory, and other devices. Devices of one kind
 * are sorted by number. */
void model_sort_devices(struct model *model);
/* Writes the indices of matching processes into out_shown, which must have space for all processes. Returns
 * their number. The filter is searched in command, user and id, ignoring case; an empty filter matches all.
 * In a detail view, only processes that use its device match. */
size_t model_filter(const struct model *model, const char *filter, size_t *out_shown);
/* Returns the device of that name, or NULL. */
struct device_row *model_device(struct model *model, const char *name);
/* Returns the device of that name. If there is none, adds it. NULL: out of memory. Pointers to other rows
 * become invalid. */
struct device_row *model_add_device(struct model *model, const char *name);
void model_free(struct model *model);

#endif
