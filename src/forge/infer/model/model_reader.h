/* infer/model/model_reader.h - functions that the readers of model files share: mapping, numbers, checks.
 *
 * Note: model files are little-endian, as is every machine that this library supports. */
#ifndef FORGE_INFER_MODEL_READER_H
#define FORGE_INFER_MODEL_READER_H

#include <math.h>
#include "forge/infer/model/model_file.h"

enum { MODEL_MAX_LAYERS = 4096 }; /* limits the memory for descriptions of tensors */

/* Return the little-endian number at an address without alignment. */
static inline uint32_t read_u32(const void *address)
{
    uint32_t value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
}

static inline uint64_t read_u64(const void *address)
{
    uint64_t value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
}

static inline float read_f32(const void *address)
{
    float value;
    __builtin_memcpy(&value, address, sizeof value);
    return value;
}

/* Returns the factor by which YaRN multiplies cosine and sine. factor: the ratio of the new context to the
 * original context. scale: the model's mscale; 1 if it has none. */
static inline double model_yarn_scale(double factor, double scale)
{
    return factor > 1 ? 0.1 * scale * log(factor) + 1 : 1;
}

/* Sets the message that `path` cannot be read, out of memory. Returns JOULE_NO_MEMORY. */
joule_status model_no_memory(const char *path, joule_error *out_error);

/* Maps a regular file for reading. The file owns the map, and model_file_close removes it. Errors: those of
 * file_open; JOULE_INVALID: the file is empty. */
joule_status model_file_map(struct model_file *file, const char *path, struct model_map *out_map,
                            joule_error *out_error);

/* Sorts the tensors by name for model_file_find. JOULE_INVALID: a name occurs twice. */
joule_status model_file_sort(struct model_file *file, const char *path, joule_error *out_error);

/* Returns the name of an architecture in files, for example "llama". */
const char *model_architecture_name(enum architecture architecture);

/* Checks the sizes of config, and that the file has exactly the tensors of the architecture, with the right
 * shapes. JOULE_INVALID: a size is impossible, or a tensor is missing or has another shape.
 * JOULE_UNSUPPORTED: the file has a tensor that the architecture does not have, or a norm or bias in a
 * block format. */
joule_status model_file_check(const struct model_file *file, const char *path, joule_error *out_error);

#endif
