/* serialize/npy.c - reads .npy files: see <forge/serialize.h>.
 *
 * A file contains a preamble ("\x93NUMPY", version, length of the header), a header, which is a Python
 * literal, and the elements. Elements are converted to little-endian and to row-major order.
 * Note: the parser accepts only what NumPy writes, a dictionary with three members. No Python code is
 * executed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/core/random_access_file.h"
#include "forge/serialize/npy.h"

struct npy {
    struct file file;
    char *text; /* the header, with a terminating NUL */
    size_t text_size, at;
    size_t text_offset; /* offset of the header in the file */
    joule_error *error;
    /* Contents of the header: */
    forge_dtype dtype;
    bool is_big_endian, is_fortran;
    forge_shape shape;
};

const char *npy_dtype_name(forge_dtype dtype)
{
    static const char *const names[] = {
        [FORGE_BOOL] = "b1", [FORGE_U8] = "u1",  [FORGE_U16] = "u2", [FORGE_U32] = "u4",
        [FORGE_U64] = "u8",  [FORGE_I8] = "i1",  [FORGE_I16] = "i2", [FORGE_I32] = "i4",
        [FORGE_I64] = "i8",  [FORGE_F16] = "f2", [FORGE_F32] = "f4", [FORGE_F64] = "f8",
    };
    return (size_t)dtype < sizeof names / sizeof *names ? names[dtype] : NULL;
}

static joule_status fail(const struct npy *npy, size_t at, joule_status status, const char *what)
{
    return error_set(npy->error, status, "%s: byte %zu: %s", npy->file.path, npy->text_offset + at, what);
}

/* --- the literal ---------------------------------------------------------------------------------------- */

static void skip_space(struct npy *npy)
{
    npy->at += strspn(npy->text + npy->at, " \t\r\n");
}

static bool accept_text(struct npy *npy, const char *word)
{
    skip_space(npy);
    size_t length = strlen(word);
    if (strncmp(npy->text + npy->at, word, length) != 0)
        return false;
    npy->at += length;
    return true;
}

/* Parses a string in single or double quotes, of at most size - 1 bytes and without backslash. Returns false
 * if there is none. */
static bool parse_string(struct npy *npy, char *out, size_t size)
{
    skip_space(npy);
    char quote = npy->text[npy->at];
    if (quote != '\'' && quote != '"')
        return false;
    const char *begin = npy->text + npy->at + 1, *end = strchr(begin, quote);
    if (!end || (size_t)(end - begin) >= size || memchr(begin, '\\', (size_t)(end - begin)))
        return false;
    memcpy(out, begin, (size_t)(end - begin));
    out[end - begin] = '\0';
    npy->at += (size_t)(end - begin) + 2;
    return true;
}

/* Parses a number. Python 2 wrote long numbers with a suffix L. Returns false if there is none. */
static bool parse_dim(struct npy *npy, forge_dim *out)
{
    skip_space(npy);
    const char *begin = npy->text + npy->at, *at = begin;
    forge_dim value = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *at - '0', &value))
            return false;
    if (at == begin)
        return false;
    npy->at += (size_t)(at - begin) + (*at == 'L');
    *out = value;
    return true;
}

/* --- members -------------------------------------------------------------------------------------------- */

static joule_status read_descr(struct npy *npy)
{
    char descr[16] = "";
    size_t at = npy->at;
    if (!parse_string(npy, descr, sizeof descr))
        return fail(npy, at, JOULE_UNSUPPORTED,
                    "'descr' is not the name of a plain type; arrays of structures are not supported");
    bool has_order = *descr && strchr("<>|=", *descr);
    npy->is_big_endian = *descr == '>';
    for (int i = FORGE_BOOL; i <= FORGE_F64; i++) {
        const char *name = npy_dtype_name((forge_dtype)i);
        npy->dtype = (forge_dtype)i;
        if (name && strcmp(name, descr + has_order) == 0)
            return JOULE_OK;
    }
    return error_set(
        npy->error, JOULE_UNSUPPORTED,
        "%s: byte %zu: elements of type '%s' are not supported; supported: bool, and integers and "
        "floats of 1 to 8 bytes",
        npy->file.path, npy->text_offset + at, descr);
}

static joule_status read_order(struct npy *npy)
{
    size_t at = npy->at;
    npy->is_fortran = accept_text(npy, "True");
    return npy->is_fortran || accept_text(npy, "False")
               ? JOULE_OK
               : fail(npy, at, JOULE_INVALID, "'fortran_order' is neither True nor False");
}

