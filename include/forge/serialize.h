/* forge/serialize.h - tensors in files.
 *
 * Owns safetensors and .npy, and the way between files and a program's slots.
 * Newcomers: a file is only a claim. Every size is held against the file's own before memory is asked for, INVALID names the
 * byte where something is wrong, and what cannot be read whole changes nothing. Files are written beside their path and
 * renamed when they are safe on the disk: a reader sees the old one or the new one.
 */
#ifndef FORGE_SERIALIZE_H
#define FORGE_SERIALIZE_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- safetensors --------------------------------------------------------------------------------------------- */

/* An open file (github.com/huggingface/safetensors). Any thread. */
typedef struct forge_safetensors forge_safetensors;

/* Reads the header and holds it to the format: tensors with known types that fill the data without hole or overlap, names
 * and keys that are there once. The file is the caller's: forge_safetensors_close. */
FORGE_API joule_status forge_safetensors_open(const char *path, forge_safetensors **out_file,
                                              joule_error *out_error);
/* NULL is allowed. */
FORGE_API void forge_safetensors_close(forge_safetensors *file);
FORGE_API size_t forge_safetensors_count(const forge_safetensors *file);
/* Tensor i in the order of the data: its name, which lives as long as the file, its type and shape. INVALID: there is no
 * tensor i. */
FORGE_API joule_status forge_safetensors_entry(const forge_safetensors *file, size_t i, const char **out_name,
                                               forge_dtype *out_dtype, forge_shape *out_shape);
/* The number of the tensor with this name; ABSENT. */
FORGE_API joule_status forge_safetensors_find(const forge_safetensors *file, const char *name, size_t *out_i);
/* A packed tensor in a new buffer, which the caller releases. */
FORGE_API joule_status forge_safetensors_read(const forge_safetensors *file, size_t i,
                                              forge_tensor *out_tensor, joule_error *out_error);
/* The text under this key of the metadata, which lives as long as the file; NULL: there is none. */
FORGE_API const char *forge_safetensors_metadata(const forge_safetensors *file, const char *key);

/* Their layouts are final. */
typedef struct forge_named_tensor {
    const char *name;
    forge_tensor tensor; /* packed */
} forge_named_tensor;
typedef struct forge_metadata {
    const char *key, *text;
} forge_metadata;

/* Tensors of wide types first, so that all are aligned. Names and texts are UTF-8. UNSUPPORTED: a type that the format
 * lacks (4-bit and block formats). INVALID: a name twice or with a control character, or a tensor that is not packed. DENIED
 * or FAILED: the path cannot be written, and what was there is still there. PENDING: another writer is at work on this path. */
FORGE_API joule_status forge_safetensors_write(const char *path, const forge_named_tensor *tensors,
                                               size_t count, const forge_metadata *metadata,
                                               size_t metadata_count, joule_error *out_error);

/* --- .npy ---------------------------------------------------------------------------------------------------- */

/* A NumPy array of versions 1 to 3 as a packed tensor in a new buffer, which the caller releases: elements bool, integers
 * and floats of 1 to 8 bytes; big-endian ones are turned round, and Fortran's order becomes C's. UNSUPPORTED: other types,
 * or more than FORGE_MAX_RANK dimensions. */
FORGE_API joule_status forge_npy_read(const char *path, forge_tensor *out_tensor, joule_error *out_error);
/* Version 1, little-endian, in C's order; the tensor may be strided. UNSUPPORTED: types that NumPy lacks. */
FORGE_API joule_status forge_npy_write(const char *path, const forge_tensor *tensor, joule_error *out_error);

/* --- slots --------------------------------------------------------------------------------------------------- */

enum {
    FORGE_LOAD_KEEPS_MISSING = 1,    /* a slot that is not in the file stays as it is; else INVALID */
    FORGE_LOAD_SKIPS_UNEXPECTED = 2, /* a tensor without a slot is left alone; else INVALID */
    FORGE_LOAD_CONVERTS = 4,         /* another type is converted as forge_convert does; else INVALID */
};
/* Fills the slots that there are from tensors of their names. No instance may run meanwhile. INVALID names what is missing,
 * unexpected, or of another shape or type, and has changed nothing; a disk that fails in the middle leaves slots half
 * loaded, and the message says so. */
FORGE_API joule_status forge_states_load(forge_states *states, const char *path, uint32_t flags,
                                         joule_error *out_error);
/* Writes slots as safetensors: all, or those for which `keeps` answers true. */
FORGE_API joule_status forge_states_save(forge_states *states, const char *path,
                                         bool (*keeps)(const char *name, void *context), void *context,
                                         joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
