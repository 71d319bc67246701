/* tools/forge/train_checkpoint.h - writes and resumes the checkpoint of a training.
 *
 * Note: options that do not change the slots, such as the learning rate, may differ from those in the file.
 * The results then differ from those of an uninterrupted training.
 */
#ifndef FORGE_TRAIN_CHECKPOINT_H
#define FORGE_TRAIN_CHECKPOINT_H

#include <forge/checkpoint.h>
#include "spent_energy.h"
#include "trainee.h"

/* Metadata of a checkpoint beside its slots. */
struct resumed {
    double loss;           /* NaN: unknown */
    char id[SPENT_ID];     /* id of the training; empty: unknown */
    joule_quantity energy; /* NaN: unknown */
};

/* Replaces the file atomically; after an error the old file remains. This function also writes non-finite
 * values; call trainee_check first to exclude them. */
joule_status checkpoint_save(const char *path, struct trainee *trainee, double loss, const char *id,
                             joule_quantity energy, joule_error *error);
/* Reads slots, position and metadata from the file. Returns JOULE_ABSENT if the file does not exist, and
 * JOULE_INVALID if it does not fit the options or the data of *trainee; the message contains the reason. */
joule_status checkpoint_resume(const char *path, struct trainee *trainee, struct resumed *out_resumed,
                               joule_error *error);

#endif