/* Parses a tuple such as (), (3,) or (3, 4). A tuple of one size must have a comma. */
static joule_status read_shape(struct npy *npy)
{
    size_t at = npy->at;
    bool has_comma = true;
    if (!accept_text(npy, "("))
        return fail(npy, at, JOULE_INVALID, "'shape' is not a tuple");
    while (!accept_text(npy, ")")) {
        if (npy->shape.rank == FORGE_MAX_RANK)
            return fail(npy, at, JOULE_UNSUPPORTED, "the array has more than 8 dimensions");
        if (!has_comma || !parse_dim(npy, &npy->shape.dims[npy->shape.rank++]))
            return fail(npy, npy->at, JOULE_INVALID, "'shape' is not a tuple of sizes here");
        has_comma = accept_text(npy, ",");
    }
    return npy->shape.rank == 1 && !has_comma
               ? fail(npy, at, JOULE_INVALID, "'shape' is a number, not a tuple")
               : JOULE_OK;
}

static joule_status read_members(struct npy *npy)
{
    static const struct {
        const char *name;
        joule_status (*read)(struct npy *npy);
    } members[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
    unsigned seen = 0;
    bool has_comma = true;
    char name[16];
    while (!accept_text(npy, "}")) {
        size_t i = 0, at = npy->at;
        if (!has_comma || !parse_string(npy, name, sizeof name) || !accept_text(npy, ":"))
            return fail(npy, at, JOULE_INVALID, "the header is not a dictionary here");
        while (i < 3 && strcmp(members[i].name, name) != 0)
            i++;
        if (i == 3 || (seen & 1u << i))
            return fail(npy, at, JOULE_INVALID, "the header contains a member twice, or an unknown member");
        joule_status status = members[i].read(npy);
        if (status != JOULE_OK)
            return status;
        seen |= 1u << i;
        has_comma = accept_text(npy, ",");
    }
    return seen == 7 ? JOULE_OK
                     : fail(npy, 0, JOULE_INVALID, "the header lacks descr, fortran_order or shape");
}

/* --- the file ------------------------------------------------------------------------------------------- */

/* Reads the preamble, and sets the offset and the size of the header. */
static joule_status read_preamble(struct npy *npy)
{
    uint8_t bytes[NPY_PREAMBLE_SIZE + 4] = {0};
    if (npy->file.size < NPY_PREAMBLE_SIZE + 2)
        return error_set(npy->error, JOULE_INVALID,
                         "%s: byte %" PRIu64 ": the file ends before the header of an .npy file",
                         npy->file.path, npy->file.size);
    size_t available = npy->file.size < sizeof bytes ? NPY_PREAMBLE_SIZE + 2 : sizeof bytes;
    joule_status status = file_read(&npy->file, 0, bytes, available, npy->error);
    if (status != JOULE_OK)
        return status;
    if (memcmp(bytes, NPY_MAGIC, sizeof NPY_MAGIC - 1) != 0)
        return fail(npy, 0, JOULE_INVALID, "no \\x93NUMPY: this is not an .npy file");
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return error_set(npy->error, JOULE_UNSUPPORTED,
                         "%s: byte 6: version %u.%u is not supported; supported versions: 1.0, 2.0, 3.0",
                         npy->file.path, bytes[6], bytes[7]);
    size_t width = bytes[6] == 1 ? 2 : 4;
    npy->text_offset = NPY_PREAMBLE_SIZE + width;
    for (size_t i = width; i-- > 0;)
        npy->text_size = npy->text_size << 8 | bytes[NPY_PREAMBLE_SIZE + i];
    if (npy->text_offset > npy->file.size || npy->text_size > npy->file.size - npy->text_offset ||
        npy->text_size > NPY_MAX_HEADER)
        return error_set(npy->error, JOULE_INVALID,
                         "%s: byte 8: a header of %zu bytes in a file of %" PRIu64
                         " bytes; the maximum is %u",
                         npy->file.path, npy->text_size, npy->file.size, NPY_MAX_HEADER);
    return JOULE_OK;
}

static joule_status read_header(struct npy *npy)
{
    joule_status status = read_preamble(npy);
    if (status != JOULE_OK)
        return status;
    npy->text = calloc(1, npy->text_size + 1);
    if (!npy->text)
        return fail(npy, 0, JOULE_NO_MEMORY, "cannot read the header: out of memory");
    status = file_read(&npy->file, npy->text_offset, npy->text, npy->text_size, npy->error);
    if (status != JOULE_OK)
        return status;
    if (!accept_text(npy, "{"))
        return fail(npy, npy->at, JOULE_INVALID, "the header is not a dictionary");
    status = read_members(npy);
    skip_space(npy);
    if (status == JOULE_OK && npy->at != npy->text_size)
        return fail(npy, npy->at, JOULE_INVALID, "the header continues after its dictionary");
    return status;
}

static joule_status check_size(const struct npy *npy)
{
    char shape[200];
    uint64_t available = npy->file.size - npy->text_offset - npy->text_size;
    size_t elements = forge_shape_elements(&npy->shape);
    size_t wanted = elements < SIZE_MAX ? forge_dtype_size_bytes(npy->dtype, elements) : SIZE_MAX;
    if (wanted == available)
        return JOULE_OK;
    forge_shape_format(&npy->shape, shape, sizeof shape);
    return error_set(npy->error, JOULE_INVALID,
                     "%s: byte %zu: the header describes %s%s, but %" PRIu64 " bytes follow", npy->file.path,
                     npy->text_offset + npy->text_size, forge_dtype_name(npy->dtype), shape, available);
}

/* --- elements ------------------------------------------------------------------------------------------- */

static void reverse_bytes(uint8_t *bytes, size_t count, size_t width)
{
    for (; count-- > 0; bytes += width)
        for (size_t i = 0; i < width / 2; i++) {
            uint8_t first = bytes[i];
            bytes[i] = bytes[width - 1 - i];
            bytes[width - 1 - i] = first;
        }
}

joule_status npy_pack(const forge_tensor *tensor, forge_tensor *out_packed, joule_error *out_error)
{
    joule_status status = forge_tensor_new(tensor->dtype, &tensor->shape, out_packed, out_error);
    if (status != JOULE_OK)
        return status;
    size_t count = forge_tensor_elements(tensor), width = forge_dtype_block_bytes(tensor->dtype);
    char *to = forge_tensor_data(out_packed);
    const char *from = forge_tensor_data(tensor);
    forge_dim index[FORGE_MAX_RANK] = {0};
    for (; count-- > 0; to += width) {
        memcpy(to, from, width);
        for (uint32_t i = tensor->shape.rank; i-- > 0;) {
            int64_t step = tensor->strides[i] * (int64_t)width;
            from += step;
            if (++index[i] < tensor->shape.dims[i])
                break;
            from -= step * index[i];
            index[i] = 0;
        }
    }
    return JOULE_OK;
}

/* Replaces a tensor whose elements are in column-major order by a copy in row-major order. Releases the old
 * buffer, also on failure. */
static joule_status reorder(forge_tensor *tensor, joule_error *error)
{
    forge_tensor strided = *tensor;
    int64_t stride = 1;
    for (uint32_t i = 0; i < strided.shape.rank; stride *= strided.shape.dims[i++])
        strided.strides[i] = stride;
    joule_status status = npy_pack(&strided, tensor, error);
    forge_buffer_release(strided.buffer);
    return status;
}

static joule_status read_array(const struct npy *npy, forge_tensor *out_tensor)
{
    forge_tensor tensor;
    joule_status status = forge_tensor_new(npy->dtype, &npy->shape, &tensor, npy->error);
    if (status != JOULE_OK)
        return status;
    size_t count = forge_tensor_elements(&tensor), width = forge_dtype_block_bytes(npy->dtype);
    status = file_read(&npy->file, npy->text_offset + npy->text_size, forge_tensor_data(&tensor),
                       count * width, npy->error);
    if (status != JOULE_OK) {
        forge_buffer_release(tensor.buffer);
        return status;
    }
    if (npy->is_big_endian)
        reverse_bytes(forge_tensor_data(&tensor), count, width);
    if (npy->is_fortran && count > 1)
        status = reorder(&tensor, npy->error);
    if (status == JOULE_OK)
        *out_tensor = tensor;
    return status;
}

joule_status forge_npy_read(const char *path, forge_tensor *out_tensor, joule_error *out_error)
{
    struct npy npy = {.error = out_error};
    if (!path || !out_tensor)
        return error_set(out_error, JOULE_INVALID, "forge_npy_read: %s is NULL",
                         path ? "out_tensor" : "path");
    joule_status status = file_open(&npy.file, path, out_error);
    if (status != JOULE_OK)
        return status;
    status = read_header(&npy);
    if (status == JOULE_OK)
        status = check_size(&npy);
    if (status == JOULE_OK)
        status = read_array(&npy, out_tensor);
    free(npy.text);
    file_close(&npy.file);
    return status;
}
