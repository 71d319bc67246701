/* infer/tokenizer/tokenizer.h - an open tokenizer, and functions that its algorithms share. See
 * <forge/tokenizer.h>. */
#ifndef FORGE_INFER_TOKENIZER_H
#define FORGE_INFER_TOKENIZER_H

#include <forge/tokenizer.h>
#include "forge/infer/tokenizer/charsmap.h"
#include "forge/infer/tokenizer/merge_symbols.h"
#include "forge/infer/tokenizer/special_tokens.h"
#include "forge/infer/tokenizer/token_table.h"
#include "forge/infer/model/vocabulary.h"

enum {
    TOKENIZER_MAX_TOKEN = 4096,    /* maximum size of a token in bytes */
    TOKENIZER_MAX_TEXT = 1 << 30,  /* maximum size of a text in bytes */
    TOKENIZER_MAX_END_TOKENS = 16, /* tokens that end an answer */
};
#define SPACE_MARK "\xe2\x96\x81" /* U+2581, which stands for a space in SentencePiece's tokens */

struct bpe;               /* tokenizer_bpe.c */
struct unigram;           /* tokenizer_unigram.c */
struct pretokenizer_work; /* pretokenizer.h */
struct model_file;        /* model_file.h */

struct forge_tokenizer {
    const struct vocabulary *vocabulary;
    /* The text that each token stands for. Normal tokens of SentencePiece have spaces instead of U+2581, and
     * normal tokens of byte-level BPE have the bytes. A byte token has its byte. All other tokens have their
     * text in the file. */
    struct token_texts texts;
    size_t max_token;         /* size of the longest text of a token, in bytes */
    struct token_table table; /* tokens that can result from pieces and merges */
    struct pair_table merges; /* merges of BPE, and of SPM without scores; otherwise empty */
    struct special_tokens special;
    int32_t byte_tokens[256]; /* [byte]: the token of this byte; TOKEN_NONE: the byte has no token */
    int32_t end_tokens[TOKENIZER_MAX_END_TOKENS];
    size_t end_count;
    bool splits_at_spaces; /* SentencePiece: no token has a space after another character */
    struct charsmap charsmap;
    struct bpe *bpe;
    struct unigram *unigram;
    struct model_file *file; /* contains the vocabulary, and is closed with the tokenizer; NULL: none */
};

/* Makes a tokenizer. The vocabulary and all memory that it points to must outlive the tokenizer. The caller
 * owns the tokenizer (forge_tokenizer_free). JOULE_INVALID: the vocabulary contradicts itself; the message
 * names the field. JOULE_UNSUPPORTED: an unknown pre-tokenizer, or a token longer than
 * TOKENIZER_MAX_TOKEN. */
joule_status tokenizer_new(const struct vocabulary *vocabulary, forge_tokenizer **out_tokenizer,
                           joule_error *out_error);

/* Returns the type of a token. */
static inline enum token_type tokenizer_type(const forge_tokenizer *tokenizer, int32_t token)
{
    const uint8_t *types = tokenizer->vocabulary->types;
    return types ? (enum token_type)types[token] : TOKEN_NORMAL;
}

/* Returns true if a token can be part of ordinary text. */
static inline bool tokenizer_is_ordinary(const forge_tokenizer *tokenizer, int32_t token)
{
    enum token_type type = tokenizer_type(tokenizer, token);
    return type == TOKEN_NORMAL || type == TOKEN_UNUSED;
}

/* Returns true for a user-defined token that is searched for in the text, but is also a token of the
 * model. */
static inline bool tokenizer_is_found_twice(const forge_tokenizer *tokenizer, int32_t token)
{
    const uint8_t *rules = tokenizer->vocabulary->rules;
    return rules && (rules[token] & TOKEN_IN_MODEL) && tokenizer_type(tokenizer, token) == TOKEN_USER_DEFINED;
}

