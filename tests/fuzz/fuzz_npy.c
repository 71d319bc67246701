/* Fuzz target: .npy files. Reading must not crash, leak, or allocate memory for data that the file does not
 * contain. Checks that a tensor that is written again is read as the same tensor. */
#include <string.h>
#include <forge/serialize.h>
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static joule_status read_bytes(const uint8_t *bytes, size_t size, forge_tensor *out_tensor)
{
    joule_error error = {0};
    joule_status status = forge_npy_read(fuzz_file(bytes, size), out_tensor, &error);
    require(error.status == status && (status == JOULE_OK) == (error.message[0] == '\0'));
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    forge_tensor tensor, again;
    if (read_bytes(data, size, &tensor) != JOULE_OK)
        return 0;
    size_t bytes = forge_dtype_size_bytes(tensor.dtype, forge_tensor_elements(&tensor));
    require(bytes < size && forge_tensor_is_packed(&tensor));
    require(forge_npy_write(fuzz_copy(), &tensor, NULL) == JOULE_OK);
    require(forge_npy_read(fuzz_copy(), &again, NULL) == JOULE_OK);
    require(again.dtype == tensor.dtype && forge_shape_equal(&again.shape, &tensor.shape));
    require(memcmp(forge_tensor_data(&again), forge_tensor_data(&tensor), bytes) == 0);
    forge_buffer_release(again.buffer);
    forge_buffer_release(tensor.buffer);
    return 0;
}
