/* infer/model/safetensors_model.c - reads models from folders of Hugging Face: config.json and safetensors
 * files.
 *
 * Tensors get the names of GGUF files. Their data remain in the mapped files, except weights that are stored
 * as [in, out] and data that are not aligned. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "forge/infer/model/hugging_face.h"
#include "forge/infer/model/model_reader.h"
#include "forge/infer/tokenizer/tokenizer_read.h"
#include "forge/serialize/safetensors.h"

#define INDEX_NAME  "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"

enum { MAX_SHARDS = 4096, MAX_NAME = 64 };

/* A safetensors file of the model. */
struct shard {
    const char *path;
    forge_safetensors *header;
    struct model_map map;
};

/* The state of reading a folder. */
struct reading {
    struct model_file *file;
    const char *folder;
    struct hf_settings settings;
    struct shard *shards;
    size_t shard_count, shard_capacity;
    joule_error *error;
};

/* Returns folder/name in the arena, or NULL: out of memory. */
static const char *join(struct reading *r, const char *name)
{
    size_t size = strlen(r->folder) + strlen(name) + 2;
    char *path = arena_alloc(&r->file->arena, size);
    if (path)
        string_print(path, size, "%s/%s", r->folder, name);
    return path;
}

/* --- shards --------------------------------------------------------------------------------------------- */

static joule_status open_shard(struct reading *r, const char *name)
{
    if (!ARRAY_ROOM(r->shards, r->shard_capacity, r->shard_count))
        return model_no_memory(r->folder, r->error);
    struct shard *shard = &r->shards[r->shard_count];
    *shard = (struct shard){.path = join(r, name)};
    if (!shard->path)
        return model_no_memory(r->folder, r->error);
    joule_status status = forge_safetensors_open(shard->path, &shard->header, r->error);
    if (status != JOULE_OK)
        return status;
    r->shard_count++;
    status = model_file_map(r->file, shard->path, &shard->map, r->error);
    if (status == JOULE_OK && shard->map.size != shard->header->data_offset + shard->header->data_size)
        status = error_set(r->error, JOULE_INVALID, "cannot read %s: the file changed while it was read",
                           shard->path);
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sets *out_names to the files that the index names: sorted, with repetitions. */
static joule_status list_files(struct reading *r, const char *path, const char ***out_names,
                               size_t *out_count)
{
    joule_status status = JOULE_OK;
    const struct json_value *root = hf_read_json(&r->file->arena, path, &status, r->error);
    if (!root)
        return status;
    const struct json_value *map = json_member(root, "weight_map");
    size_t count = 0;
    for (const struct json_value *item = map ? map->first : NULL; item; item = item->next) {
        const char *name = json_text_of(item);
        /* Refuses names with '/', so that the index cannot name files of other folders. */
        if (!name || !string_ends(name, ".safetensors") || strchr(name, '/'))
            return error_set(r->error, JOULE_INVALID,
                             "cannot read %s: '%.60s' in weight_map is not the name of a safetensors file",
                             path, name ? name : "");
        count++;
    }
    if (count == 0)
        return error_set(r->error, JOULE_INVALID, "cannot read %s: weight_map is missing or empty", path);
    const char **names = arena_alloc(&r->file->arena, count * sizeof *names);
    if (!names)
        return model_no_memory(path, r->error);
    *out_names = names;
    *out_count = count;
    for (const struct json_value *item = map->first; item; item = item->next)
        *names++ = json_text_of(item);
    qsort(*out_names, count, sizeof **out_names, by_text);
    return JOULE_OK;
}

static joule_status open_indexed(struct reading *r, const char *path)
{
    const char **names = NULL;
    size_t count = 0;
    joule_status status = list_files(r, path, &names, &count);
    for (size_t i = 0; status == JOULE_OK && i < count; i++) {
        if (i > 0 && strcmp(names[i - 1], names[i]) == 0)
            continue;
        if (r->shard_count == MAX_SHARDS)
            return error_set(r->error, JOULE_INVALID, "cannot read %s: more than %d files", path, MAX_SHARDS);
        status = open_shard(r, names[i]);
    }
    return status;
}

static joule_status open_shards(struct reading *r)
{
    const char *index = join(r, INDEX_NAME);
    if (!index)
        return model_no_memory(r->folder, r->error);
    return access(index, F_OK) == 0 ? open_indexed(r, index) : open_shard(r, SINGLE_NAME);
}

/* --- tensors -------------------------------------------------------------------------------------------- */

/* Copies [rows, columns] elements of `size` bytes as [columns, rows]. */
static void transpose(const char *from, char *to, size_t rows, size_t columns, size_t size)
{
    enum { TILE = 32 }; /* in elements; two tiles, one of each matrix, fit in the L1 cache */
    for (size_t row = 0; row < rows; row += TILE)
        for (size_t column = 0; column < columns; column += TILE)
            for (size_t i = row; i < rows && i < row + TILE; i++)
                for (size_t k = column; k < columns && k < column + TILE; k++)
                    memcpy(to + (k * rows + i) * size, from + (i * columns + k) * size, size);
}

/* Replaces the data by a copy in the arena. */
static joule_status copy_data(struct reading *r, struct model_tensor *tensor, bool is_transposed)
{
    char *copy = arena_alloc(&r->file->arena, tensor->size_bytes);
    if (!copy)
        return model_no_memory(r->folder, r->error);
    if (is_transposed) {
        forge_dim rows = tensor->shape.dims[0], columns = tensor->shape.dims[1];
        transpose(tensor->data, copy, (size_t)rows, (size_t)columns, forge_dtype_block_bytes(tensor->dtype));
        tensor->shape = forge_shape_of(columns, rows);
    } else {
        memcpy(copy, tensor->data, tensor->size_bytes);
    }
    tensor->data = copy;
    return JOULE_OK;
}

static joule_status add_tensor(struct reading *r, const struct shard *shard, const struct entry *entry)
{
    char name[MAX_NAME];
    enum hf_use use =
        hf_name(r->file->config.architecture, r->settings.is_tied, entry->name, name, sizeof name);
    if (use == HF_IGNORED)
        return JOULE_OK;
    if (use == HF_UNKNOWN)
        return error_set(r->error, JOULE_UNSUPPORTED,
                         "cannot read %s: tensor '%.80s' is not supported for the architecture %s",
                         shard->path, entry->name, model_architecture_name(r->file->config.architecture));
    if (entry->dtype != FORGE_F32 && entry->dtype != FORGE_F16 && entry->dtype != FORGE_BF16)
        return error_set(
            r->error, JOULE_UNSUPPORTED,
            "cannot read %s: tensor '%.80s' has the type %s, which is not supported; f32, f16 and "
            "bf16 are",
            shard->path, entry->name, forge_dtype_name(entry->dtype));
    if (use == HF_TRANSPOSED && entry->shape.rank != 2)
        return error_set(r->error, JOULE_INVALID, "cannot read %s: tensor '%.80s' is not a matrix",
                         shard->path, entry->name);
    struct model_tensor *tensor = &r->file->tensors[r->file->tensor_count++];
    *tensor = (struct model_tensor){
        .name = arena_copy(&r->file->arena, name, sizeof name),
        .dtype = entry->dtype,
        .shape = entry->shape,
        .data = (const char *)shard->map.data + shard->header->data_offset + entry->begin,
        .size_bytes = (size_t)(entry->end - entry->begin),
    };
    if (!tensor->name)
        return model_no_memory(r->folder, r->error);
    bool is_aligned = (uintptr_t)tensor->data % forge_dtype_block_bytes(tensor->dtype) == 0;
    return use == HF_TRANSPOSED || !is_aligned ? copy_data(r, tensor, use == HF_TRANSPOSED) : JOULE_OK;
}

static joule_status add_tensors(struct reading *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->shard_count; i++)
        count += r->shards[i].header->entry_count;
    r->file->tensors = arena_alloc(&r->file->arena, count * sizeof *r->file->tensors);
    if (!r->file->tensors)
        return model_no_memory(r->folder, r->error);
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < r->shard_count; i++)
        for (size_t k = 0; status == JOULE_OK && k < r->shards[i].header->entry_count; k++)
            status = add_tensor(r, &r->shards[i], &r->shards[i].header->entries[k]);
    return status;
}

