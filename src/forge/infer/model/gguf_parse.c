/* infer/model/gguf_parse.c - reads the header and the keys with values of GGUF files: see gguf.h. */
#include "forge/infer/model/gguf.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "forge/infer/model/model_reader.h"

enum { HEADER_SIZE = 24, OLDEST_VERSION = 2, NEWEST_VERSION = 3, MAX_KEY = 65535 };
enum { MIN_VALUE_SIZE = 8 + 4 + 1 }; /* bytes of an empty key, a type and the smallest value */

/* Size of a value of each type in bytes; 0: the size depends on the value. */
static const uint8_t type_sizes[GGUF_TYPES] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
};

/* --- bytes ---------------------------------------------------------------------------------------------- */

const char *gguf_take(struct gguf *g, uint64_t size, const char *what)
{
    if (g->status != JOULE_OK)
        return NULL;
    if (size > g->map.size - g->at) {
        gguf_fail(g, JOULE_INVALID, "byte %zu: the file ends in %s, which needs %" PRIu64 " bytes", g->at,
                  what, size);
        return NULL;
    }
    const char *bytes = (const char *)g->map.data + g->at;
    g->at += (size_t)size;
    return bytes;
}

bool gguf_take_string(struct gguf *g, struct bytes *out_string, const char *what)
{
    const char *length = gguf_take(g, 8, what);
    const char *data = length ? gguf_take(g, read_u64(length), what) : NULL;
    if (data)
        *out_string = (struct bytes){data, (size_t)read_u64(length)};
    return data != NULL;
}

/* --- values --------------------------------------------------------------------------------------------- */

/* Skips the items of a value, and sets value->data. */
static void take_items(struct gguf *g, struct gguf_value *value)
{
    static const char what[] = "a value";
    size_t size = type_sizes[value->type];
    struct bytes ignored;
    if (size == 0 && value->count > (g->map.size - g->at) / 8) {
        gguf_fail(g, JOULE_INVALID, "byte %zu: an array of %" PRIu64 " strings is larger than the file",
                  g->at, value->count);
        return;
    }
    value->data = (const char *)g->map.data + g->at;
    if (size > 0)
        gguf_take(g, value->count > UINT64_MAX / 8 ? UINT64_MAX : value->count * size, what);
    else
        for (uint64_t i = 0; i < value->count && gguf_take_string(g, &ignored, what); i++)
            ;
}

static bool is_printable(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            return false;
    return true;
}

static void take_value(struct gguf *g, struct gguf_value *value)
{
    size_t at = g->at;
    if (!gguf_take_string(g, &value->key, "a key"))
        return;
    if (value->key.size > MAX_KEY || !is_printable(value->key)) {
        gguf_fail(g, JOULE_INVALID, "byte %zu: a key has control characters or more than %d bytes", at,
                  MAX_KEY);
        return;
    }
    const char *type = gguf_take(g, 4, "a type");
    value->is_array = type && read_u32(type) == GGUF_ARRAY;
    value->count = 1;
    if (value->is_array) {
        type = gguf_take(g, 4, "a type");
        const char *count = gguf_take(g, 8, "the size of an array");
        value->count = count ? read_u64(count) : 0;
    }
    if (!type || g->status != JOULE_OK)
        return;
    uint32_t number = read_u32(type);
    if (number >= GGUF_TYPES || number == GGUF_ARRAY) {
        gguf_fail(g, JOULE_INVALID, "key '%.*s' has the type %" PRIu32 "%s", (int)value->key.size,
                  value->key.data, number,
                  number == GGUF_ARRAY ? " (an array of arrays), which is not supported"
                                       : ", which is unknown");
        return;
    }
    value->type = (enum gguf_type)number;
    take_items(g, value);
}

