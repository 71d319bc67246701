/* data/idx.c - reads arrays from IDX files.
 *
 * A file has a header and then the elements, all in big-endian order. The header is two bytes 0, one byte for
 * the type, one byte for the rank, and four bytes for each size.
 * Note: the header is not trusted. Memory grows with the number of bytes read, and is at most twice this
 * number.
 */
#include <forge/data.h>
#include "base/error.h"
#include "forge/data/file_stream.h"

#include <inttypes.h>
#include <string.h>

enum {
    WORD_SIZE = 4, /* bytes of the magic number, and of each dimension */
    FIRST_PIECE_SIZE = 1 << 16,
    SHAPE_TEXT_SIZE = 128, /* bytes; enough for eight numbers of ten digits */
};

struct idx {
    const char *path;
    struct stream *stream;
    forge_dtype dtype;
    forge_shape shape;
    size_t header_size, size_bytes; /* header_size: bytes of the header that were read; size_bytes: of all
                                     * elements */
};

static uint32_t load_big_endian(const uint8_t bytes[4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static forge_dtype dtype_of_code(uint8_t code)
{
    switch (code) {
    case 0x08:
        return FORGE_U8;
    case 0x09:
        return FORGE_I8;
    case 0x0b:
        return FORGE_I16;
    case 0x0c:
        return FORGE_I32;
    case 0x0d:
        return FORGE_F32;
    case 0x0e:
        return FORGE_F64;
    default:
        return FORGE_DTYPE_NONE;
    }
}

/* Reads the next `size` bytes of the header. */
static joule_status read_header_bytes(struct idx *idx, uint8_t *out_bytes, size_t size,
                                      joule_error *out_error)
{
    size_t count;
    joule_status status = stream_read(idx->stream, out_bytes, size, &count, out_error);
    if (status == JOULE_OK && count < size)
        return error_set(
            out_error, JOULE_INVALID,
            "%s: byte %zu%s: the file ends in the header of an IDX file, which has %zu bytes or more",
            idx->path, idx->header_size + count, stream_where(idx->stream), idx->header_size + size);
    idx->header_size += size;
    return status;
}

static joule_status read_magic(struct idx *idx, joule_error *out_error)
{
    uint8_t magic[WORD_SIZE];
    const char *where = stream_where(idx->stream);
    joule_status status = read_header_bytes(idx, magic, sizeof magic, out_error);
    if (status != JOULE_OK)
        return status;
    if (magic[0] != 0 || magic[1] != 0)
        return error_set(out_error, JOULE_INVALID,
                         "%s: byte 0%s: %02x%02x where an IDX file has 0000; this is not an IDX file",
                         idx->path, where, magic[0], magic[1]);
    idx->dtype = dtype_of_code(magic[2]);
    if (idx->dtype == FORGE_DTYPE_NONE)
        return error_set(out_error, JOULE_INVALID,
                         "%s: byte 2%s: unknown element type %02x; IDX has 08, 09, 0b, 0c, 0d and 0e",
                         idx->path, where, magic[2]);
    if (magic[3] == 0 || magic[3] > FORGE_MAX_RANK)
        return error_set(out_error, JOULE_INVALID, "%s: byte 3%s: %u dimensions where 1 to %d are expected",
                         idx->path, where, magic[3], FORGE_MAX_RANK);
    idx->shape.rank = magic[3];
    return JOULE_OK;
}

static joule_status read_header(struct idx *idx, joule_error *out_error)
{
    uint8_t dims[FORGE_MAX_RANK * WORD_SIZE];
    joule_status status = read_magic(idx, out_error);
    if (status == JOULE_OK)
        status = read_header_bytes(idx, dims, idx->shape.rank * WORD_SIZE, out_error);
    if (status != JOULE_OK)
        return status;
    for (uint32_t i = 0; i < idx->shape.rank; i++)
        idx->shape.dims[i] = load_big_endian(dims + i * WORD_SIZE);

    size_t elements = forge_shape_elements(&idx->shape);
    idx->size_bytes = elements < SIZE_MAX ? forge_dtype_size_bytes(idx->dtype, elements) : SIZE_MAX;
    if (idx->size_bytes > PTRDIFF_MAX) {
        char shape[SHAPE_TEXT_SIZE];
        forge_shape_format(&idx->shape, shape, sizeof shape);
        return error_set(out_error, JOULE_INVALID, "%s: byte %d%s: sizes %s exceed the address space",
                         idx->path, WORD_SIZE, stream_where(idx->stream), shape);
    }
    return JOULE_OK;
}

/* Moves the elements that were read to a buffer of twice the size, but at most of the size of all
 * elements. */
static joule_status grow(const struct idx *idx, forge_buffer **buffer, joule_error *out_error)
{
    size_t have = *buffer ? forge_buffer_size_bytes(*buffer) : 0;
    size_t step = have > FIRST_PIECE_SIZE ? have : FIRST_PIECE_SIZE;
    size_t missing = idx->size_bytes - have;
    forge_buffer *larger;
    joule_status status = forge_buffer_new(have + (step < missing ? step : missing), &larger, out_error);
    if (status != JOULE_OK)
        return status;
    if (have > 0)
        memcpy(forge_buffer_data(larger), forge_buffer_data(*buffer), have);
    forge_buffer_release(*buffer);
    *buffer = larger;
    return JOULE_OK;
}

static joule_status report_truncated(const struct idx *idx, size_t have, joule_error *out_error)
{
    char shape[SHAPE_TEXT_SIZE];
    forge_shape_format(&idx->shape, shape, sizeof shape);
    return error_set(
        out_error, JOULE_INVALID,
        "%s: byte %zu%s: the file ends after %zu bytes of elements; its header (%s%s) requires %zu",
        idx->path, idx->header_size + have, stream_where(idx->stream), have, forge_dtype_name(idx->dtype),
        shape, idx->size_bytes);
}

/* Reads all elements. The caller releases *buffer, also after an error. */
static joule_status read_elements(const struct idx *idx, forge_buffer **buffer, joule_error *out_error)
{
    size_t have = 0;
    do {
        joule_status status = grow(idx, buffer, out_error);
        if (status != JOULE_OK)
            return status;
        size_t wanted = forge_buffer_size_bytes(*buffer) - have, count;
        status =
            stream_read(idx->stream, (char *)forge_buffer_data(*buffer) + have, wanted, &count, out_error);
        if (status != JOULE_OK)
            return status;
        have += count;
        if (count < wanted)
            return report_truncated(idx, have, out_error);
    } while (have < idx->size_bytes);
    return JOULE_OK;
}

/* Checks that the file ends here. Reading the end also verifies the checksum of a packed file. */
static joule_status expect_end(const struct idx *idx, joule_error *out_error)
{
    uint8_t byte;
    size_t count;
    joule_status status = stream_read(idx->stream, &byte, 1, &count, out_error);
    if (status != JOULE_OK || count == 0)
        return status;
    char shape[SHAPE_TEXT_SIZE];
    forge_shape_format(&idx->shape, shape, sizeof shape);
    return error_set(out_error, JOULE_INVALID,
                     "%s: byte %zu%s: the file should end here, after %s%s, but has more bytes", idx->path,
                     idx->header_size + idx->size_bytes, stream_where(idx->stream),
                     forge_dtype_name(idx->dtype), shape);
}

static void reverse_elements(uint8_t *bytes, size_t size_bytes, size_t element_bytes)
{
    for (uint8_t *end = bytes + size_bytes; bytes < end; bytes += element_bytes)
        for (size_t low = 0, high = element_bytes - 1; low < high; low++, high--) {
            uint8_t byte = bytes[low];
            bytes[low] = bytes[high];
            bytes[high] = byte;
        }
}

static joule_status read_array(struct idx *idx, forge_tensor *out_tensor, joule_error *out_error)
{
    forge_buffer *buffer = NULL;
    joule_status status = read_header(idx, out_error);
    if (status == JOULE_OK)
        status = read_elements(idx, &buffer, out_error);
    if (status == JOULE_OK)
        status = expect_end(idx, out_error);
    if (status == JOULE_OK) {
        reverse_elements(forge_buffer_data(buffer), idx->size_bytes, forge_dtype_size_bytes(idx->dtype, 1));
        status = forge_tensor_view(buffer, 0, idx->dtype, &idx->shape, out_tensor, out_error);
    }
    if (status != JOULE_OK)
        forge_buffer_release(buffer);
    return status;
}

joule_status forge_idx_read(const char *path, forge_tensor *out_tensor, joule_error *out_error)
{
    if (!path || !out_tensor)
        return error_set(out_error, JOULE_INVALID, "forge_idx_read: %s is NULL",
                         path ? "out_tensor" : "path");
    struct idx idx = {.path = path};
    joule_status status = stream_open(path, &idx.stream, out_error);
    if (status == JOULE_OK)
        status = read_array(&idx, out_tensor, out_error);
    stream_close(idx.stream);
    return status;
}
