/* serialize/safetensors_parse.c - parses the header of a safetensors file, and checks it against the size of
 * the file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "forge/serialize/safetensors.h"

static const char *const dtype_names[] = {
    [FORGE_BOOL] = "BOOL", [FORGE_U8] = "U8",           [FORGE_U16] = "U16",         [FORGE_U32] = "U32",
    [FORGE_U64] = "U64",   [FORGE_I8] = "I8",           [FORGE_I16] = "I16",         [FORGE_I32] = "I32",
    [FORGE_I64] = "I64",   [FORGE_F16] = "F16",         [FORGE_BF16] = "BF16",       [FORGE_F32] = "F32",
    [FORGE_F64] = "F64",   [FORGE_F8_E4M3] = "F8_E4M3", [FORGE_F8_E5M2] = "F8_E5M2",
};
enum { DTYPE_NAMES = sizeof dtype_names / sizeof *dtype_names };

const char *safetensors_dtype_name(forge_dtype dtype)
{
    return (size_t)dtype < DTYPE_NAMES ? dtype_names[dtype] : NULL;
}

/* --- one tensor ----------------------------------------------------------------------------------------- */

static bool parse_dtype(struct json_reader *json, struct entry *entry)
{
    size_t at = json_place(json);
    const char *name = json_read_string(json);
    for (size_t i = 0; name && i < DTYPE_NAMES; i++)
        if (dtype_names[i] && strcmp(dtype_names[i], name) == 0) {
            entry->dtype = (forge_dtype)i;
            return true;
        }
    return json_fail(json, at, "tensor '%.60s' has the type '%.20s', which is not supported", entry->name,
                     name ? name : "");
}

static bool parse_shape(struct json_reader *json, struct entry *entry)
{
    size_t at = json_place(json), count = 0;
    uint64_t dim = 0;
    json_enter(json, '[');
    while (json_more(json, ']', &count)) {
        if (count > FORGE_MAX_RANK)
            return json_fail(json, at, "tensor '%.60s' has more than %d dimensions", entry->name,
                             FORGE_MAX_RANK);
        if (json_u64(json, &dim) && dim > INT64_MAX)
            return json_fail(json, at, "tensor '%.60s' has a dimension above 2^63", entry->name);
        entry->shape.dims[entry->shape.rank++] = (forge_dim)dim;
    }
    return !json->has_failed;
}

static bool parse_offsets(struct json_reader *json, struct entry *entry)
{
    size_t at = json_place(json), count = 0;
    uint64_t *ends[] = {&entry->begin, &entry->end};
    json_enter(json, '[');
    while (json_more(json, ']', &count))
        if (count > 2 || !json_u64(json, ends[count - 1]))
            return json_fail(json, at, "tensor '%.60s' has more than two offsets", entry->name);
    return json->has_failed || count == 2 ||
           json_fail(json, at, "tensor '%.60s' has fewer than two offsets", entry->name);
}

/* Checks that offsets, type and shape of one tensor agree, and that its bytes are within the data. */
static bool check_entry(struct json_reader *json, size_t at, const struct entry *entry, uint64_t data_size)
{
    char shape[200];
    size_t elements = forge_shape_elements(&entry->shape);
    size_t size = elements < SIZE_MAX ? forge_dtype_size_bytes(entry->dtype, elements) : SIZE_MAX;
    if (entry->end < entry->begin || entry->end > data_size)
        return json_fail(json, at,
                         "tensor '%.60s' has bytes %" PRIu64 " to %" PRIu64 " of the data, which has %" PRIu64
                         " bytes",
                         entry->name, entry->begin, entry->end, data_size);
    if (size == SIZE_MAX || size != entry->end - entry->begin) {
        forge_shape_format(&entry->shape, shape, sizeof shape);
        return json_fail(json, at, "tensor '%.60s' is %s%s, which does not have %" PRIu64 " bytes",
                         entry->name, forge_dtype_name(entry->dtype), shape, entry->end - entry->begin);
    }
    return true;
}

static bool parse_entry(struct json_reader *json, struct entry *entry, uint64_t data_size)
{
    static const struct {
        const char *name;
        bool (*parse)(struct json_reader *json, struct entry *entry);
    } members[] = {{"dtype", parse_dtype}, {"shape", parse_shape}, {"data_offsets", parse_offsets}};
    size_t at = json_place(json), count = 0;
    unsigned seen = 0, all = (1u << sizeof members / sizeof *members) - 1;
    json_enter(json, '{');
    while (json_more(json, '}', &count)) {
        size_t place = json_place(json), i = 0;
        const char *name = json_name(json);
        while (name && i < sizeof members / sizeof *members && strcmp(members[i].name, name) != 0)
            i++;
        if (name && (i == sizeof members / sizeof *members || (seen & 1u << i)))
            json_fail(json, place, "tensor '%.60s' has a member '%.40s' %s", entry->name, name,
                      i == sizeof members / sizeof *members ? "that the format does not know" : "twice");
        if (json->has_failed || !members[i].parse(json, entry))
            return false;
        seen |= 1u << i;
    }
    if (!json->has_failed && seen != all)
        return json_fail(json, at, "tensor '%.60s' lacks dtype, shape or data_offsets", entry->name);
    return !json->has_failed && check_entry(json, at, entry, data_size);
}

