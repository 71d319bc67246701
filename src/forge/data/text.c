/* data/text.c - reads text as tokens, and makes datasets whose examples are windows of tokens.
 *
 * Windows are views of the tokens and overlap in memory. So one window for each token needs no extra memory.
 */
#include <forge/data.h>
#include "base/error.h"
#include "base/string.h"
#include "forge/data/file_stream.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 256, MAX_CHARACTERS = 65536, CODE_POINTS = 0x110000, PIECE_SIZE = 1 << 16 };

struct forge_text {
    char *path;
    forge_tensor tokens;
    size_t vocabulary;
    uint32_t *characters; /* code point of each token, ascending; NULL: tokens are bytes */
};

/* --- reading -------------------------------------------------------------------------------------------- */

struct bytes {
    char *data;
    size_t count, capacity;
};

static joule_status read_all(const char *path, struct bytes *bytes, joule_error *out_error)
{
    struct stream *stream;
    size_t step = PIECE_SIZE;
    joule_status status = stream_open(path, &stream, out_error);
    if (status != JOULE_OK)
        return status;
    while (status == JOULE_OK && step == PIECE_SIZE) {
        if (bytes->capacity - bytes->count < PIECE_SIZE) {
            size_t capacity = 2 * bytes->capacity + PIECE_SIZE;
            char *data = realloc(bytes->data, capacity);
            if (!data) {
                status = error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory for %zu bytes",
                                   path, capacity);
                break;
            }
            bytes->data = data;
            bytes->capacity = capacity;
        }
        status = stream_read(stream, bytes->data + bytes->count, PIECE_SIZE, &step, out_error);
        bytes->count += step;
    }
    stream_close(stream);
    if (status == JOULE_OK && bytes->count == 0)
        return error_set(out_error, JOULE_INVALID, "%s is empty: there is nothing to learn from", path);
    return status;
}

/* --- characters ----------------------------------------------------------------------------------------- */

static uint32_t code_point(const char *bytes, size_t length)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)bytes[0] & first[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)bytes[i] & 0x3f);
    return code;
}

/* Sets seen[c] = 1 for each code point c of the text. seen: [CODE_POINTS], zeros. *out_count: number of
 * characters of the text. */
static joule_status find_characters(const char *path, const struct bytes *bytes, uint32_t *seen,
                                    size_t *out_count, joule_error *out_error)
{
    *out_count = 0;
    for (size_t at = 0, length; at < bytes->count; at += length, ++*out_count) {
        length = string_utf8_length(bytes->data + at, bytes->count - at);
        if (length == 0)
            return error_set(out_error, JOULE_INVALID,
                             "%s: byte %zu is not UTF-8; read the file as bytes instead", path, at);
        seen[code_point(bytes->data + at, length)] = 1;
    }
    return JOULE_OK;
}

/* Assigns tokens: replaces each 1 in `seen` by the token of its code point. */
static joule_status assign_tokens(forge_text *text, uint32_t *seen, joule_error *out_error)
{
    for (uint32_t code = 0; code < CODE_POINTS; code++)
        text->vocabulary += seen[code];
    if (text->vocabulary > MAX_CHARACTERS)
        return error_set(out_error, JOULE_INVALID, "%s has %zu different characters; the maximum is %d",
                         text->path, text->vocabulary, MAX_CHARACTERS);
    text->characters = calloc(text->vocabulary, sizeof *text->characters);
    if (!text->characters)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", text->path);
    for (uint32_t code = 0, token = 0; code < CODE_POINTS; code++)
        if (seen[code]) {
            text->characters[token] = code;
            seen[code] = token++;
        }
    return JOULE_OK;
}

static void write_tokens(forge_text *text, const struct bytes *bytes, const uint32_t *tokens)
{
    uint8_t *narrow = forge_tensor_data(&text->tokens);
    uint16_t *wide = forge_tensor_data(&text->tokens);
    for (size_t at = 0, i = 0, length; at < bytes->count; at += length, i++) {
        length = string_utf8_length(bytes->data + at, bytes->count - at);
        uint32_t token = tokens[code_point(bytes->data + at, length)];
        if (text->tokens.dtype == FORGE_U8)
            narrow[i] = (uint8_t)token;
        else
            wide[i] = (uint16_t)token;
    }
}

