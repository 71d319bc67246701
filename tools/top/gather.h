/* tools/top/gather.h - from the meter to the model.
 *
 * Owns the meter, the accounts of processes and the record. Everything that the view asks of the machine is asked here, once a
 * tick. Newcomers: a paused view still looks, so that accounts stay whole; it only keeps what it shows.
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
    struct recorder *recorder; /* NULL: nothing is recorded */
    char record_path[256];
    bool seeks_idle; /* whether an idle baseline is kept is not known yet */
    /* Of processes seen before: what does not change. */
    struct known_process *known;
    size_t known_count, known_capacity;
};

/* Opens the meter and takes the first readings, which takes a moment. gather_close, also on failure. */
joule_status gather_open(struct gathering *gathering, const joule_options *options, struct model *model,
                         joule_error *out_error);
/* Reads the prompt sensors now and fills the model, of tick number `tick`; `is_paused`: its history only. */
void gather_tick(struct gathering *gathering, struct model *model, uint64_t tick, bool is_paused);
/* After another device was chosen for the detail view, or none: fills in what belongs to it. */
void gather_again(struct gathering *gathering, struct model *model);
/* Begins or ends a record. */
joule_status gather_record(struct gathering *gathering, const char *path, joule_error *out_error);
joule_status gather_end_record(struct gathering *gathering, joule_error *out_error);
void gather_close(struct gathering *gathering);

#endif
