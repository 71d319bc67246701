/* infer/model/model_file.c - opens and closes model files, and finds their tensors: see model_file.h. */
#include "forge/infer/model/model_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "forge/core/random_access_file.h"
#include "forge/infer/model/model_reader.h"

#define ARENA_BLOCK_SIZE 65536 /* bytes */
#define CONFIG_NAME      "config.json"

joule_status model_no_memory(const char *path, joule_error *out_error)
{
    return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
}

/* --- maps ----------------------------------------------------------------------------------------------- */

joule_status model_file_map(struct model_file *file, const char *path, struct model_map *out_map,
                            joule_error *out_error)
{
    struct file source;
    joule_status status = file_open(&source, path, out_error);
    if (status != JOULE_OK)
        return status;
    struct model_map map = {NULL, (size_t)source.size};
    if (map.size == 0)
        status = error_set(out_error, JOULE_INVALID, "cannot read %s: the file is empty", path);
    else if (!ARRAY_ROOM(file->maps, file->map_capacity, file->map_count))
        status = model_no_memory(path, out_error);
    else if ((map.data = mmap(NULL, map.size, PROT_READ, MAP_PRIVATE, source.fd, 0)) == MAP_FAILED)
        status = error_set(out_error, status_of_errno(errno), "cannot map %s: %s", path, strerror(errno));
    else
        file->maps[file->map_count++] = *out_map = map;
    file_close(&source);
    return status;
}

/* --- names ---------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct model_tensor *const *)a)->name,
                  (*(const struct model_tensor *const *)b)->name);
}

joule_status model_file_sort(struct model_file *file, const char *path, joule_error *out_error)
{
    file->sorted = arena_alloc(&file->arena, file->tensor_count * sizeof(struct model_tensor *));
    if (!file->sorted)
        return model_no_memory(path, out_error);
    for (size_t i = 0; i < file->tensor_count; i++)
        file->sorted[i] = &file->tensors[i];
    qsort(file->sorted, file->tensor_count, sizeof(struct model_tensor *), by_name);
    for (size_t i = 1; i < file->tensor_count; i++)
        if (strcmp(file->sorted[i - 1]->name, file->sorted[i]->name) == 0)
            return error_set(out_error, JOULE_INVALID, "cannot read %s: there are two tensors '%.64s'", path,
                             file->sorted[i]->name);
    return JOULE_OK;
}

const struct model_tensor *model_file_find(const struct model_file *file, const char *name)
{
    size_t low = 0, high = file->sorted ? file->tensor_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, file->sorted[middle]->name);
        if (order == 0)
            return file->sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* --- open and close ------------------------------------------------------------------------------------- */

/* Reads a file that is not GGUF. A file of llama2.c does not begin with a magic number, so its reader checks
 * all sizes. */
static joule_status read_regular(struct model_file *file, const char *path, const char *tokenizer_path,
                                 joule_error *out_error)
{
    char mark[4] = "";
    struct file source;
    joule_status status = file_open(&source, path, out_error);
    if (status != JOULE_OK)
        return status;
    if (source.size >= sizeof mark)
        status = file_read(&source, 0, mark, sizeof mark, out_error);
    file_close(&source);
    if (status != JOULE_OK)
        return status;
    if (memcmp(mark, "GGUF", sizeof mark) == 0)
        return gguf_read(file, path, out_error);
    return llama2c_read(file, path, tokenizer_path, out_error);
}

static joule_status read_path(struct model_file *file, const char *path, const char *tokenizer_path,
                              joule_error *out_error)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return error_set(out_error, status_of_errno(errno), "cannot open %s: %s", path, strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return safetensors_model_read(file, path, out_error);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, CONFIG_NAME) != 0)
        return read_regular(file, path, tokenizer_path, out_error);
    const char *folder = slash ? arena_copy(&file->arena, path, (size_t)(slash - path)) : ".";
    return folder ? safetensors_model_read(file, folder, out_error) : model_no_memory(path, out_error);
}

joule_status model_file_open(const char *path, const char *tokenizer_path, struct model_file **out_file,
                             joule_error *out_error)
{
    struct model_file *file = calloc(1, sizeof *file);
    if (!file)
        return model_no_memory(path, out_error);
    file->arena.block_size = ARENA_BLOCK_SIZE;
    joule_status status = read_path(file, path, tokenizer_path, out_error);
    if (status == JOULE_OK)
        *out_file = file;
    else
        model_file_close(file);
    return status;
}

void model_file_close(struct model_file *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->map_count; i++)
        munmap(file->maps[i].data, file->maps[i].size);
    free(file->maps);
    arena_free(&file->arena);
    free(file);
}
