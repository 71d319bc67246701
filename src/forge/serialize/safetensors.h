/* serialize/safetensors.h - the inside of an open safetensors file.
 *
 * Owns what a header says, after it was held against the file: 8 bytes with its length (little-endian), JSON, then the data.
 * Newcomers: names and texts lie in the header, decoded in place.
 */
#ifndef FORGE_SERIALIZE_SAFETENSORS_H
#define FORGE_SERIALIZE_SAFETENSORS_H

#include <forge/serialize.h>
#include "forge/core/file.h"

#define SAFETENSORS_LENGTH_SIZE 8
#define SAFETENSORS_MOST_HEADER 100000000u /* as the format's own readers */
#define SAFETENSORS_METADATA    "__metadata__"

struct entry {
    const char *name;
    forge_dtype dtype;
    forge_shape shape;
    uint64_t begin, end; /* in the data */
    size_t place;        /* of the name in the header */
};

struct forge_safetensors {
    char *path;
    struct file file;
    char *header;
    uint64_t data_offset, data_size;
    struct entry *entries; /* in the order of the data */
    size_t entry_count, entry_capacity;
    size_t *by_name;   /* indices of entries */
    bool has_metadata; /* maybe an empty one */
    forge_metadata *metadata;
    size_t metadata_count, metadata_capacity;
};

/* "F32"; NULL: the format has no such type. */
const char *safetensors_dtype_name(forge_dtype dtype);

/* Whether a name holds no control character, as names go into messages and onto terminals. */
bool safetensors_is_printable(const char *name);

/* Fills entries and metadata from the header of header_size bytes. */
joule_status safetensors_parse(forge_safetensors *file, size_t header_size, joule_error *out_error);
/* Reads an entry's bytes. */
joule_status safetensors_read_bytes(const forge_safetensors *file, const struct entry *entry, uint64_t first,
                                    void *out_bytes, size_t size, joule_error *out_error);

#endif