static joule_status take_characters(forge_text *text, const struct bytes *bytes, joule_error *out_error)
{
    size_t count = 0;
    uint32_t *seen = calloc(CODE_POINTS, sizeof *seen);
    if (!seen)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", text->path);
    joule_status status = find_characters(text->path, bytes, seen, &count, out_error);
    if (status == JOULE_OK)
        status = assign_tokens(text, seen, out_error);
    if (status == JOULE_OK)
        status = forge_tensor_new(text->vocabulary > BYTES ? FORGE_U16 : FORGE_U8,
                                  &forge_shape_of((forge_dim)count), &text->tokens, out_error);
    if (status == JOULE_OK)
        write_tokens(text, bytes, seen);
    free(seen);
    return status;
}

static joule_status take_bytes(forge_text *text, const struct bytes *bytes, joule_error *out_error)
{
    text->vocabulary = BYTES;
    joule_status status =
        forge_tensor_new(FORGE_U8, &forge_shape_of((forge_dim)bytes->count), &text->tokens, out_error);
    if (status == JOULE_OK)
        memcpy(forge_tensor_data(&text->tokens), bytes->data, bytes->count);
    return status;
}

/* --- read, free ----------------------------------------------------------------------------------------- */

joule_status forge_text_read(const char *path, forge_text_kind kind, forge_text **out_text,
                             joule_error *out_error)
{
    if (!path || !out_text || (kind != FORGE_TEXT_CHARACTERS && kind != FORGE_TEXT_BYTES))
        return error_set(out_error, JOULE_INVALID, "forge_text_read: %s",
                         !path       ? "path is NULL"
                         : !out_text ? "out_text is NULL"
                                     : "unknown kind");
    struct bytes bytes = {0};
    forge_text *text = calloc(1, sizeof *text);
    joule_status status = JOULE_NO_MEMORY;
    if (!text || !(text->path = strdup(path)))
        error_set(out_error, status, "cannot read a text: out of memory");
    else
        status = read_all(path, &bytes, out_error);
    if (status == JOULE_OK)
        status = kind == FORGE_TEXT_BYTES ? take_bytes(text, &bytes, out_error)
                                          : take_characters(text, &bytes, out_error);
    free(bytes.data);
    if (status == JOULE_OK)
        *out_text = text;
    else
        forge_text_free(text);
    return status;
}

void forge_text_free(forge_text *text)
{
    if (!text)
        return;
    forge_buffer_release(text->tokens.buffer);
    free(text->characters);
    free(text->path);
    free(text);
}

size_t forge_text_vocabulary(const forge_text *text)
{
    return text->vocabulary;
}

forge_tensor forge_text_tokens(const forge_text *text)
{
    return text->tokens;
}

size_t forge_text_decode(const forge_text *text, uint32_t token, char out_bytes[4])
{
    if (token >= text->vocabulary)
        return 0;
    uint32_t code = text->characters ? text->characters[token] : token;
    if (!text->characters || code < 0x80) {
        out_bytes[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6)
        out_bytes[i] = (char)(0x80 | (code & 0x3f));
    out_bytes[0] = (char)(0xf00 >> length | code);
    return length;
}

joule_status forge_dataset_text(const forge_text *text, bool is_validation, uint32_t context,
                                forge_dataset **out_dataset, joule_error *out_error)
{
    if (!text || !out_dataset || context == 0)
        return error_set(out_error, JOULE_INVALID, "forge_dataset_text: %s",
                         !text          ? "text is NULL"
                         : !out_dataset ? "out_dataset is NULL"
                                        : "context is 0");
    size_t all = forge_tensor_elements(&text->tokens), first = is_validation ? all - all / 10 : 0;
    size_t count = is_validation ? all / 10 : all - all / 10;
    if (count < (size_t)context + 1)
        return error_set(
            out_error, JOULE_INVALID,
            "%s: the %zu tokens for %s are fewer than a window of %zu; a longer text or a shorter "
            "context is needed",
            text->path, count, is_validation ? "validation (a tenth)" : "training", (size_t)context + 1);
    forge_tensor windows = text->tokens;
    windows.offset_bytes += forge_dtype_size_bytes(windows.dtype, first);
    windows.shape = forge_shape_of((forge_dim)(count - context), (forge_dim)context + 1);
    windows.strides[0] = windows.strides[1] = 1;
    return forge_dataset_new(&windows, 1, out_dataset, out_error);
}
