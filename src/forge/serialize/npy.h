/* serialize/npy.h - functions that the reader and the writer of .npy files share: names of types, and copies
 * in row-major order. */
#ifndef FORGE_SERIALIZE_NPY_H
#define FORGE_SERIALIZE_NPY_H

#include <forge/serialize.h>

#define NPY_MAGIC         "\x93NUMPY"
#define NPY_PREAMBLE_SIZE 8 /* bytes of magic and version */
#define NPY_MAX_HEADER    65536u
#define NPY_ALIGNMENT     64 /* alignment of the data, in bytes */

/* Returns NumPy's name of a type without the byte order, for example "f4"; NULL if NumPy has no such type. */
const char *npy_dtype_name(forge_dtype dtype);

/* Creates a packed copy of a tensor with any strides, in a new buffer that the caller releases. Returns the
 * same errors as forge_tensor_new. */
joule_status npy_pack(const forge_tensor *tensor, forge_tensor *out_packed, joule_error *out_error);

#endif
