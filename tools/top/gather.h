/* tools/top/gather.h - reads meter and processes and fills the model, once per tick.
 *
 * Note: while the view is paused, processes are still queried, so that no energy is lost; only the model is
 * frozen.
 */
#ifndef TOP_GATHER_H
#define TOP_GATHER_H

#include "joule/live/live.h"
#include "joule/record/record.h"
#include "model.h"

struct gathering {
    joule_meter *meter;
    struct live *live;
    struct machine *machine;   /* gather_machine.h */
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

#endif
