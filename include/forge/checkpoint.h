/* forge/checkpoint.h - training that can be interrupted.
 *
 * Owns one file with everything that a training run needs to go on: all slots (parameters, what the optimiser remembers,
 * running statistics, keys of random numbers), the seed, the place in the data, and the joules used so far. It is a
 * safetensors file, so that anybody can read the weights in it.
 * Newcomers: a kill, a power cut or a full disk at any moment leaves the last checkpoint whole; two files for taking turns
 * are not needed. A run that goes on gives the bits of one that was never interrupted.
 */
#ifndef FORGE_CHECKPOINT_H
#define FORGE_CHECKPOINT_H

#include <forge/data.h>
#include <forge/serialize.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forge_checkpoint {
    uint32_t struct_size;  /* sizeof(forge_checkpoint) */
    uint32_t reserved;     /* 0 */
    uint64_t seed;         /* of states and loader */
    uint64_t step;         /* steps done */
    forge_cursor cursor;   /* the batch that comes next: for forge_loader_seek */
    joule_quantity energy; /* joules used so far; NaN: unknown */
} forge_checkpoint;

/* Writes all slots and what `checkpoint` says, and comes back when they are safe on the disk: that takes as long as the disk
 * takes. `texts` is what the caller adds, such as the name of the model; keys that begin with "forge." are taken. No
 * instance may run meanwhile. Failures are those of forge_safetensors_write. */
FORGE_API joule_status forge_checkpoint_write(const char *path, forge_states *states,
                                              const forge_checkpoint *checkpoint, const forge_metadata *texts,
                                              size_t text_count, joule_error *out_error);
/* What a checkpoint says, without its slots: a program that goes on needs the seed before it has any. Texts are found by
 * forge_safetensors_metadata. INVALID: this is no checkpoint, or a broken one. */
FORGE_API joule_status forge_checkpoint_look(const char *path, forge_checkpoint *out_checkpoint,
                                             joule_error *out_error);
/* Fills all slots, which instances have made before, and gives the states the checkpoint's seed, by which slots that come
 * later begin. INVALID names the slots that are missing, unexpected or different, and has changed nothing. out_checkpoint may
 * be NULL. */
FORGE_API joule_status forge_checkpoint_read(const char *path, forge_states *states,
                                             forge_checkpoint *out_checkpoint, joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
