/* serialize/safetensors.h - an open safetensors file with its parsed and checked header.
 *
 * A file contains 8 bytes with the length of the header (little-endian), then the header in JSON, then the
 * data.
 * Note: the pointers to names and metadata point into `header`, in which the parser has decoded strings in
 * place.
 */
#ifndef FORGE_SERIALIZE_SAFETENSORS_H
#define FORGE_SERIALIZE_SAFETENSORS_H

#include <forge/serialize.h>
#include "forge/core/random_access_file.h"

#define SAFETENSORS_LENGTH_SIZE 8
#define SAFETENSORS_MAX_HEADER  100000000u /* the limit of the format's own readers */
#define SAFETENSORS_METADATA    "__metadata__"

struct entry {
    const char *name;
    forge_dtype dtype;
    forge_shape shape;
    uint64_t begin, end; /* offsets in the data, in bytes */
    size_t place;        /* offset of the name in the header, for messages */
};

struct forge_safetensors {
    char *path;
    struct file file;
    char *header;
    uint64_t data_offset, data_size;
    struct entry *entries; /* sorted by their offsets in the data */
    size_t entry_count, entry_capacity;
    size_t *by_name;   /* indices of entries, sorted by name */
    bool has_metadata; /* the header contains metadata, perhaps without texts */
    forge_metadata *metadata;
    size_t metadata_count, metadata_capacity;
};

/* Returns the format's name of a type, for example "F32"; NULL if the format has no such type. */
const char *safetensors_dtype_name(forge_dtype dtype);

/* Returns true if a name contains no control characters, so that a message with this name may be printed on a
 * terminal. */
bool safetensors_is_printable(const char *name);

/* Parses file->header of header_size bytes, checks it, and sets entries and metadata. Returns JOULE_INVALID,
 * with a message that names the byte, if the header is wrong. */
joule_status safetensors_parse(forge_safetensors *file, size_t header_size, joule_error *out_error);
/* Reads `size` bytes of an entry, from byte `first` of the entry on. The bytes must be within the entry. */
joule_status safetensors_read_bytes(const forge_safetensors *file, const struct entry *entry, uint64_t first,
                                    void *out_bytes, size_t size, joule_error *out_error);

#endif
