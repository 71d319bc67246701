/* forge/checkpoint.h - checkpoints: files from which an interrupted training continues.
 *
 * A checkpoint is a safetensors file that contains the whole state of a training run: all slots (parameters,
 * optimiser state, running statistics, random keys), the seed, the position in the data, and the energy used
 * so far. If the process is killed, the power fails or the disk is full while a checkpoint is written, the
 * previous checkpoint stays intact. A resumed run computes the same bits as an uninterrupted run.
 */
#ifndef FORGE_CHECKPOINT_H
#define FORGE_CHECKPOINT_H

#include <forge/data.h>
#include <forge/serialize.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The contents of a checkpoint other than its slots. */
typedef struct forge_checkpoint {
    uint32_t struct_size;  /* sizeof(forge_checkpoint) */
    uint32_t reserved;     /* 0 */
    uint64_t seed;         /* seed of the states and of the loader */
    uint64_t step;         /* completed steps */
    forge_cursor cursor;   /* position of the next batch, for forge_loader_seek */
    joule_quantity energy; /* joules used so far; NaN: unknown */
} forge_checkpoint;

/* Writes all slots and the members of `checkpoint` to a file, and returns when the disk has stored the file.
 * `texts`: `text_count` pairs of the caller's metadata, such as the model's name; keys that begin with
 * "forge." are reserved. Errors: those of forge_safetensors_write. No instance may run during the call. */
FORGE_API joule_status forge_checkpoint_write(const char *path, forge_states *states,
                                              const forge_checkpoint *checkpoint, const forge_metadata *texts,
                                              size_t text_count, joule_error *out_error);
/* Reads the members of a checkpoint, but not its slots, because a resumed process needs the seed before it
 * creates slots. forge_safetensors_metadata reads the texts. JOULE_INVALID: the file is not a checkpoint, or
 * is damaged. */
FORGE_API joule_status forge_checkpoint_query(const char *path, forge_checkpoint *out_checkpoint,
                                              joule_error *out_error);
/* Fills all slots of `states` from the file, and sets the seed of `states`. The instances must be created
 * before this call, because they create the slots. Slots that are created later are initialised from the new
 * seed. out_checkpoint: may be NULL. JOULE_INVALID: slots are missing, unexpected or different; the message
 * names the slots, and nothing is changed. */
FORGE_API joule_status forge_checkpoint_read(const char *path, forge_states *states,
                                             forge_checkpoint *out_checkpoint, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
