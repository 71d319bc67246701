/* tools/forge/checkpoint.h - the file with which a training goes on.
 *
 * Owns what `forge train` adds to forge_checkpoint, and whether a file fits the options. Newcomers: options that do not
 * decide what a slot is, such as the learning rate, may differ; then the bits do, too.
 */
#ifndef FORGE_CHECKPOINT_TOOL_H
#define FORGE_CHECKPOINT_TOOL_H

#include <forge/checkpoint.h>
#include "spent.h"
#include "trainee.h"

/* Metadata of a checkpoint beside its slots. */
struct resumed {
    double loss;           /* NaN: unknown */
    char id[SPENT_ID];     /* id of the training; empty: unknown */
    joule_quantity energy; /* NaN: unknown */
};

/* Slots that are not finite are written, too: trainee_check first. The file stays as it was where it fails. */
joule_status checkpoint_save(const char *path, struct trainee *trainee, double loss, const char *id,
                             joule_quantity energy, joule_error *error);
/* ABSENT: there is no such file. INVALID: it does not fit, and the message says why. */
joule_status checkpoint_resume(const char *path, struct trainee *trainee, struct resumed *out_resumed,
                               joule_error *error);

#endif
