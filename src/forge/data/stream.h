/* data/stream.h - the bytes of a file, as they are or unpacked from gzip.
 *
 * Owns opening, reading, and finding out what is wrong with compressed data. What the bytes mean is the reader's.
 * Newcomers: the end of the file is seen only by reading on until fewer bytes come than were asked for; the checksum of
 * gzip data stands behind its last byte and is not looked at before.
 */
#ifndef FORGE_DATA_STREAM_H
#define FORGE_DATA_STREAM_H

#include <stddef.h>
#include <joule/base.h>

struct stream;

/* Compressed is what begins with the magic number of gzip; its members (RFC 1952) follow each other as one. `path` is
 * not copied. */
joule_status stream_open(const char *path, struct stream **out_stream, joule_error *out_error);
/* *out_count is below `size` only at the end. INVALID names the file, and the byte of it where its gzip data is bad. */
joule_status stream_read(struct stream *stream, void *out_bytes, size_t size, size_t *out_count,
                         joule_error *out_error);
/* What a message says behind the number of a byte that was read: "" or " (unpacked)". Static storage. */
const char *stream_where(const struct stream *stream);
/* NULL is allowed. */
void stream_close(struct stream *stream);

#endif
