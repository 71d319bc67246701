/* serialize/npy.h - what reading and writing .npy share: the names of types, and bringing elements into C's order. */
#ifndef FORGE_SERIALIZE_NPY_H
#define FORGE_SERIALIZE_NPY_H

#include <forge/serialize.h>

#define NPY_MAGIC         "\x93NUMPY"
#define NPY_PREAMBLE_SIZE 8 /* magic and version */
#define NPY_MOST_HEADER   65536u
#define NPY_ALIGNMENT     64 /* of the data */

/* "f4": the name without the order of bytes; NULL: NumPy has no such type. */
const char *npy_dtype_name(forge_dtype dtype);

/* A packed copy of a strided tensor, in a new buffer. */
joule_status npy_pack(const forge_tensor *tensor, forge_tensor *out_packed, joule_error *out_error);

#endif
