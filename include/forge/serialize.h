/* forge/serialize.h - reading and writing tensors: safetensors, .npy, and a program's slots.
 *
 * Files are not trusted: each size is checked against the size of the file before memory is allocated. The
 * message of JOULE_INVALID names the byte with the error. A file that cannot be read completely changes
 * nothing. Files are written under a temporary name and renamed after the disk has stored them, so a reader
 * sees the old or the new file.
 */
#ifndef FORGE_SERIALIZE_H
#define FORGE_SERIALIZE_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- safetensors ---------------------------------------------------------------------------------------- */

/* An open safetensors file (github.com/huggingface/safetensors). Any thread may use it. */
typedef struct forge_safetensors forge_safetensors;

/* Opens a file, and reads and checks its header: known types, data without gaps or overlaps, unique names and
 * keys. The caller owns the file (forge_safetensors_close). */
FORGE_API joule_status forge_safetensors_open(const char *path, forge_safetensors **out_file,
                                              joule_error *out_error);
/* Closes a file. NULL is allowed. */
FORGE_API void forge_safetensors_close(forge_safetensors *file);
/* Returns the number of tensors. */
FORGE_API size_t forge_safetensors_count(const forge_safetensors *file);
/* Returns name, type and shape of tensor `i`, in the order of the data. The name lives as long as the file.
 * JOULE_INVALID: no such tensor. */
FORGE_API joule_status forge_safetensors_entry(const forge_safetensors *file, size_t i, const char **out_name,
                                               forge_dtype *out_dtype, forge_shape *out_shape);
/* Returns the number of the tensor with this name. JOULE_ABSENT: no such tensor. */
FORGE_API joule_status forge_safetensors_find(const forge_safetensors *file, const char *name, size_t *out_i);
/* Reads tensor `i` into a packed tensor in a new buffer, which the caller releases. */
FORGE_API joule_status forge_safetensors_read(const forge_safetensors *file, size_t i,
                                              forge_tensor *out_tensor, joule_error *out_error);
/* Returns the text of a key of the metadata, which lives as long as the file; NULL: no such key. */
FORGE_API const char *forge_safetensors_metadata(const forge_safetensors *file, const char *key);

/* A tensor to write, and a pair of the metadata. Their layouts are final. */
typedef struct forge_named_tensor {
    const char *name;
    forge_tensor tensor; /* packed */
} forge_named_tensor;
typedef struct forge_metadata {
    const char *key, *text;
} forge_metadata;

/* Writes a safetensors file. Tensors with wide types come first, so that all are aligned. Names and texts are
 * UTF-8. JOULE_UNSUPPORTED: a type that the format does not have (4-bit and block formats). JOULE_INVALID: a
 * name that occurs twice or has a control character, or a tensor that is not packed. JOULE_DENIED,
 * JOULE_FAILED: the path cannot be written; its previous content is kept. JOULE_PENDING: another process is
 * writing the file. */
FORGE_API joule_status forge_safetensors_write(const char *path, const forge_named_tensor *tensors,
                                               size_t count, const forge_metadata *metadata,
                                               size_t metadata_count, joule_error *out_error);

/* --- .npy ----------------------------------------------------------------------------------------------- */

/* Reads a NumPy array (versions 1 to 3) into a packed tensor in a new buffer, which the caller releases.
 * Element types: bool, and integers and floats of 1 to 8 bytes. Big-endian elements are converted to
 * little-endian, column-major order to row-major. JOULE_UNSUPPORTED: other types, or more than FORGE_MAX_RANK
 * dimensions. */
FORGE_API joule_status forge_npy_read(const char *path, forge_tensor *out_tensor, joule_error *out_error);
/* Writes a NumPy array: version 1, little-endian, row-major. The tensor may have strides. JOULE_UNSUPPORTED:
 * types that NumPy does not have. */
FORGE_API joule_status forge_npy_write(const char *path, const forge_tensor *tensor, joule_error *out_error);

/* --- slots ---------------------------------------------------------------------------------------------- */

/* Flags of forge_states_load. Without the flag the case is JOULE_INVALID. */
enum {
    FORGE_LOAD_KEEP_MISSING = 1,    /* a slot that is not in the file keeps its value */
    FORGE_LOAD_SKIP_UNEXPECTED = 2, /* a tensor without a slot is ignored */
    FORGE_LOAD_CONVERT = 4,         /* another element type is converted as forge_convert does */
};
/* Fills the existing slots from the tensors of a safetensors file that have the same names. No instance may
 * run during the call. JOULE_INVALID: tensors are missing, unexpected, or have another shape or type; the
 * message names them, and nothing is changed. If reading fails in the middle, slots are partially loaded, and
 * the message says so. */
FORGE_API joule_status forge_states_load(forge_states *states, const char *path, uint32_t flags,
                                         joule_error *out_error);
/* Writes slots to a safetensors file: all, or those for which `keeps` returns true. keeps: may be NULL. */
FORGE_API joule_status forge_states_save(forge_states *states, const char *path,
                                         bool (*keeps)(const char *name, void *context), void *context,
                                         joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
