/* infer/tokenizer/tokenizer_decode.c - converts tokens to text, all at once or one by one. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <string.h>
#include "base/string.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
enum { REPLACEMENT_SIZE = sizeof REPLACEMENT - 1 };

/* Returns the text of a token, and its size in bytes. The size is 0 for tokens out of range, and for tokens
 * without text. */
static const char *visible_text(const forge_tokenizer *tokenizer, int32_t token, bool writes_control,
                                size_t *out_size)
{
    *out_size = 0;
    if (token < 0 || (size_t)token >= tokenizer->vocabulary->count)
        return "";
    enum token_type type = tokenizer_type(tokenizer, token);
    if (!writes_control && (type == TOKEN_CONTROL || type == TOKEN_UNKNOWN))
        return "";
    return token_text(&tokenizer->texts, token, out_size);
}

/* Returns true if `token`, the first token of a text, begins with the space that encoding adds. */
static bool begins_with_added_space(const forge_tokenizer *tokenizer, int32_t token, const char *text,
                                    size_t size)
{
    return tokenizer->vocabulary->kind != VOCABULARY_BPE && tokenizer->vocabulary->adds_space_prefix &&
           size && text[0] == ' ' && tokenizer_is_ordinary(tokenizer, token);
}

size_t forge_detokenize(const forge_tokenizer *tokenizer, const int32_t *tokens, size_t count, uint32_t flags,
                        char *out_text, size_t capacity)
{
    bool has_begun = flags & FORGE_DETOKENIZE_CONTINUE;
    size_t all = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const char *text = visible_text(tokenizer, tokens[i], flags & FORGE_DETOKENIZE_CONTROL, &size);
        size_t skipped = !has_begun && begins_with_added_space(tokenizer, tokens[i], text, size);
        has_begun = has_begun || size > 0;
        size -= skipped;
        if (all < capacity && size)
            memcpy(out_text + all, text + skipped, size < capacity - all ? size : capacity - all);
        all += size;
    }
    return all;
}

/* --- streams -------------------------------------------------------------------------------------------- */

/* Returns true if `size` bytes, 1 to 3, are the beginning of a longer UTF-8 character. */
static bool is_incomplete(const char *bytes, size_t size)
{
    char whole[4];
    const char ends[] = {(char)0x80, (char)0x90, (char)0xa0};
    memset(whole, 0x80, sizeof whole);
    memcpy(whole, bytes, size);
    /* The allowed range of a second byte depends on the first byte. */
    for (size_t i = 0; i < sizeof ends; i++) {
        if (size == 1)
            whole[1] = ends[i];
        if (string_utf8_length(whole, sizeof whole) > size)
            return true;
    }
    return false;
}

/* Adds one byte. If the byte completes a character, writes the character. If the byte shows that pending
 * bytes are invalid, writes U+FFFD for them. Returns the number of bytes written. */
static size_t add_byte(forge_text_stream *stream, char byte, char *out)
{
    size_t written = 0;
    stream->pending[stream->pending_size++] = byte;
    for (;;) {
        size_t size = stream->pending_size;
        if (string_utf8_length(stream->pending, size) == size) {
            memcpy(out + written, stream->pending, size);
            stream->pending_size = 0;
            return written + size;
        }
        if (is_incomplete(stream->pending, size))
            return written;
        memcpy(out + written, REPLACEMENT, REPLACEMENT_SIZE);
        written += REPLACEMENT_SIZE;
        stream->pending_size = 0;
        if (size == 1)
            return written;
        stream->pending[stream->pending_size++] = byte; /* the byte may begin a character */
    }
}

size_t forge_text_stream_add(forge_text_stream *stream, const forge_tokenizer *tokenizer, int32_t token,
                             char *out_text)
{
    size_t size, written = 0;
    const char *text = visible_text(tokenizer, token, false, &size);
    size_t skipped = !stream->has_begun && begins_with_added_space(tokenizer, token, text, size);
    stream->has_begun = stream->has_begun || size > 0;
    if (stream->pending_size >= 4) /* the caller has changed the stream */
        stream->pending_size = 0;
    for (size_t i = skipped; i < size; i++)
        written += add_byte(stream, text[i], out_text + written);
    return written;
}

size_t forge_text_stream_end(forge_text_stream *stream, char *out_text)
{
    bool is_incomplete_now = stream->pending_size > 0;
    *stream = (forge_text_stream){0};
    if (is_incomplete_now)
        memcpy(out_text, REPLACEMENT, REPLACEMENT_SIZE);
    return is_incomplete_now ? REPLACEMENT_SIZE : 0;
}
