/* data/mnist.c - reads MNIST from a folder: finds the files of each array and joins them in order.
 *
 * idx.c reads the files. If a folder contains a file and its .gz, only the plain file is read. If it contains
 * a whole file and parts, only the whole file is read. So no example is read twice.
 */
#include <forge/data.h>
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An array of MNIST. Its files are named stem + ending, or stem + "-part..." + ending, both with or without
 * .gz. */
struct array {
    const char *stem, *ending;
    forge_shape row; /* [0, dimensions of one example]; the 0 stands for the number of examples */
};

struct files {
    struct arena arena;
    char **names;
    size_t count, capacity;
};

/* Returns the part of `name` after the stem. `name` must begin with the stem. */
static const char *tail(const struct array *array, const char *name)
{
    return name + strlen(array->stem);
}

static bool is_whole(const struct array *array, const char *name)
{
    return string_starts(tail(array, name), array->ending);
}

static bool is_of(const struct array *array, const char *name)
{
    if (!string_starts(name, array->stem))
        return false;
    if (!is_whole(array, name) && !string_starts(tail(array, name), "-part"))
        return false;
    const char *ending = strstr(tail(array, name), array->ending);
    return ending && (!ending[strlen(array->ending)] || strcmp(ending + strlen(array->ending), ".gz") == 0);
}

/* Compares by name, and numbers in names by value: part10 follows part9. */
static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool is_packed_twin(const char *name, const char *packed)
{
    size_t length = strlen(name);
    return strncmp(packed, name, length) == 0 && strcmp(packed + length, ".gz") == 0;
}

/* Sorts the files, and removes those whose examples are also in another file. */
static void choose(const struct array *array, struct files *files)
{
    if (files->count == 0)
        return;
    qsort(files->names, files->count, sizeof *files->names, compare_names);
    size_t count = 1;
    for (size_t i = 1; i < files->count; i++)
        if (!is_packed_twin(files->names[count - 1], files->names[i]))
            files->names[count++] = files->names[i];
    files->count = is_whole(array, files->names[0]) ? 1 : count; /* "-idx" sorts before "-part" */
}

static bool add_name(struct files *files, const char *name)
{
    char *copy = arena_copy(&files->arena, name, strlen(name));
    if (!copy || !ARRAY_ROOM(files->names, files->capacity, files->count))
        return false;
    files->names[files->count++] = copy;
    return true;
}

static joule_status find_files(const char *folder, const struct array *array, struct files *files,
                               joule_error *out_error)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return error_set(out_error, status_of_errno(errno), "cannot open the folder %s: %s", folder,
                         strerror(errno));
    bool has_memory = true;
    for (struct dirent *entry; has_memory && (entry = readdir(directory)) != NULL;)
        if (is_of(array, entry->d_name))
            has_memory = add_name(files, entry->d_name);
    closedir(directory);
    if (!has_memory)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot list %s: out of memory", folder);
    choose(array, files);
    if (files->count == 0)
        return error_set(out_error, JOULE_ABSENT,
                         "%s has neither %s%s nor %s-part*%s, nor these with .gz; download MNIST there",
                         folder, array->stem, array->ending, array->stem, array->ending);
    return JOULE_OK;
}

static joule_status check_part(const struct array *array, const char *path, const forge_tensor *part,
                               joule_error *out_error)
{
    forge_shape expected = array->row;
    expected.dims[0] = part->shape.dims[0];
    if (part->dtype == FORGE_U8 && forge_shape_equal(&part->shape, &expected))
        return JOULE_OK;
    char shape[128];
    forge_shape_format(&part->shape, shape, sizeof shape);
    return error_set(out_error, JOULE_INVALID, "%s: contains %s%s where MNIST has %s", path,
                     forge_dtype_name(part->dtype), shape, expected.rank == 1 ? "u8[n]" : "u8[n,28,28]");
}

/* Appends the rows of `part` to *whole, in a new buffer. Releases the old buffer of *whole. */
static joule_status append(forge_tensor *whole, const forge_tensor *part, joule_error *out_error)
{
    forge_shape shape = part->shape;
    shape.dims[0] += whole->shape.dims[0];
    forge_tensor both;
    joule_status status = forge_tensor_new(part->dtype, &shape, &both, out_error);
    if (status != JOULE_OK)
        return status;
    size_t first_size = forge_tensor_elements(whole);
    memcpy(forge_tensor_data(&both), forge_tensor_data(whole), first_size);
    memcpy((char *)forge_tensor_data(&both) + first_size, forge_tensor_data(part),
           forge_tensor_elements(part));
    forge_buffer_release(whole->buffer);
    *whole = both;
    return JOULE_OK;
}

/* Reads a file and appends its rows to *whole, which may be empty. */
static joule_status read_part(const char *folder, const char *name, const struct array *array,
                              forge_tensor *whole, joule_error *out_error)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", folder);
    forge_tensor part = {0};
    joule_status status = forge_idx_read(path, &part, out_error);
    if (status == JOULE_OK)
        status = check_part(array, path, &part, out_error);
    free(path);
    if (status == JOULE_OK && !whole->buffer) {
        *whole = part;
        return JOULE_OK;
    }
    if (status == JOULE_OK)
        status = append(whole, &part, out_error);
    forge_buffer_release(part.buffer);
    return status;
}

/* Reads all files of an array. The caller releases the buffer of *whole, also after an error. */
static joule_status read_array(const char *folder, const struct array *array, forge_tensor *whole,
                               joule_error *out_error)
{
    struct files files = {0};
    joule_status status = find_files(folder, array, &files, out_error);
    for (size_t i = 0; i < files.count && status == JOULE_OK; i++)
        status = read_part(folder, files.names[i], array, whole, out_error);
    free(files.names);
    arena_free(&files.arena);
    return status;
}

joule_status forge_dataset_mnist(const char *folder, bool is_test, forge_dataset **out_dataset,
                                 joule_error *out_error)
{
    static const struct array arrays[2][2] = {
        {{"train-images", "-idx3-ubyte", {.rank = 3, .dims = {0, 28, 28}}},
         {"train-labels", "-idx1-ubyte", {.rank = 1}}},
        {{"t10k-images", "-idx3-ubyte", {.rank = 3, .dims = {0, 28, 28}}},
         {"t10k-labels", "-idx1-ubyte", {.rank = 1}}},
    };
    if (!folder || !out_dataset)
        return error_set(out_error, JOULE_INVALID, "forge_dataset_mnist: %s is NULL",
                         folder ? "out_dataset" : "folder");
    forge_tensor columns[2] = {0};
    joule_status status = JOULE_OK;
    for (size_t i = 0; i < 2 && status == JOULE_OK; i++)
        status = read_array(folder, &arrays[is_test][i], &columns[i], out_error);
    if (status == JOULE_OK && columns[0].shape.dims[0] != columns[1].shape.dims[0])
        status = error_set(out_error, JOULE_INVALID, "%s: %zu images but %zu labels; a part may be missing",
                           folder, (size_t)columns[0].shape.dims[0], (size_t)columns[1].shape.dims[0]);
    if (status == JOULE_OK)
        status = forge_dataset_new(columns, 2, out_dataset, out_error);
    forge_buffer_release(columns[0].buffer);
    forge_buffer_release(columns[1].buffer);
    return status;
}
