/* serialize/safetensors.c - reads safetensors files: see <forge/serialize.h>. */
#include "forge/serialize/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"

/* Reads and parses the header. Checks the length of the header against the size of the file before it
 * allocates memory. */
static joule_status read_header(forge_safetensors *file, joule_error *error)
{
    uint8_t bytes[SAFETENSORS_LENGTH_SIZE];
    uint64_t size = 0;
    if (file->file.size < sizeof bytes)
        return error_set(error, JOULE_INVALID,
                         "%s: byte %" PRIu64 ": the file ends before the length of a safetensors header",
                         file->path, file->file.size);
    joule_status status = file_read(&file->file, 0, bytes, sizeof bytes, error);
    if (status != JOULE_OK)
        return status;
    for (size_t i = sizeof bytes; i-- > 0;)
        size = size << 8 | bytes[i];
    if (size > file->file.size - sizeof bytes || size > SAFETENSORS_MAX_HEADER)
        return error_set(
            error, JOULE_INVALID,
            "%s: byte 0: a header of %" PRIu64 " bytes, but %" PRIu64
            " bytes follow and the format allows %u; not a safetensors file, or only a part of one",
            file->path, size, file->file.size - sizeof bytes, SAFETENSORS_MAX_HEADER);
    file->header = malloc(size + 1);
    if (!file->header)
        return error_set(error, JOULE_NO_MEMORY, "cannot read the header of %s: out of memory", file->path);
    file->data_offset = sizeof bytes + size;
    file->data_size = file->file.size - file->data_offset;
    status = file_read(&file->file, sizeof bytes, file->header, size, error);
    return status == JOULE_OK ? safetensors_parse(file, size, error) : status;
}

joule_status forge_safetensors_open(const char *path, forge_safetensors **out_file, joule_error *out_error)
{
    if (!path || !out_file)
        return error_set(out_error, JOULE_INVALID, "forge_safetensors_open: %s is NULL",
                         path ? "out_file" : "path");
    forge_safetensors *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
    }
    joule_status status = file_open(&file->file, file->path, out_error);
    if (status == JOULE_OK)
        status = read_header(file, out_error);
    if (status == JOULE_OK)
        *out_file = file;
    else
        forge_safetensors_close(file);
    return status;
}

void forge_safetensors_close(forge_safetensors *file)
{
    if (!file)
        return;
    file_close(&file->file);
    free(file->entries);
    free(file->by_name);
    free(file->metadata);
    free(file->header);
    free(file->path);
    free(file);
}

size_t forge_safetensors_count(const forge_safetensors *file)
{
    return file->entry_count;
}

joule_status forge_safetensors_entry(const forge_safetensors *file, size_t i, const char **out_name,
                                     forge_dtype *out_dtype, forge_shape *out_shape)
{
    if (i >= file->entry_count)
        return JOULE_INVALID;
    *out_name = file->entries[i].name;
    *out_dtype = file->entries[i].dtype;
    *out_shape = file->entries[i].shape;
    return JOULE_OK;
}

joule_status forge_safetensors_find(const forge_safetensors *file, const char *name, size_t *out_i)
{
    size_t low = 0, high = file->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, file->entries[file->by_name[middle]].name);
        if (order == 0) {
            *out_i = file->by_name[middle];
            return JOULE_OK;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return JOULE_ABSENT;
}

joule_status safetensors_read_bytes(const forge_safetensors *file, const struct entry *entry, uint64_t first,
                                    void *out_bytes, size_t size, joule_error *out_error)
{
    return file_read(&file->file, file->data_offset + entry->begin + first, out_bytes, size, out_error);
}

joule_status forge_safetensors_read(const forge_safetensors *file, size_t i, forge_tensor *out_tensor,
                                    joule_error *out_error)
{
    if (i >= file->entry_count)
        return error_set(out_error, JOULE_INVALID, "%s: there is no tensor %zu", file->path, i);
    const struct entry *entry = &file->entries[i];
    forge_tensor tensor;
    joule_status status = forge_tensor_new(entry->dtype, &entry->shape, &tensor, out_error);
    if (status != JOULE_OK)
        return status;
    status = safetensors_read_bytes(file, entry, 0, forge_tensor_data(&tensor),
                                    (size_t)(entry->end - entry->begin), out_error);
    if (status == JOULE_OK)
        *out_tensor = tensor;
    else
        forge_buffer_release(tensor.buffer);
    return status;
}

const char *forge_safetensors_metadata(const forge_safetensors *file, const char *key)
{
    for (size_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].text;
    return NULL;
}
