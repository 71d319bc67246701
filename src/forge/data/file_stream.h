/* data/file_stream.h - reads the bytes of a file, plain or unpacked from gzip.
 *
 * Note: read until a call returns fewer bytes than requested. Only then is the end of the file reached, and
 * only then is the checksum of gzip data verified, because it follows the last byte.
 */
#ifndef FORGE_DATA_FILE_STREAM_H
#define FORGE_DATA_FILE_STREAM_H

#include <stddef.h>
#include <joule/base.h>

struct stream;

/* Opens a file. If it begins with the magic number of gzip, stream_read unpacks it; several gzip members (RFC
 * 1952) are read as one sequence. `path` is not copied and must stay valid. Close with stream_close. */
joule_status stream_open(const char *path, struct stream **out_stream, joule_error *out_error);
/* Reads up to `size` bytes; *out_count is smaller only at the end of the file. Returns JOULE_INVALID if the
 * gzip data is damaged; the message names the file and the byte. */
joule_status stream_read(struct stream *stream, void *out_bytes, size_t size, size_t *out_count,
                         joule_error *out_error);
/* Returns the text that follows a byte's offset in messages: " (unpacked)" for gzip data, otherwise "".
 * Static storage. */
const char *stream_where(const struct stream *stream);
/* Closes the file and frees the stream. Does nothing if `stream` is NULL. */
void stream_close(struct stream *stream);

#endif
