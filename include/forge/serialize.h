/* forge/serialize.h - reading and writing tensors: safetensors, .npy, and a program's slots.
 *
 * Files are not trusted: each size is checked against the size of the file before memory is allocated. The
 * message of JOULE_INVALID names the byte where the error is. A file is written under a temporary name, and
 * renamed after the disk has stored it. So another process sees the complete old file or the complete new
 * file.
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

/* Opens a file, and reads and checks its header. Types must be known, data must have no gaps or overlaps, and
 * names and keys must be unique. The caller owns the file (forge_safetensors_close). JOULE_INVALID: the
 * header breaks one of these rules. */
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
/* Returns the index of the tensor with this name. JOULE_ABSENT: no such tensor. */
FORGE_API joule_status forge_safetensors_find(const forge_safetensors *file, const char *name, size_t *out_i);
/* Reads tensor `i` into a packed tensor in a new buffer, which the caller releases. */
FORGE_API joule_status forge_safetensors_read(const forge_safetensors *file, size_t i,
                                              forge_tensor *out_tensor, joule_error *out_error);
/* Returns the text of a key of the metadata; NULL if there is no such key. The text lives as long as the
 * file. */
FORGE_API const char *forge_safetensors_metadata(const forge_safetensors *file, const char *key);

/* A tensor to write, and a pair of the metadata. Their layouts are final. */
typedef struct forge_named_tensor {
    const char *name;
    forge_tensor tensor; /* packed */
} forge_named_tensor;
typedef struct forge_metadata {
    const char *key, *text;
} forge_metadata;

/* Writes a safetensors file. tensors: `count` entries; metadata: metadata_count entries. Tensors with wider
 * types are stored first, so that the elements of all tensors are aligned. Names and texts are UTF-8.
 * JOULE_UNSUPPORTED: the format does not have this element type (4-bit and block formats). JOULE_INVALID: a
 * name occurs twice or contains a control character, or a tensor is not packed. JOULE_DENIED, JOULE_FAILED:
 * the path cannot be written; an existing file is unchanged. JOULE_PENDING: another process is writing the
 * file. */
FORGE_API joule_status forge_safetensors_write(const char *path, const forge_named_tensor *tensors,
                                               size_t count, const forge_metadata *metadata,
                                               size_t metadata_count, joule_error *out_error);

/* --- .npy ----------------------------------------------------------------------------------------------- */

/* Reads a NumPy array (versions 1 to 3) into a packed tensor in a new buffer, which the caller releases.
 * Element types: bool, and integers and floats of 1 to 8 bytes. Big-endian elements are converted to
 * little-endian, column-major order to row-major. JOULE_UNSUPPORTED: another element type, or more than
 * FORGE_MAX_RANK dimensions. */
FORGE_API joule_status forge_npy_read(const char *path, forge_tensor *out_tensor, joule_error *out_error);
/* Writes a NumPy array: version 1, little-endian, row-major. The tensor may have any strides.
 * JOULE_UNSUPPORTED: NumPy does not have this element type. */
FORGE_API joule_status forge_npy_write(const char *path, const forge_tensor *tensor, joule_error *out_error);

/* --- slots ---------------------------------------------------------------------------------------------- */

/* Flags of forge_states_load. Each flag allows a case that is otherwise an error (JOULE_INVALID). */
enum {
    FORGE_LOAD_KEEP_MISSING = 1,    /* a slot without a tensor in the file keeps its value */
    FORGE_LOAD_SKIP_UNEXPECTED = 2, /* a tensor without a slot is ignored */
    FORGE_LOAD_CONVERT = 4,         /* elements of another type are converted by the rules of forge_convert */
};
/* Fills the existing slots from the tensors of a safetensors file that have the same names. JOULE_INVALID:
 * tensors are missing, unexpected, or have another shape or type; the message names these tensors, and no
 * slot is changed. If a read of the file fails later, some slots are changed and others are not; the message
 * contains this warning. No instance may run during the call. */
FORGE_API joule_status forge_states_load(forge_states *states, const char *path, uint32_t flags,
                                         joule_error *out_error);
/* Writes the slots for which `keeps` returns true to a safetensors file. If `keeps` is NULL, writes all
 * slots. `context` is passed to `keeps`. Errors: those of forge_safetensors_write. No instance may run during
 * the call. */
FORGE_API joule_status forge_states_save(forge_states *states, const char *path,
                                         bool (*keeps)(const char *name, void *context), void *context,
                                         joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
