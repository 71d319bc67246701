/* serialize/npy.h - shared by reading and writing of .npy files: names of types, and copies in row-major
 * order. */
#ifndef FORGE_SERIALIZE_NPY_H
#define FORGE_SERIALIZE_NPY_H

#include <forge/serialize.h>

#define NPY_MAGIC         "\x93NUMPY"
#define NPY_PREAMBLE_SIZE 8 /* bytes of magic and version */
#define NPY_MAX_HEADER    65536u
#define NPY_ALIGNMENT     64 /* alignment of the data, in bytes */

/* Returns NumPy's name of a type without the byte order, for example "f4". NULL: NumPy has no such type. */
const char *npy_dtype_name(forge_dtype dtype);

/* Makes a packed copy of a strided tensor, in a new buffer that the caller releases. */
joule_status npy_pack(const forge_tensor *tensor, forge_tensor *out_packed, joule_error *out_error);

#endif
