/* tests/fuzz/tokenizer_file.h - reads the vocabulary of a fuzzed file, and uses the tokenizer. Checks that
 * errors have messages, and that all tokens have a text. */
#ifndef FUZZ_TOKENIZER_FILE_H
#define FUZZ_TOKENIZER_FILE_H

#include "file.h"
#include "forge/infer/tokenizer/tokenizer.h"
#include "forge/infer/tokenizer/tokenizer_read.h"

/* A reader of tokenizer_read.h. */
typedef joule_status tokenizer_reader(struct arena *arena, struct vocabulary *vocabulary, const char *path,
                                      joule_error *out_error);

static inline void use_tokenizer(const forge_tokenizer *tokenizer)
{
    static const char text[] = " a ab <s> \xc3\xa9\xff 12 \xe2\x96\x81 aaaa";
    int32_t ids[256];
    char out[8];
    size_t count;
    joule_status status = forge_tokenize(tokenizer, text, sizeof text, 3, ids, 256, &count, NULL);
    require(status == JOULE_OK || status == JOULE_INVALID);
    for (size_t i = 0; status == JOULE_OK && i < count && i < 256; i++) {
        require(ids[i] >= 0 && (size_t)ids[i] < forge_tokenizer_count(tokenizer));
        require(forge_detokenize(tokenizer, &ids[i], 1, 1, out, sizeof out) <=
                forge_tokenizer_max_text(tokenizer));
    }
}

/* Reads a file with `read`, and uses its tokenizer. */
static inline int fuzz_tokenizer_file(tokenizer_reader *read, const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct vocabulary vocabulary;
    forge_tokenizer *tokenizer = NULL;
    joule_error error = {0};
    joule_status status = read(&arena, &vocabulary, fuzz_file(data, size), &error);
    if (status == JOULE_OK)
        status = tokenizer_new(&vocabulary, &tokenizer, &error);
    require(status == JOULE_OK || status == JOULE_INVALID || status == JOULE_UNSUPPORTED);
    require(error.status == status && (status == JOULE_OK) == (error.message[0] == '\0'));
    if (tokenizer)
        use_tokenizer(tokenizer);
    forge_tokenizer_free(tokenizer);
    arena_free(&arena);
    return 0;
}

#endif
