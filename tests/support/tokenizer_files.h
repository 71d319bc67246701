/* support/tokenizer_files.h - vocabularies of test data, for tests of tokenizers. */
#ifndef TEST_TOKENIZER_FILES_H
#define TEST_TOKENIZER_FILES_H

#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "forge/infer/vocabulary.h"
#include "support/test_data.h"

static inline uint8_t tokenizer_bin_type(size_t i, struct bytes token)
{
    if (i < 3)
        return i ? TOKEN_CONTROL : TOKEN_UNKNOWN;
    return token.size == 6 && memcmp(token.data, "<0x", 3) == 0 ? TOKEN_BYTE : TOKEN_NORMAL;
}

/* Reads a tokenizer.bin of llama2.c with at most 1000 tokens, in memory of `arena`. */
static inline struct vocabulary read_tokenizer_bin(struct arena *arena, const char *path)
{
    enum { MOST = 1000 };
    size_t size, at = 4;
    char *whole = test_read_file(path, &size), *bytes = arena_alloc(arena, size);
    struct vocabulary v = {.kind = VOCABULARY_SPM,
                           .tokens = arena_alloc(arena, MOST * sizeof *v.tokens),
                           .scores = arena_alloc(arena, MOST * sizeof *v.scores),
                           .types = arena_alloc(arena, MOST),
                           .bos = 1,
                           .eos = 2,
                           .eot = -1,
                           .padding = -1,
                           .adds_bos = true,
                           .adds_space_prefix = true};
    memcpy(bytes, whole, size);
    free(whole);
    for (; at + 8 < size && v.count < MOST; v.count++) {
        uint32_t length;
        memcpy(&v.scores[v.count], bytes + at, 4);
        memcpy(&length, bytes + at + 4, 4);
        v.tokens[v.count] = (struct bytes){bytes + at + 8, length};
        v.types[v.count] = tokenizer_bin_type(v.count, v.tokens[v.count]);
        at += 8 + length;
    }
    return v;
}

#endif
