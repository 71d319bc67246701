/* infer/model/vocabulary.h - the vocabulary of a model, as its file states it: tokens, scores, merges, flags.
 *
 * The readers of model files fill it (gguf_vocabulary.c, llama2c.c, sentencepiece_read.c,
 * tokenizer_json.c), and tokenizer.c uses it.
 */
#ifndef FORGE_INFER_VOCABULARY_H
#define FORGE_INFER_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that need not end with NUL. */
struct bytes {
    const char *data;
    size_t size;
};

enum vocabulary_kind {
    VOCABULARY_SPM,     /* SentencePiece BPE: pairs with the highest score are merged first */
    VOCABULARY_BPE,     /* byte-level BPE with a list of merges, as in GPT-2 */
    VOCABULARY_UNIGRAM, /* SentencePiece unigram: the sum of scores is maximised */
};

/* The type of a token; numbers as in GGUF files. */
enum token_type {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,      /* has a meaning for the model, and no text: <s> */
    TOKEN_USER_DEFINED = 4, /* text that is never split */
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6, /* one byte: <0x0A> */
};

struct vocabulary {
    enum vocabulary_kind kind;
    size_t count;
    struct bytes *tokens; /* [count]; as in the file, so byte-level BPE has one character for each byte */
    float *scores;        /* [count]; NULL: none */
    uint8_t *types;       /* [count], enum token_type */
    /* [merge_count], "left right", the first to be merged first. BPE; also SPM, which then has no scores. */
    struct bytes *merges;
    size_t merge_count;
    const char *pre;                            /* name of the pre-tokenizer ("llama-bpe"); NULL: none */
    int32_t bos, eos, eot, unknown, padding;    /* -1: none */
    bool adds_bos, adds_eos, adds_space_prefix; /* what encoding a text adds at its ends */
    bool removes_extra_spaces, ignores_merges;  /* ignores_merges: a piece that is a token is not split */
    struct bytes charsmap;                      /* SentencePiece's precompiled normalisation; size 0: none */
    const char *chat_template;                  /* NULL: none */
    /* The space of adds_space_prefix is added only at the beginning of the text, not after special tokens;
     * and only to text that does not begin with a space. */
    bool prefix_is_once, prefix_is_conditional;
};

#endif
