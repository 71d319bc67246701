/* data/file_stream.c - see file_stream.h.
 *
 * Plain and packed files use the same input buffer, so only one function reads from the file.
 * Note: inflate may still have output when the end of the file has been read. The file is truncated only if
 * inflate then makes no progress.
 */
#include "forge/data/file_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "base/error.h"
#include "base/file.h"

enum {
    INPUT_SIZE = 1 << 16,
    GZIP_MAGIC_1 = 0x1f,
    GZIP_MAGIC_2 = 0x8b,
    GZIP_ONLY = 16 + MAX_WBITS, /* for inflateInit2: accept only gzip data, not raw deflate or zlib data */
};

struct stream {
    const char *path;
    int fd;
    bool is_at_end; /* the whole file was read; bytes that are not used yet are in `input` */
    bool is_packed;
    bool is_in_member;  /* packed files only: the next byte belongs to a member that has begun and has not
                         * ended */
    z_stream z;         /* next_in and avail_in: unused bytes of `input`, also for plain files */
    uint64_t read_size; /* bytes that were read from the file */
    uint8_t input[INPUT_SIZE];
};

/* Returns the offset in the file of the next byte that will be used. */
static uint64_t file_offset(const struct stream *stream)
{
    return stream->read_size - stream->z.avail_in;
}

/* Reads until the input buffer is full or the file ends. The buffer must be empty. */
static joule_status fill(struct stream *stream, joule_error *out_error)
{
    size_t count = 0;
    while (count < INPUT_SIZE && !stream->is_at_end) {
        ssize_t step = TEMP_FAILURE_RETRY(read(stream->fd, stream->input + count, INPUT_SIZE - count));
        if (step < 0)
            return error_set(out_error, status_of_errno(errno), "%s: cannot read byte %" PRIu64 ": %s",
                             stream->path, stream->read_size, strerror(errno));
        stream->is_at_end = step == 0;
        count += (size_t)step;
        stream->read_size += (uint64_t)step;
    }
    stream->z.next_in = stream->input;
    stream->z.avail_in = (uInt)count;
    return JOULE_OK;
}

/* Reads the first bytes and detects whether the file is packed. */
static joule_status detect_kind(struct stream *stream, joule_error *out_error)
{
    joule_status status = fill(stream, out_error);
    if (status != JOULE_OK || stream->z.avail_in < 2 || stream->input[0] != GZIP_MAGIC_1 ||
        stream->input[1] != GZIP_MAGIC_2)
        return status;
    if (inflateInit2(&stream->z, GZIP_ONLY) != Z_OK)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot unpack %s: out of memory", stream->path);
    stream->is_packed = true;
    stream->is_in_member = true;
    return JOULE_OK;
}

joule_status stream_open(const char *path, struct stream **out_stream, joule_error *out_error)
{
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
    stream->path = path;
    stream->fd = file_open_kind(path, FILE_REGULAR | FILE_PIPE);
    joule_status status = stream->fd >= 0 ? detect_kind(stream, out_error)
                          : stream->fd == -EISDIR
                              ? error_set(out_error, JOULE_INVALID, "%s is a folder, not a file", path)
                          : stream->fd == -EOPNOTSUPP
                              ? error_set(out_error, JOULE_UNSUPPORTED, "%s is a device, not a file", path)
                              : error_set(out_error, status_of_errno(-stream->fd), "cannot open %s: %s", path,
                                          strerror(-stream->fd));
    if (status != JOULE_OK) {
        stream_close(stream);
        return status;
    }
    *out_stream = stream;
    return JOULE_OK;
}

static joule_status begin_member(struct stream *stream, joule_error *out_error)
{
    if (stream->z.next_in[0] != GZIP_MAGIC_1)
        return error_set(out_error, JOULE_INVALID,
                         "%s: byte %" PRIu64 ": the gzip data ends here, but the file has more bytes",
                         stream->path, file_offset(stream));
    inflateReset(&stream->z);
    stream->is_in_member = true;
    return JOULE_OK;
}

/* Unpacks at most `size` bytes from `input`. *out_count may be 0 although more bytes follow. */
static joule_status unpack(struct stream *stream, uint8_t *out_bytes, size_t size, size_t *out_count,
                           joule_error *out_error)
{
    uInt room = size < UINT_MAX ? (uInt)size : UINT_MAX;
    stream->z.next_out = out_bytes;
    stream->z.avail_out = room;
    int result = inflate(&stream->z, Z_NO_FLUSH);
    *out_count = room - stream->z.avail_out;
    switch (result) {
    case Z_OK:
        return JOULE_OK;
    case Z_STREAM_END:
        stream->is_in_member = false;
        return JOULE_OK;
    case Z_BUF_ERROR: /* the output has space, so input is missing: the file has ended */
        return error_set(out_error, JOULE_INVALID,
                         "%s: byte %" PRIu64
                         ": the file ends in the middle of gzip data, before its checksum; download it again",
                         stream->path, file_offset(stream));
    case Z_MEM_ERROR:
        return error_set(out_error, JOULE_NO_MEMORY, "cannot unpack %s: out of memory", stream->path);
    default:
        return error_set(out_error, JOULE_INVALID,
                         "%s: before byte %" PRIu64 ": invalid gzip data: %s; download the file again",
                         stream->path, file_offset(stream),
                         stream->z.msg ? stream->z.msg : "no reason given");
    }
}

static void take_plain(struct stream *stream, uint8_t *out_bytes, size_t size, size_t *out_count)
{
    *out_count = size < stream->z.avail_in ? size : stream->z.avail_in;
    memcpy(out_bytes, stream->z.next_in, *out_count);
    stream->z.next_in += *out_count;
    stream->z.avail_in -= (uInt)*out_count;
}

joule_status stream_read(struct stream *stream, void *out_bytes, size_t size, size_t *out_count,
                         joule_error *out_error)
{
    joule_status status = JOULE_OK;
    size_t count = 0;
    while (status == JOULE_OK && count < size) {
        uint8_t *bytes = (uint8_t *)out_bytes + count;
        size_t step = 0;
        if (stream->z.avail_in == 0)
            status = fill(stream, out_error);
        if (stream->z.avail_in == 0 && !stream->is_in_member)
            break;
        if (status == JOULE_OK && stream->is_packed && !stream->is_in_member)
            status = begin_member(stream, out_error);
        if (status == JOULE_OK && stream->is_packed)
            status = unpack(stream, bytes, size - count, &step, out_error);
        else if (status == JOULE_OK)
            take_plain(stream, bytes, size - count, &step);
        count += step;
    }
    *out_count = count;
    return status;
}

const char *stream_where(const struct stream *stream)
{
    return stream->is_packed ? " (unpacked)" : "";
}

void stream_close(struct stream *stream)
{
    if (!stream)
        return;
    if (stream->is_packed)
        inflateEnd(&stream->z);
    if (stream->fd >= 0)
        close(stream->fd);
    free(stream);
}
