/* tools/top/gather.h - reads meter and processes and fills the model, once per tick.
 *
 * Note: while the view is paused, processes are still queried, so that no energy is lost; only the model is
 * frozen.
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
 * Note: with one package, the load is already known from the accounts of processes. With several packages,
 * the lines of the CPUs in /proc/stat are read. */
struct machine {
    struct arena arena;
    struct cpu_map map;
    bool has_map;
    char *text; /* content of /proc/stat */
    size_t text_size;
    struct {
        uint64_t busy, all; /* ticks */
    } before[MAX_PACKAGES];
};

struct gathering {
    joule_meter *meter;
    struct live *live;
    struct machine *machine;
    struct recorder *recorder; /* NULL: not recording */
    char record_path[256];
    bool seeks_idle; /* the idle baseline is not loaded yet */
    /* Constant data of processes seen before. */
    struct known_process *known;
    size_t known_count, known_capacity;
};

/* Opens the meter and takes the first readings, which takes about 0.1 s. Call gather_close also after a
 * failure. */
joule_status gather_open(struct gathering *gathering, const joule_options *options, struct model *model,
                         joule_error *out_error);
/* Reads the prompt sensors and fills the model for tick `tick`. is_paused: fills only the model's
 * histories. */
void gather_tick(struct gathering *gathering, struct model *model, uint64_t tick, bool is_paused);
/* Fills in the data of the detail view after its device has changed. */
void gather_detail(struct gathering *gathering, struct model *model);
/* Begin and end a record in the file `path`. On failure return an error with a message. */
joule_status gather_record(struct gathering *gathering, const char *path, joule_error *out_error);
joule_status gather_end_record(struct gathering *gathering, joule_error *out_error);
void gather_close(struct gathering *gathering);

/* --- parts of gather_tick ------------------------------------------------------------------------------- */

void gather_machine_open(struct machine *machine, joule_meter *meter);
/* Fills in load and memory of the rows of processors and memory. */
void gather_machine(struct machine *machine, joule_meter *meter, const struct live *live,
                    struct model *model);
void gather_machine_close(struct machine *machine);
/* Fills the rows of processes. Owner and command line are read once for each process, from /proc of the
 * meter's host, which may be a recorded machine. */
void gather_processes(struct gathering *gathering, struct model *model);

#endif