/* --- the model ------------------------------------------------------------------------------------------ */

/* Reads the folder's tokenizer.json, and sets the special tokens that config.json states. The vocabulary is
 * empty if the folder has no tokenizer.json. */
static joule_status read_vocabulary(struct reading *r)
{
    struct vocabulary *v = &r->file->vocabulary;
    const char *path = join(r, "tokenizer.json");
    if (!path)
        return model_no_memory(r->folder, r->error);
    joule_error error = {0};
    joule_status status = tokenizer_json_read(&r->file->arena, v, path, &error);
    if (status != JOULE_OK && status != JOULE_ABSENT)
        return error_set(r->error, status, "%s", error.message);
    if (r->settings.bos >= 0 && (uint64_t)r->settings.bos < v->count)
        v->bos = (int32_t)r->settings.bos;
    if (r->settings.eos >= 0 && (uint64_t)r->settings.eos < v->count)
        v->eos = (int32_t)r->settings.eos;
    return JOULE_OK;
}

static joule_status read_folder(struct reading *r)
{
    const char *config = join(r, "config.json");
    if (!config)
        return model_no_memory(r->folder, r->error);
    joule_status status = hf_read_config(r->file, config, &r->settings, r->error);
    r->file->name = r->settings.name;
    if (status == JOULE_OK)
        status = open_shards(r);
    if (status == JOULE_OK)
        status = add_tensors(r);
    if (status == JOULE_OK)
        status = model_file_sort(r->file, r->folder, r->error);
    if (status == JOULE_OK)
        status = read_vocabulary(r);
    if (status == JOULE_OK)
        status = model_file_check(r->file, r->folder, r->error);
    if (status == JOULE_OK && !r->settings.is_tied && !model_file_find(r->file, "output.weight"))
        status =
            error_set(r->error, JOULE_INVALID,
                      "cannot read %s: tensor 'lm_head.weight' is missing, and tie_word_embeddings is false",
                      r->folder);
    return status;
}

joule_status safetensors_model_read(struct model_file *file, const char *folder, joule_error *out_error)
{
    struct reading r = {.file = file, .folder = folder, .error = out_error};
    joule_status status = read_folder(&r);
    for (size_t i = 0; i < r.shard_count; i++)
        forge_safetensors_close(r.shards[i].header);
    free(r.shards);
    return status;
}
