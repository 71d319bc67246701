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

/* The type of a token. The numbers are those in GGUF files. */
enum token_type {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,      /* has a meaning for the model, but no text, for example <s> */
    TOKEN_USER_DEFINED = 4, /* text that is never split */
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6, /* stands for one byte, for example <0x0A> */
};

/* Rules of a token that a file adds to the model's tokens (added_tokens of tokenizer.json), as flags. */
enum token_rule {
    TOKEN_STRIPS_LEFT = 1,   /* includes the white space before its text */
    TOKEN_STRIPS_RIGHT = 2,  /* includes the white space after its text */
    TOKEN_IS_WORD = 4,       /* is only found where no character of a word is beside it */
    TOKEN_IS_NORMALIZED = 8, /* is searched for in normalized text, after the other tokens */
    TOKEN_IN_MODEL = 16,     /* is also a token of the model, so merges may result in it */
};

struct vocabulary {
    enum vocabulary_kind kind;
    size_t count;
    /* [count], as in the file: tokens of byte-level BPE have one character for each byte. */
    struct bytes *tokens;
    float *scores;  /* [count]; NULL: none */
    uint8_t *types; /* [count], enum token_type */
    uint8_t *rules; /* [count], flags of enum token_rule; NULL: none */
    /* [merge_count], such as "left right"; the first is merged first. For BPE, and for SPM without scores. */
    struct bytes *merges;
    size_t merge_count;
    const char *pre;                         /* name of the pre-tokenizer ("llama-bpe"); NULL: none */
    int32_t bos, eos, eot, unknown, padding; /* -1: none */
    /* Encoding adds BOS or a space at the beginning, or EOS at the end of a text. */
    bool adds_bos, adds_eos, adds_space_prefix;
    /* ignores_merges: if a whole piece is a token, it is not built by merges. */
    bool removes_extra_spaces, ignores_merges;
    struct bytes charsmap;     /* SentencePiece's precompiled normalisation; size 0: none */
    const char *chat_template; /* NULL: none */
    /* prefix_is_once: no space is added after special tokens, only at the beginning of the text.
     * prefix_is_conditional: no space is added to a text that begins with a space. */
    bool prefix_is_once, prefix_is_conditional;
    /* The added space is a part of the normalization, which also replaces spaces by U+2581. */
    bool normalizes_spaces;
};

#endif
