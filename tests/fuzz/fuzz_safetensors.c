/* Fuzz target: safetensors files, also as checkpoints. Reading must not crash, leak, or allocate memory for
 * data that the file does not contain. Checks that tensors that are written again are read as the same
 * tensors. */
#include <stdlib.h>
#include <string.h>
#include <forge/checkpoint.h>
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static forge_safetensors *open_bytes(const uint8_t *bytes, size_t size)
{
    joule_error error = {0};
    const char *path = fuzz_file(bytes, size);
    forge_safetensors *file = NULL;
    joule_status status = forge_safetensors_open(path, &file, &error);
    require(status == JOULE_OK || status == JOULE_INVALID);
    require(error.status == status && (status == JOULE_OK) == (file != NULL));
    require((status == JOULE_OK) == (error.message[0] == '\0'));
    forge_checkpoint checkpoint = {.struct_size = sizeof checkpoint};
    joule_status looked = forge_checkpoint_query(path, &checkpoint, NULL);
    require(looked == status || looked == JOULE_INVALID || looked == JOULE_UNSUPPORTED);
    return file;
}

static size_t size_bytes(const forge_tensor *tensor)
{
    return forge_dtype_size_bytes(tensor->dtype, forge_tensor_elements(tensor));
}

/* Returns all tensors of the file. Requires that their total size is at most max_bytes. */
static forge_named_tensor *read_all(const forge_safetensors *file, size_t max_bytes)
{
    size_t count = forge_safetensors_count(file), all = 0;
    forge_named_tensor *tensors = calloc(count + 1, sizeof *tensors);
    require(tensors != NULL);
    for (size_t i = 0; i < count; i++) {
        forge_dtype dtype;
        forge_shape shape;
        size_t found;
        require(forge_safetensors_entry(file, i, &tensors[i].name, &dtype, &shape) == JOULE_OK);
        require(forge_safetensors_find(file, tensors[i].name, &found) == JOULE_OK && found == i);
        require(forge_safetensors_read(file, i, &tensors[i].tensor, NULL) == JOULE_OK);
        all += size_bytes(&tensors[i].tensor);
    }
    require(all <= max_bytes);
    return tensors;
}

static void require_same(const forge_safetensors *again, const forge_named_tensor *tensors, size_t count)
{
    require(forge_safetensors_count(again) == count);
    for (size_t i = 0; i < count; i++) {
        size_t k;
        forge_tensor is;
        const forge_tensor *was = &tensors[i].tensor;
        require(forge_safetensors_find(again, tensors[i].name, &k) == JOULE_OK);
        require(forge_safetensors_read(again, k, &is, NULL) == JOULE_OK);
        require(is.dtype == was->dtype && forge_shape_equal(&is.shape, &was->shape));
        require(memcmp(forge_tensor_data(&is), forge_tensor_data(was), size_bytes(was)) == 0);
        forge_buffer_release(is.buffer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    forge_safetensors *file = open_bytes(data, size), *again = NULL;
    if (!file)
        return 0;
    size_t count = forge_safetensors_count(file);
    forge_named_tensor *tensors = read_all(file, size);
    const char *text = forge_safetensors_metadata(file, "k");
    forge_metadata pair = {"k", text ? text : ""};
    require(forge_safetensors_write(fuzz_copy(), tensors, count, &pair, 1, NULL) == JOULE_OK);
    require(forge_safetensors_open(fuzz_copy(), &again, NULL) == JOULE_OK);
    require_same(again, tensors, count);
    require(strcmp(forge_safetensors_metadata(again, "k"), pair.text) == 0);
    forge_safetensors_close(again);
    for (size_t i = 0; i < count; i++)
        forge_buffer_release(tensors[i].tensor.buffer);
    free(tensors);
    forge_safetensors_close(file);
    return 0;
}
