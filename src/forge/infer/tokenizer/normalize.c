/* infer/tokenizer/normalize.c - SentencePiece's normalisation of a text: replaces characters, and removes
 * extra spaces. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Returns the size in bytes of the next unit of a text, at least 1. *out_value: the map's replacement, or the
 * character itself, or U+FFFD for a byte that is not UTF-8. */
static size_t next_unit(const struct charsmap *map, const char *text, size_t size, struct bytes *out_value)
{
    size_t length = charsmap_find(map, text, size, out_value);
    if (length > 0)
        return length;
    length = string_utf8_length(text, size);
    *out_value = length ? (struct bytes){text, length} : (struct bytes){REPLACEMENT, strlen(REPLACEMENT)};
    return length ? length : 1;
}

/* Appends a replacement, with spaces instead of U+2581. There must be room for its size. */
static void append(struct encoder *encoder, struct bytes value)
{
    bool is_mark = value.size == strlen(SPACE_MARK) && memcmp(value.data, SPACE_MARK, value.size) == 0;
    if (is_mark)
        value = (struct bytes){" ", 1};
    memcpy(encoder->text + encoder->text_size, value.data, value.size);
    encoder->text_size += value.size;
}

/* Sets encoder->text to a text whose characters and spaces are kept. */
static bool copy_text(struct encoder *encoder, const char *text, size_t size, bool adds_space)
{
    const size_t mark = strlen(SPACE_MARK);
    if (!array_reserve((void **)&encoder->text, &encoder->text_capacity, size + 1, 1))
        return false;
    char *to = encoder->text;
    if (adds_space && size > 0)
        *to++ = ' ';
    while (size > 0) {
        const char *next = memmem(text, size, SPACE_MARK, mark);
        size_t before = next ? (size_t)(next - text) : size;
        memcpy(to, text, before);
        to += before;
        if (next)
            *to++ = ' ';
        before += next ? mark : 0;
        text += before;
        size -= before;
    }
    encoder->text_size = (size_t)(to - encoder->text);
    return true;
}

/* Sets encoder->text to a text whose characters are replaced and whose extra spaces are removed. */
static bool change_text(struct encoder *encoder, const char *text, size_t size, bool adds_space)
{
    const forge_tokenizer *tokenizer = encoder->tokenizer;
    bool removes = tokenizer->vocabulary->removes_extra_spaces, after_space = removes, is_empty = true;
    encoder->text_size = 0;
    for (size_t at = 0; at < size;) {
        struct bytes value;
        at += next_unit(&tokenizer->charsmap, text + at, size - at, &value);
        while (after_space && value.size && value.data[0] == ' ')
            value = (struct bytes){value.data + 1, value.size - 1};
        if (value.size == 0)
            continue;
        if (!array_reserve((void **)&encoder->text, &encoder->text_capacity,
                           encoder->text_size + value.size + 1, 1))
            return false;
        if (is_empty && adds_space)
            encoder->text[encoder->text_size++] = ' ';
        is_empty = false;
        append(encoder, value);
        after_space = removes && value.data[value.size - 1] == ' ';
    }
    while (removes && encoder->text_size > 0 && encoder->text[encoder->text_size - 1] == ' ')
        encoder->text_size--;
    return true;
}

bool encoder_normalize(struct encoder *encoder, const char *text, size_t size, bool adds_space)
{
    const struct vocabulary *vocabulary = encoder->tokenizer->vocabulary;
    bool changes = vocabulary->kind == VOCABULARY_UNIGRAM || encoder->tokenizer->charsmap.unit_count > 0 ||
                   vocabulary->removes_extra_spaces;
    return changes ? change_text(encoder, text, size, adds_space)
                   : copy_text(encoder, text, size, adds_space);
}

/* --- parts ---------------------------------------------------------------------------------------------- */

bool tokenizer_splits_at_spaces(const forge_tokenizer *tokenizer)
{
    for (size_t i = 0; i < tokenizer->vocabulary->count; i++) {
        size_t size;
        const char *text = token_text(&tokenizer->texts, (int32_t)i, &size);
        for (size_t k = 1; k < size && tokenizer_is_ordinary(tokenizer, (int32_t)i); k++)
            if (text[k] == ' ' && text[k - 1] != ' ')
                return false;
    }
    return true;
}

joule_status encoder_each_part(struct encoder *encoder, size_t begin, size_t end, encode_part_fn *encode)
{
    const char *text = encoder->text;
    joule_status status = JOULE_OK;
    if (end > UINT32_MAX)
        return error_set(encoder->error, JOULE_INVALID,
                         "cannot convert a text to tokens: it has %zu bytes after normalisation", end);
    for (size_t next; begin < end && status == JOULE_OK; begin = next) {
        next = begin;
        while (next < end && text[next] == ' ')
            next++;
        const char *space = memchr(text + next, ' ', end - next);
        next = space && encoder->tokenizer->splits_at_spaces ? (size_t)(space - text) : end;
        status = encode(encoder, text + begin, next - begin);
    }
    return status;
}
