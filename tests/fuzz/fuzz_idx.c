/* Fuzz target: IDX files. Reading must not crash, leak, or allocate memory for data that the file does not
 * contain. Checks that a tensor written back gives the same file, and that compression of a file does not
 * change its tensor.
 *
 * If the first byte is even, the rest is the file. If it is odd, the rest is read plain and compressed. */
#include <stdlib.h>
#include <string.h>
#include <forge/data.h>
#include <zlib.h>
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static joule_status read_as_file(const uint8_t *bytes, size_t size, forge_tensor *out_tensor)
{
    joule_error error = {0};
    joule_status status = forge_idx_read(fuzz_file(bytes, size), out_tensor, &error);
    require(error.status == status && (status == JOULE_OK) == (error.message[0] == '\0'));
    return status;
}

static size_t size_bytes(const forge_tensor *tensor)
{
    return forge_dtype_size_bytes(tensor->dtype, forge_tensor_elements(tensor));
}

/* Checks each byte of the file against the tensor, with a second implementation of the format. */
static void require_written_back(const forge_tensor *tensor, const uint8_t *file, size_t size)
{
    static const uint8_t codes[] = {[FORGE_U8] = 8,   [FORGE_I8] = 9,   [FORGE_I16] = 11,
                                    [FORGE_I32] = 12, [FORGE_F32] = 13, [FORGE_F64] = 14};
    size_t header = 4 + 4 * (size_t)tensor->shape.rank, width = forge_dtype_size_bytes(tensor->dtype, 1);
    require(size == header + size_bytes(tensor));
    require(file[0] == 0 && file[1] == 0 && file[2] == codes[tensor->dtype] && file[3] == tensor->shape.rank);
    for (size_t i = 4; i < header; i++)
        require(file[i] == (uint8_t)(tensor->shape.dims[i / 4 - 1] >> (24 - 8 * (i % 4))));
    const uint8_t *elements = forge_tensor_data(tensor);
    for (size_t i = 0; i < size - header; i++)
        require(file[header + i] == elements[i - i % width + width - 1 - i % width]);
}

static void require_same_when_packed(const uint8_t *bytes, size_t size, joule_status plain_status,
                                     const forge_tensor *plain)
{
    uLong room = compressBound(size) + 32;
    uint8_t *packed = malloc(room);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)bytes,
                  .avail_in = (uInt)size,
                  .next_out = packed,
                  .avail_out = (uInt)room};
    require(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    require(deflate(&z, Z_FINISH) == Z_STREAM_END && deflateEnd(&z) == Z_OK);
    forge_tensor tensor;
    joule_status status = read_as_file(packed, z.total_out, &tensor);
    require(status == plain_status);
    if (status == JOULE_OK) {
        require(forge_shape_equal(&tensor.shape, &plain->shape) && tensor.dtype == plain->dtype);
        require(memcmp(forge_tensor_data(&tensor), forge_tensor_data(plain), size_bytes(plain)) == 0);
        forge_buffer_release(tensor.buffer);
    }
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool is_packed_file = size > 2 && data[1] == 0x1f && data[2] == 0x8b;
    forge_tensor tensor;
    joule_status status = read_as_file(data + 1, size - 1, &tensor);
    require(status == JOULE_OK || status == JOULE_INVALID);
    if (status == JOULE_OK && !is_packed_file)
        require_written_back(&tensor, data + 1, size - 1);
    if (data[0] % 2 && !is_packed_file)
        require_same_when_packed(data + 1, size - 1, status, &tensor);
    if (status == JOULE_OK)
        forge_buffer_release(tensor.buffer);
    return 0;
}
