/* serialize/npy_write.c - writes .npy files: see <forge/serialize.h>. */
#include <inttypes.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/core/random_access_file.h"
#include "forge/serialize/npy.h"

enum { PREAMBLE_AND_LENGTH = NPY_PREAMBLE_SIZE + 2 };

/* Writes preamble and header to `out`, padded with spaces and a newline so that the data is aligned. Returns
 * the number of bytes. */
static size_t make_header(const forge_tensor *tensor, char *out, size_t size)
{
    size_t width = forge_dtype_block_bytes(tensor->dtype);
    struct text text;
    text_init(&text, out, size);
    text_add_bytes(&text, NPY_MAGIC "\1\0\0\0", PREAMBLE_AND_LENGTH);
    text_printf(&text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", width > 1 ? '<' : '|',
                npy_dtype_name(tensor->dtype));
    for (uint32_t i = 0; i < tensor->shape.rank; i++)
        text_printf(&text, "%s%" PRId64, i ? ", " : "", tensor->shape.dims[i]);
    text_add(&text, tensor->shape.rank == 1 ? ",), }" : "), }");
    while ((text.length + 1) % NPY_ALIGNMENT)
        text_add(&text, " ");
    text_add(&text, "\n");
    size_t length = text.length - PREAMBLE_AND_LENGTH;
    out[NPY_PREAMBLE_SIZE] = (char)(length & 0xff);
    out[NPY_PREAMBLE_SIZE + 1] = (char)(length >> 8);
    return text.length;
}

joule_status forge_npy_write(const char *path, const forge_tensor *tensor, joule_error *out_error)
{
    char header[512]; /* enough for eight sizes of 19 digits */
    if (!path || !tensor)
        return error_set(out_error, JOULE_INVALID, "forge_npy_write: %s is NULL", path ? "tensor" : "path");
    if (!npy_dtype_name(tensor->dtype))
        return error_set(out_error, JOULE_UNSUPPORTED, "%s: NumPy has no type %s; convert the tensor first",
                         path, forge_dtype_name(tensor->dtype));
    forge_tensor packed = *tensor;
    struct draft draft;
    joule_status status = forge_tensor_is_packed(tensor) ? JOULE_OK : npy_pack(tensor, &packed, out_error);
    if (status != JOULE_OK)
        return status;
    draft_begin(&draft, path, out_error);
    draft_write(&draft, header, make_header(&packed, header, sizeof header));
    draft_write(&draft, forge_tensor_data(&packed),
                forge_dtype_size_bytes(packed.dtype, forge_tensor_elements(&packed)));
    status = draft_end(&draft, JOULE_OK);
    if (packed.buffer != tensor->buffer)
        forge_buffer_release(packed.buffer);
    return status;
}
