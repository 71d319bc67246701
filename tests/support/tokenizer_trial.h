/* support/tokenizer_trial.h - what the tests of tokenizers share: encoding with checks, and round trips. */
#ifndef TEST_TOKENIZER_TRIAL_H
#define TEST_TOKENIZER_TRIAL_H

#include <stdio.h>
#include "base/string.h"
#include "forge/infer/tokenizer/tokenizer.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/tokenizer_files.h"

enum { MAX_TOKENS = 4096 };
static joule_error error;
static int32_t tokens[MAX_TOKENS]; /* the result of the last `encode` */

static inline forge_tokenizer *make(const struct vocabulary *vocabulary)
{
    forge_tokenizer *tokenizer = NULL;
    if (tokenizer_new(vocabulary, &tokenizer, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return tokenizer;
}

static inline size_t encode(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags)
{
    size_t count;
    if (forge_tokenize(tokenizer, text, size, flags, tokens, MAX_TOKENS, &count, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    assert_true(count <= MAX_TOKENS);
    return count;
}

static inline void expect(const forge_tokenizer *tokenizer, const char *text, size_t size, uint32_t flags,
                          const int32_t *expected, size_t expected_count)
{
    size_t count = encode(tokenizer, text, size, flags);
    for (size_t i = 0; i < count && i < expected_count; i++)
        if (tokens[i] != expected[i])
            fail_msg("'%s': token %zu is %d, not %d", text, i, tokens[i], expected[i]);
    if (count != expected_count)
        fail_msg("'%s': %zu tokens, not %zu", text, count, expected_count);
}
#define EXPECT(tokenizer, text, flags, ...)                                                                  \
    expect(tokenizer, text, strlen(text), flags, (const int32_t[]){__VA_ARGS__},                             \
           sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* Checks all vectors NAME of llama.cpp. */
static inline void check_vectors(const forge_tokenizer *tokenizer, const char *name)
{
    struct arena arena = {0};
    struct tokenizer_vector vectors[64];
    size_t count = read_tokenizer_vectors(&arena, name, vectors);
    if (count == 0)
        skip();
    assert_int_equal(count, 46);
    for (size_t i = 0; i < count; i++)
        expect(tokenizer, vectors[i].text, vectors[i].size, 0, vectors[i].tokens, vectors[i].count);
    arena_free(&arena);
}

/* Decodes tokens one by one, and appends the text to out. Returns its size. */
static inline size_t decode_stream(const forge_tokenizer *tokenizer, const int32_t *ids, size_t count,
                                   char *out)
{
    forge_text_stream stream = {0};
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size_t added = forge_text_stream_add(&stream, tokenizer, ids[i], out + size);
        assert_true(added <= forge_tokenizer_max_text(tokenizer));
        for (size_t k = 0, length; k < added; k += length) {
            length = string_utf8_length(out + size + k, added - k);
            assert_true(length > 0);
        }
        size += added;
    }
    return size + forge_text_stream_end(&stream, out + size);
}

/* Returns random text of `size` bytes: words, spaces, random characters and sometimes invalid bytes. */
static inline size_t random_text(char *out, size_t size, bool is_valid)
{
    size_t at = 0;
    while (at + 4 <= size) {
        uint64_t bits = chance_bits();
        uint32_t c = (uint32_t)(bits >> 32) >> (11 + (bits & 15)); /* small characters are frequent */
        char text[5] = {0};
        size_t length = 1;
        if ((bits >> 4 & 7) < 3)
            text[0] = "  etaoinshrdlu\n'"[bits >> 8 & 15];
        else if (!is_valid && (bits >> 8 & 15) == 0)
            text[0] = (char)(bits >> 12);
        else if (c < 0x80)
            text[0] = (char)(c ? c : 1);
        else if (c < 0x800)
            length = 2, text[0] = (char)(0xc0 | c >> 6), text[1] = (char)(0x80 | (c & 63));
        else if (c < 0x10000)
            length = 3, text[0] = (char)(0xe0 | c >> 12), text[1] = (char)(0x80 | (c >> 6 & 63)),
            text[2] = (char)(0x80 | (c & 63));
        else
            length = 4, text[0] = (char)(0xf0 | (c >> 18 & 7)), text[1] = (char)(0x80 | (c >> 12 & 63)),
            text[2] = (char)(0x80 | (c >> 6 & 63)), text[3] = (char)(0x80 | (c & 63));
        if ((is_valid && string_utf8_length(text, length) != length) || strcmp(text, SPACE_MARK) == 0)
            continue;
        memcpy(out + at, text, length);
        at += length;
    }
    return at;
}

/* Checks that random texts become the same text, at once and as a stream. */
static inline void check_round_trips(const forge_tokenizer *tokenizer)
{
    static char text[300], whole[4 * sizeof text], stream[4 * sizeof text + 65536];
    chance_state = CHANCE_SEED;
    for (int round = 0; round < 2000; round++) {
        bool is_valid = round % 2;
        size_t size = random_text(text, chance_bits() % sizeof text, is_valid);
        size_t count = encode(tokenizer, text, size, FORGE_TOKENIZE_ADD_ENDS);
        assert_int_equal(forge_detokenize(tokenizer, tokens, count, 0, whole, sizeof whole), size);
        assert_memory_equal(whole, text, size);
        size_t stream_size = decode_stream(tokenizer, tokens, count, stream);
        if (is_valid) {
            assert_int_equal(stream_size, size);
            assert_memory_equal(stream, text, size);
        }
    }
}

#endif
