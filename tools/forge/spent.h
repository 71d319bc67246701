/* tools/forge/spent.h - keeps the joules of a training in a file beside its checkpoint, CHECKPOINT.joules.
 *
 * A checkpoint stores the energy spent until it was written. A run that is killed later has spent more, and
 * the run that resumes spends it again. This file is replaced about once a second, so that a budget counts
 * both.
 */
#ifndef FORGE_SPENT_H
#define FORGE_SPENT_H

#include <joule/quantity.h>
#include <stdbool.h>
#include <stdint.h>

#define SPENT_ID 17

struct spent {
    char *path;            /* NULL: no file is kept */
    char id[SPENT_ID];     /* id of the training: the file belongs to checkpoints with the same id */
    bool has_checkpoint;   /* a checkpoint was written */
    joule_quantity joules; /* joules of all runs */
    int64_t written_ns, pause_ns;
};

/* Begins a new training that has spent nothing. Errors: NO_MEMORY. */
joule_status spent_begin(struct spent *spent, const char *checkpoint, joule_error *out_error);
/* Takes id, joules and has_checkpoint from the file. ABSENT: there is none. INVALID: it holds something
 * else. */
joule_status spent_read(struct spent *spent, joule_error *out_error);
/* Replaces the file atomically and returns when it is on the disk. */
joule_status spent_write(struct spent *spent, joule_quantity joules, joule_error *out_error);
/* As spent_write, if the last write was at least a second ago and 50 times its own duration ago. */
joule_status spent_update(struct spent *spent, joule_quantity joules, joule_error *out_error);
void spent_end(struct spent *spent);

#endif