static int compare(struct bytes a, struct bytes b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

static int by_key(const void *a, const void *b)
{
    return compare(((const struct gguf_value *)a)->key, ((const struct gguf_value *)b)->key);
}

static void take_values(struct gguf *g, uint64_t count)
{
    if (count > (g->map.size - g->at) / MIN_VALUE_SIZE) {
        gguf_fail(g, JOULE_INVALID, "byte 16: %" PRIu64 " keys are larger than the file", count);
        return;
    }
    g->values = arena_alloc(&g->file->arena, (size_t)count * sizeof *g->values);
    if (!g->values) {
        g->status = model_no_memory(g->path, g->error);
        return;
    }
    for (; g->value_count < count && g->status == JOULE_OK; g->value_count++)
        take_value(g, &g->values[g->value_count]);
    if (g->status != JOULE_OK)
        return;
    qsort(g->values, g->value_count, sizeof *g->values, by_key);
    for (size_t i = 1; i < g->value_count; i++)
        if (by_key(&g->values[i - 1], &g->values[i]) == 0)
            gguf_fail(g, JOULE_INVALID, "key '%.*s' occurs twice", (int)g->values[i].key.size,
                      g->values[i].key.data);
}

/* --- the file ------------------------------------------------------------------------------------------- */

static void take_header(struct gguf *g)
{
    const char *header = gguf_take(g, HEADER_SIZE, "the header");
    if (!header)
        return;
    if (memcmp(header, GGUF_MAGIC, 4) != 0) {
        gguf_fail(g, JOULE_INVALID, "byte 0: not a GGUF file");
        return;
    }
    uint32_t version = read_u32(header + 4);
    if (version < OLDEST_VERSION || version > NEWEST_VERSION) {
        gguf_fail(g, JOULE_UNSUPPORTED, "byte 4: %s %" PRIu32 " is not supported; only 2 and 3 are",
                  version & 0xffff ? "version" : "the big-endian form, or version", version);
        return;
    }
    g->tensor_count = read_u64(header + 8);
    take_values(g, read_u64(header + 16));
}

joule_status gguf_open(struct gguf *g, struct model_file *file, const char *path, joule_error *out_error)
{
    *g = (struct gguf){.file = file, .path = path, .error = out_error};
    g->status = model_file_map(file, path, &g->map, out_error);
    if (g->status == JOULE_OK)
        take_header(g);
    return g->status;
}

/* --- queries -------------------------------------------------------------------------------------------- */

const struct gguf_value *gguf_find(const struct gguf *g, const char *key)
{
    struct gguf_value wanted = {.key = {key, strlen(key)}};
    if (g->status != JOULE_OK || g->value_count == 0)
        return NULL;
    return bsearch(&wanted, g->values, g->value_count, sizeof *g->values, by_key);
}

static bool is_integer(enum gguf_type type)
{
    return type <= GGUF_I32 || type == GGUF_U64 || type == GGUF_I64;
}

int64_t gguf_integer_at(const struct gguf_value *value, uint64_t i)
{
    const char *data = value->data + i * type_sizes[value->type];
    uint64_t bits = 0;
    memcpy(&bits, data, type_sizes[value->type]);
    switch (value->type) {
    case GGUF_I8:
        return (int8_t)bits;
    case GGUF_I16:
        return (int16_t)bits;
    case GGUF_I32:
        return (int32_t)bits;
    case GGUF_U64:
        return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
    default:
        return (int64_t)bits;
    }
}

static bool fail_type(struct gguf *g, const char *key, const char *expected)
{
    gguf_fail(g, JOULE_INVALID, "key '%s' is not %s", key, expected);
    return false;
}

bool gguf_integer(struct gguf *g, const char *key, int64_t *out_value)
{
    const struct gguf_value *value = gguf_find(g, key);
    if (!value)
        return false;
    if (!is_integer(value->type) || value->count == 0)
        return fail_type(g, key, "a whole number");
    int64_t number = gguf_integer_at(value, 0);
    for (uint64_t i = 1; i < value->count; i++)
        if (gguf_integer_at(value, i) != number) {
            gguf_fail(g, JOULE_UNSUPPORTED, "key '%s' has different values for different layers", key);
            return false;
        }
    *out_value = number;
    return true;
}

bool gguf_number(struct gguf *g, const char *key, double *out_value)
{
    const struct gguf_value *value = gguf_find(g, key);
    if (!value)
        return false;
    if (value->is_array || !(is_integer(value->type) || value->type == GGUF_F32 || value->type == GGUF_F64))
        return fail_type(g, key, "a number");
    if (value->type == GGUF_F32)
        *out_value = read_f32(value->data);
    else if (value->type == GGUF_F64)
        memcpy(out_value, value->data, sizeof *out_value);
    else
        *out_value = (double)gguf_integer_at(value, 0);
    return true;
}

bool gguf_flag(struct gguf *g, const char *key, bool *out_value)
{
    const struct gguf_value *value = gguf_find(g, key);
    if (!value)
        return false;
    if (value->is_array || !(is_integer(value->type) || value->type == GGUF_BOOL))
        return fail_type(g, key, "a flag");
    *out_value = gguf_integer_at(value, 0) != 0;
    return true;
}

bool gguf_text(struct gguf *g, const char *key, const char **out_text)
{
    const struct gguf_value *value = gguf_find(g, key);
    if (!value)
        return false;
    if (value->is_array || value->type != GGUF_STRING)
        return fail_type(g, key, "a text");
    size_t size = (size_t)read_u64(value->data);
    if (memchr(value->data + 8, '\0', size))
        return fail_type(g, key, "a text without NUL");
    char *text = arena_copy(&g->file->arena, value->data + 8, size);
    if (text)
        *out_text = text;
    else
        g->status = model_no_memory(g->path, g->error);
    return text != NULL;
}

const struct gguf_value *gguf_array(struct gguf *g, const char *key, enum gguf_type type,
                                    enum gguf_type other)
{
    const struct gguf_value *value = gguf_find(g, key);
    if (!value || (value->is_array && (value->type == type || value->type == other)))
        return value;
    fail_type(g, key, "an array of the expected type");
    return NULL;
}