/* --- header --------------------------------------------------------------------------------------------- */

static bool no_memory(struct json_reader *json)
{
    json->has_failed = true;
    error_set(json->error, JOULE_NO_MEMORY, "cannot read the header of %s: out of memory", json->path);
    return false;
}

static bool parse_metadata(struct json_reader *json, forge_safetensors *file)
{
    size_t count = 0;
    file->has_metadata = true;
    json_enter(json, '{');
    while (json_more(json, '}', &count)) {
        if (!ARRAY_ROOM(file->metadata, file->metadata_capacity, file->metadata_count))
            return no_memory(json);
        forge_metadata *pair = &file->metadata[file->metadata_count];
        pair->key = json_name(json);
        pair->text = json_read_string(json);
        file->metadata_count += !json->has_failed;
    }
    return !json->has_failed;
}

bool safetensors_is_printable(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            return false;
    return true;
}

static bool parse_member(struct json_reader *json, forge_safetensors *file)
{
    struct entry entry = {.place = json_place(json)};
    entry.name = json_name(json);
    if (!entry.name)
        return false;
    if (strcmp(entry.name, SAFETENSORS_METADATA) == 0)
        return file->has_metadata ? json_fail(json, entry.place, "there is a second " SAFETENSORS_METADATA)
                                  : parse_metadata(json, file);
    if (!safetensors_is_printable(entry.name))
        return json_fail(json, entry.place, "a tensor's name contains a control character");
    if (!parse_entry(json, &entry, file->data_size))
        return false;
    if (!ARRAY_ROOM(file->entries, file->entry_capacity, file->entry_count))
        return no_memory(json);
    file->entries[file->entry_count++] = entry;
    return true;
}

static int by_place_in_data(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int by_name(const void *a, const void *b, void *entries)
{
    const struct entry *all = entries;
    return strcmp(all[*(const size_t *)a].name, all[*(const size_t *)b].name);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const forge_metadata *)a)->key, ((const forge_metadata *)b)->key);
}

/* Sorts the entries by their offsets, and checks that the entries cover the data without gaps or overlaps. */
static bool check_data(struct json_reader *json, forge_safetensors *file)
{
    uint64_t end = 0;
    qsort(file->entries, file->entry_count, sizeof *file->entries, by_place_in_data);
    for (size_t i = 0; i < file->entry_count; i++) {
        const struct entry *entry = &file->entries[i];
        if (entry->begin != end)
            return json_fail(json, entry->place,
                             "tensor '%.60s' begins at byte %" PRIu64
                             " of the data, and the tensor before it ends at byte %" PRIu64,
                             entry->name, entry->begin, end);
        end = entry->end;
    }
    return end == file->data_size ||
           json_fail(json, file->data_offset - SAFETENSORS_LENGTH_SIZE + end,
                     "the tensors end here, but the file has %" PRIu64 " more bytes", file->data_size - end);
}

static bool check_names(struct json_reader *json, forge_safetensors *file)
{
    file->by_name = calloc(file->entry_count + 1, sizeof *file->by_name);
    if (!file->by_name)
        return no_memory(json);
    for (size_t i = 0; i < file->entry_count; i++)
        file->by_name[i] = i;
    qsort_r(file->by_name, file->entry_count, sizeof *file->by_name, by_name, file->entries);
    for (size_t i = 1; i < file->entry_count; i++) {
        const struct entry *a = &file->entries[file->by_name[i - 1]], *b = &file->entries[file->by_name[i]];
        if (strcmp(a->name, b->name) == 0)
            return json_fail(json, a->place > b->place ? a->place : b->place, "there are two tensors '%.60s'",
                             a->name);
    }
    if (file->metadata_count > 1)
        qsort(file->metadata, file->metadata_count, sizeof *file->metadata, by_key);
    for (size_t i = 1; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i - 1].key, file->metadata[i].key) == 0)
            return json_fail(json, (size_t)(file->metadata[i].key - file->header),
                             "there are two texts '%.60s' in " SAFETENSORS_METADATA, file->metadata[i].key);
    return true;
}

joule_status safetensors_parse(forge_safetensors *file, size_t header_size, joule_error *out_error)
{
    joule_error error = {0};
    struct json_reader json = {.path = file->path,
                               .offset = SAFETENSORS_LENGTH_SIZE,
                               .text = file->header,
                               .size = header_size,
                               .error = &error};
    size_t count = 0;
    json_enter(&json, '{');
    while (json_more(&json, '}', &count) && parse_member(&json, file))
        ;
    if (json_end(&json) && (file->entry_count == 0 || check_data(&json, file)))
        check_names(&json, file);
    if (!json.has_failed && file->entry_count == 0 && file->data_size > 0)
        json_fail(&json, header_size, "there are %" PRIu64 " bytes of data, but no tensors", file->data_size);
    return json.has_failed ? error_set(out_error, error.status, "%s", error.message) : JOULE_OK;
}
