/* support/tokenizer_files.h - vocabularies of test data, for tests of tokenizers. */
#ifndef TEST_TOKENIZER_FILES_H
#define TEST_TOKENIZER_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/json.h"
#include "forge/infer/model/vocabulary.h"
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

/* Reads the lines "left right" of a vocab.bpe, after its first line. */
static inline void read_vocab_bpe(struct arena *arena, const char *path, struct vocabulary *v)
{
    enum { MOST = 60000 };
    char *rest = test_read_file(path, NULL), *line;
    v->merges = arena_alloc(arena, MOST * sizeof *v->merges);
    char *all = rest;
    strsep(&rest, "\n");
    while ((line = strsep(&rest, "\n")) && v->merge_count < MOST)
        if (*line)
            v->merges[v->merge_count++] = (struct bytes){arena_copy(arena, line, strlen(line)), strlen(line)};
    free(all);
}

/* Reads the encoder.json and vocab.bpe of GPT-2 in the test data's folder, in memory of `arena`. Returns
 * false, with a message, if they are absent. */
static inline bool read_gpt2(struct arena *arena, struct vocabulary *out)
{
    enum { MOST = 60000 };
    const char *path = test_data("tokenizers/gpt2/encoder.json");
    size_t size;
    char *text = path ? test_read_file(path, &size) : NULL, *copy = text ? arena_alloc(arena, size) : NULL;
    if (!text || !(path = test_data("tokenizers/gpt2/vocab.bpe")))
        return false;
    memcpy(copy, text, size);
    free(text);
    *out = (struct vocabulary){.kind = VOCABULARY_BPE,
                               .tokens = arena_alloc(arena, MOST * sizeof *out->tokens),
                               .types = arena_alloc(arena, MOST),
                               .eos = -1,
                               .eot = -1,
                               .bos = -1,
                               .unknown = -1,
                               .padding = -1};
    const struct json_value *all = json_parse(arena, copy, size, "encoder.json", NULL);
    for (const struct json_value *token = all ? all->first : NULL; token; token = token->next) {
        uint64_t id;
        if (!json_u64_of(token, &id) || id >= MOST)
            return false;
        out->tokens[id] = (struct bytes){token->name, strlen(token->name)};
        out->types[id] = strcmp(token->name, "<|endoftext|>") == 0 ? TOKEN_CONTROL : TOKEN_NORMAL;
        out->bos = out->eos = out->types[id] == TOKEN_CONTROL ? (int32_t)id : out->eos;
        out->count++;
    }
    read_vocab_bpe(arena, path, out);
    return true;
}

/* A text of the vectors of llama.cpp, and its tokens. */
struct tokenizer_vector {
    const char *text;
    size_t size;
    const int32_t *tokens;
    size_t count;
};

/* Reads the vectors NAME.inp and NAME.out of the test data's folder tokenizers/ggml-vocab, in memory of
 * `arena`. Returns their number; 0, with a message: they are absent. */
static inline size_t read_tokenizer_vectors(struct arena *arena, const char *name,
                                            struct tokenizer_vector out[64])
{
    static const char separator[] = "\n__ggml_vocab_test__\n";
    char relative[200], *line;
    const char *path;
    size_t size, count = 0;
    snprintf(relative, sizeof relative, "tokenizers/ggml-vocab/%s.inp", name);
    char *input = (path = test_data(relative)) ? test_read_file(path, &size) : NULL;
    snprintf(relative, sizeof relative, "tokenizers/ggml-vocab/%s.out", name);
    char *output = (path = test_data(relative)) ? test_read_file(path, NULL) : NULL, *lines = output;
    const char *text = input ? arena_copy(arena, input, size) : NULL, *end;
    while (text && output && count < 64 && (end = strstr(text, separator)) && (line = strsep(&lines, "\n"))) {
        int32_t *tokens = arena_alloc(arena, (strlen(line) + 1) * sizeof *tokens);
        out[count] = (struct tokenizer_vector){text, (size_t)(end - text), tokens, 0};
        for (char *next; (tokens[out[count].count] = (int32_t)strtol(line, &next, 10), next != line);
             line = next)
            out[count].count++;
        text = end + sizeof separator - 1;
        count++;
    }
    free(input);
    free(output);
    return count;
}

#endif