/* A text that is being converted to tokens. */
struct encoder {
    const forge_tokenizer *tokenizer;
    int32_t *out_tokens; /* [capacity] */
    size_t capacity, count;
    bool ends_with_unknown; /* the last token is the unknown token */
    struct merger merger;
    uint32_t flags; /* of forge_tokenize */
    char *text;     /* a part of the text, after normalisation */
    size_t text_size, text_capacity;
    void *paths; /* work memory of tokenizer_unigram.c */
    size_t path_capacity;
    float score;                    /* for tokenizer_unigram.c: sum of the scores of earlier parts */
    struct pretokenizer_work *work; /* work memory of byte-level BPE; NULL: none */
    joule_error *error;
};

/* Appends a token. */
static inline void encoder_add(struct encoder *encoder, int32_t token)
{
    if (encoder->count < encoder->capacity)
        encoder->out_tokens[encoder->count] = token;
    encoder->count++;
    encoder->ends_with_unknown = false;
}
/* Appends the byte tokens of a text for which the vocabulary has no other token. If a byte has no byte token,
 * appends the unknown token instead; adjacent unknown texts become one token. JOULE_INVALID: there is no
 * unknown token. */
joule_status encoder_add_bytes(struct encoder *encoder, const char *text, size_t size);
/* Sets encoder->text to a part of a text, with spaces instead of U+2581. adds_space: if the part is not
 * empty, it begins with an additional space. If the vocabulary demands it, characters are replaced and extra
 * spaces are removed. Returns false if out of memory. */
bool encoder_normalize(struct encoder *encoder, const char *text, size_t size, bool adds_space);
/* Converts a part of encoder->text. */
typedef joule_status encode_part_fn(struct encoder *encoder, const char *text, size_t size);
/* Calls `encode` for each part of encoder->text from byte `begin` to `end`. A part ends before a space that
 * follows another character, if no token contains both. Otherwise the text is one part. */
joule_status encoder_each_part(struct encoder *encoder, size_t begin, size_t end, encode_part_fn *encode);
/* Sets JOULE_NO_MEMORY and a message. Returns JOULE_NO_MEMORY. */
joule_status encoder_no_memory(struct encoder *encoder);

encode_part_fn spm_encode_part, unigram_encode_part;
/* Converts the part of a text between two special tokens. */
joule_status bpe_encode(struct encoder *encoder, const char *text, size_t size);

/* Prepare the algorithms. tokenizer->texts must be complete. */
joule_status spm_init(forge_tokenizer *tokenizer, joule_error *out_error);
joule_status bpe_init(forge_tokenizer *tokenizer, joule_error *out_error);
joule_status unigram_init(forge_tokenizer *tokenizer, joule_error *out_error);
/* Free the memory that bpe_init and unigram_init allocated. NULL is allowed. */
void bpe_free(struct bpe *bpe);
void unigram_free(struct unigram *unigram);

/* Writes the text that a normal token stands for. Returns its size in bytes, at most the size of the
 * token. */
size_t tokenizer_write_text(enum vocabulary_kind kind, struct bytes token, char *out);
/* Writes the bytes that a token of byte-level BPE stands for to out_bytes, which has room for the token's
 * size. Returns their number. A character that stands for no byte is copied. */
size_t bpe_decode_token(struct bytes token, char *out_bytes);

/* Reads the vocabulary's list of merges. JOULE_INVALID: a merge is not a pair of tokens, or its result is
 * not a token. */
joule_status tokenizer_add_merges(forge_tokenizer *tokenizer, joule_error *out_error);
/* Returns true if two symbols may be merged (merge_pair_fn). context: the merges. */
bool tokenizer_find_merge(const void *context, const struct symbol *left, const struct symbol *right,
                          uint32_t *out_priority, int32_t *out_token);
/* Returns true if no ordinary token contains a space after another character. */
bool tokenizer_splits_at_spaces(const forge_tokenizer *tokenizer);
/* Returns true if each character of a token of byte-level BPE stands for a byte. */
bool bpe_stands_for_bytes(struct bytes token);

/* Adds all tokens for which `accepts` returns true to the tokenizer's table. Returns false if out of
 * memory. */
bool tokenizer_fill_table(forge_tokenizer *tokenizer,
                          bool (*accepts)(const forge_tokenizer *tokenizer, int32_t token));

#endif
