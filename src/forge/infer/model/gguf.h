/* infer/model/gguf.h - an open GGUF file: its keys and values, for the readers of settings and vocabularies.
 *
 * A file contains a header, keys with values, descriptions of tensors, and the tensors' data. All numbers
 * are little-endian and without alignment.
 */
#ifndef FORGE_INFER_GGUF_H
#define FORGE_INFER_GGUF_H

#include "base/error.h"
#include "forge/infer/model/model_file.h"

#define GGUF_MAGIC             "GGUF"
#define GGUF_DEFAULT_ALIGNMENT 32
#define GGUF_MAX_NAME          64 /* bytes of a tensor's name */

/* Types of values. The numbers are those in files. */
enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPES
};

/* A value. All pointers point into the map. */
struct gguf_value {
    struct bytes key;
    enum gguf_type type; /* type of the value, or of an array's items; never GGUF_ARRAY */
    bool is_array;
    uint64_t count;   /* number of items; 1 if the value is not an array */
    const char *data; /* the items; a string is a u64 length and its bytes */
};

/* An open file. After the first failure `status` is set, and functions that take a `gguf` return
 * "absent". A model may be split into several files: its first part has the keys, and each part has
 * tensors. */
struct gguf {
    struct model_file *file;
    const char *path;
    struct model_map map;
    size_t at;                 /* offset of the next unread byte */
    struct gguf_value *values; /* sorted by key */
    size_t value_count;
    uint64_t tensor_count;
    struct gguf *next; /* the next part of the model, in the arena of `file`; NULL: none */
    joule_status status;
    joule_error *error;
};

/* Sets the status and the message "cannot read PATH: ...", unless the file has failed before. Returns the
 * file's status. */
#define gguf_fail(gguf, reason, format, ...)                                                                 \
    ((gguf)->status != JOULE_OK                                                                              \
         ? (gguf)->status                                                                                    \
         : ((gguf)->status =                                                                                 \
                error_set((gguf)->error, reason, "cannot read %s: " format, (gguf)->path, ##__VA_ARGS__)))

/* Maps the file, and reads the header, all keys and all values. Sets everything in `gguf`. */
joule_status gguf_open(struct gguf *gguf, struct model_file *file, const char *path, joule_error *out_error);
/* Returns the next `size` bytes of the file. If fewer bytes are left, returns NULL with the message that the
 * file ends in `what`. */
const char *gguf_take(struct gguf *gguf, uint64_t size, const char *what);
/* Reads a string: a u64 length and its bytes. If the file ends before, returns false with the message that
 * the file ends in `what`. */
bool gguf_take_string(struct gguf *gguf, struct bytes *out_string, const char *what);

/* Returns the value of a key, or NULL. */
const struct gguf_value *gguf_find(const struct gguf *gguf, const char *key);
/* Return the value of a key. If the key is absent, return false and do not change *out_value. If the value
 * has another type, the file also fails. Integers may have any width. gguf_integer also accepts an array of
 * equal integers. gguf_flag accepts integers, too. gguf_text returns a copy in the arena. */
bool gguf_integer(struct gguf *gguf, const char *key, int64_t *out_value);
bool gguf_number(struct gguf *gguf, const char *key, double *out_value);
bool gguf_flag(struct gguf *gguf, const char *key, bool *out_value);
bool gguf_text(struct gguf *gguf, const char *key, const char **out_text);
/* Returns the array of a key, if its items have the type `type` or `other`. Returns NULL if the key is
 * absent; also, with a failure, if the value has another type. */
const struct gguf_value *gguf_array(struct gguf *gguf, const char *key, enum gguf_type type,
                                    enum gguf_type other);
/* Returns item `i` of an array of integers as a signed number. Unsigned numbers above INT64_MAX become
 * INT64_MAX. */
int64_t gguf_integer_at(const struct gguf_value *value, uint64_t i);

/* Opens the other parts of a model whose first part is `gguf`, and sets `next` of all parts. Does nothing if
 * the model is one file. Fails if a part is missing, or if the parts contradict each other; the message names
 * the part. */
joule_status gguf_open_parts(struct gguf *gguf);
/* Reads the descriptions of the tensors of all parts. Checks that the data of the tensors are aligned, within
 * their file, and do not overlap. A failure of a part is also a failure of `gguf`. */
joule_status gguf_read_tensors(struct gguf *gguf);
/* Reads the vocabulary. Its count remains 0 if the file has none. */
joule_status gguf_get_vocabulary(struct gguf *gguf);

/* Returns the number of an element type in files, or -1 if files cannot contain it. */
int gguf_dtype_number(forge_dtype dtype);

#endif
