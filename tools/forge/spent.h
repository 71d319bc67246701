/* tools/forge/spent.h - the joules of a training in a file beside its checkpoint, CHECKPOINT.joules.
 *
 * A checkpoint knows what was spent when it was written. A run that is killed afterwards has spent more,
 * and the run that resumes spends it again. This file is replaced about each second, so that a budget
 * counts both.
 */
#ifndef FORGE_SPENT_H
#define FORGE_SPENT_H

#include <joule/quantity.h>
#include <stdbool.h>
#include <stdint.h>

#define SPENT_ID 17

struct spent {
    char *path;            /* NULL: no file is kept */
    char id[SPENT_ID];     /* of the training: checkpoints with it belong to the file */
    bool has_checkpoint;   /* one was written */
    joule_quantity joules; /* of all runs */
    int64_t written_ns, pause_ns;
};

/* A new training that has spent nothing. NO_MEMORY. */
joule_status spent_begin(struct spent *spent, const char *checkpoint, joule_error *out_error);
/* Takes id, joules and has_checkpoint from the file. ABSENT: there is none. INVALID: it holds something
 * else. */
joule_status spent_read(struct spent *spent, joule_error *out_error);
/* Replaces the file as a whole and returns when it is safe on the disk. */
joule_status spent_write(struct spent *spent, joule_quantity joules, joule_error *out_error);
/* The same if the last write is a second ago, or 50 times as long as it took. */
joule_status spent_update(struct spent *spent, joule_quantity joules, joule_error *out_error);
void spent_end(struct spent *spent);

#endif
