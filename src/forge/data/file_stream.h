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

/* Opens a file, which is unpacked if it begins with the magic number of gzip. Members of gzip (RFC 1952) are
 * read as one sequence. `path` is not copied and must stay valid. */
joule_status stream_open(const char *path, struct stream **out_stream, joule_error *out_error);
/* Reads up to `size` bytes; *out_count is smaller only at the end. JOULE_INVALID: the gzip data is damaged;
 * the message names the file and the byte. */
joule_status stream_read(struct stream *stream, void *out_bytes, size_t size, size_t *out_count,
                         joule_error *out_error);
/* Returns a suffix for the offset of a byte in messages: "" or " (unpacked)". Static storage. */
const char *stream_where(const struct stream *stream);
/* Does nothing if stream is NULL. */
void stream_close(struct stream *stream);

#endif
