/* tools/forge/spent_energy.h - stores the joules that a training has used in CHECKPOINT.joules, a file beside
 * its checkpoint.
 *
 * A checkpoint contains only the energy that was used until it was written. If a run is killed later, the
 * next run repeats the steps since the checkpoint. This file is replaced about once a second, so that a
 * budget counts the energy of these steps in both runs.
 */
#ifndef FORGE_SPENT_ENERGY_H
#define FORGE_SPENT_ENERGY_H

#include <joule/quantity.h>
#include <stdbool.h>
#include <stdint.h>

#define SPENT_ID 17

struct spent_energy {
    char *path;            /* path of CHECKPOINT.joules; NULL: no file is written */
    char id[SPENT_ID];     /* id of the training: the file belongs to checkpoints with the same id */
    bool has_checkpoint;   /* a checkpoint was written */
    joule_quantity joules; /* joules of all runs */
    int64_t written_ns;    /* time of the last write */
    int64_t pause_ns;      /* minimum time from the last write to the next one */
};

/* Begins a new training that has spent nothing. Errors: NO_MEMORY. */
joule_status spent_energy_begin(struct spent_energy *spent, const char *checkpoint, joule_error *out_error);
/* Reads id, joules and has_checkpoint from the file. ABSENT: the file does not exist. INVALID:
 * spent_energy_write did not write its contents. */
joule_status spent_energy_read(struct spent_energy *spent, joule_error *out_error);
/* Replaces the file atomically and returns when it is on the disk. Does nothing if `path` is NULL or `joules`
 * is unknown. */
joule_status spent_energy_write(struct spent_energy *spent, joule_quantity joules, joule_error *out_error);
/* Calls spent_energy_write if the last write was at least a second ago and at least 50 times its duration
 * ago. */
joule_status spent_energy_update(struct spent_energy *spent, joule_quantity joules, joule_error *out_error);
void spent_energy_end(struct spent_energy *spent);

#endif
