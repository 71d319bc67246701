/* forge/train_checkpoint.h - checkpoints, from which an interrupted training continues.
 *
 * A checkpoint is one safetensors file with the whole state of a training run: all slots (parameters,
 * optimiser state, running statistics, random keys), the seed, the position in the data, and the energy used
 * so far. If the process is killed, the power fails or the disk is full, the previous checkpoint stays
 * intact. A resumed run gives the same bits as an uninterrupted one.
 */
#ifndef FORGE_CHECKPOINT_H
#define FORGE_CHECKPOINT_H

#include <forge/data.h>
#include <forge/serialize.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The members of a checkpoint, in addition to its slots. */
typedef struct forge_checkpoint {
    uint32_t struct_size;  /* sizeof(forge_checkpoint) */
    uint32_t reserved;     /* 0 */
    uint64_t seed;         /* seed of the states and the loader */
    uint64_t step;         /* completed steps */
    forge_cursor cursor;   /* the next batch, for forge_loader_seek */
    joule_quantity energy; /* joules used so far; NaN: unknown */
} forge_checkpoint;

/* Writes all slots and the members of `checkpoint`, and returns when the disk has stored them. `texts` are
 * metadata of the caller, such as the model's name; keys that begin with "forge." are reserved. No instance
 * may run during the call. Errors: those of forge_safetensors_write. */
FORGE_API joule_status forge_checkpoint_write(const char *path, forge_states *states,
                                              const forge_checkpoint *checkpoint, const forge_metadata *texts,
                                              size_t text_count, joule_error *out_error);
/* Reads the members of a checkpoint, but not its slots. A resumed program needs the seed before it makes
 * slots. To read the texts, use forge_safetensors_metadata. JOULE_INVALID: not a checkpoint, or a damaged
 * one. */
FORGE_API joule_status forge_checkpoint_query(const char *path, forge_checkpoint *out_checkpoint,
                                              joule_error *out_error);
/* Fills all slots of `states` from the file, and sets the seed of `states`. Instances must have made the
 * slots before. Slots made later are initialised from this seed. out_checkpoint may be NULL. JOULE_INVALID:
 * slots are missing, unexpected or different; the message names them, and nothing is changed. */
FORGE_API joule_status forge_checkpoint_read(const char *path, forge_states *states,
                                             forge_checkpoint *out_checkpoint, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
