/* tools/top/gather.h - reads meter and processes and fills the model, once per tick.
 *
 * Note: while the view is paused, processes are still queried, so that their energy is attributed. Only the
 * model is frozen.
 */
#ifndef TOP_GATHER_H
#define TOP_GATHER_H

#include "joule/live/live.h"
#include "joule/record/record.h"
#include "joule/sources/cpu/cpu_map.h"
#include "model.h"

#define MAX_PACKAGES 64

/* Load of processors and use of memory, from /proc of the meter's host.
 *
 * Note: the load of all CPUs is known from struct live, so a machine with one package does not need
 * /proc/stat. With several packages, the load of each is computed from the CPUs' lines in /proc/stat. */
struct machine {
    struct arena arena;
    struct cpu_map map;
    bool has_map; /* false: out of memory for the map */
    char *text;   /* content of /proc/stat */
    size_t text_size;
    struct {
        uint64_t busy, all; /* ticks */
    } last[MAX_PACKAGES];   /* sums of the last tick, by package */
};

struct gathering {
    joule_meter *meter;
    struct live *live;
    struct machine *machine;
    struct recorder *recorder; /* NULL: not recording */
    char record_path[256];
    bool seeks_idle; /* the idle baseline is not loaded yet */
    /* User and command of each process of the last tick. */
    struct known_process *known;
    size_t known_count, known_capacity;
};

/* Opens the meter and makes the first readings; takes about 0.1 s. Call gather_close also after a failure. */
joule_status gather_open(struct gathering *gathering, const joule_options *options, struct model *model,
                         joule_error *out_error);
/* Reads the sensors that are fast (joule_sample_now), and fills the model for tick `tick`. is_paused: fills
 * only the model's histories. */
void gather_tick(struct gathering *gathering, struct model *model, uint64_t tick, bool is_paused);
/* Fills in the data of the detail view after its device has changed. */
void gather_detail(struct gathering *gathering, struct model *model);
/* Begin and end a record in the file `path`. On failure return an error with a message. Without a record,
 * gather_end_record does nothing. */
joule_status gather_record(struct gathering *gathering, const char *path, joule_error *out_error);
joule_status gather_end_record(struct gathering *gathering, joule_error *out_error);
void gather_close(struct gathering *gathering);

/* --- parts of gather_tick ------------------------------------------------------------------------------- */

void gather_machine_open(struct machine *machine, joule_meter *meter);
/* Sets the load and the memory use of the whole machine, and of the rows of processors and memory. */
void gather_machine(struct machine *machine, joule_meter *meter, const struct live *live,
                    struct model *model);
void gather_machine_close(struct machine *machine);
/* Fills the rows of processes. Owner and command line are read once for each process, from /proc of the
 * meter's host, which may be a recorded machine. */
void gather_processes(struct gathering *gathering, struct model *model);

#endif
