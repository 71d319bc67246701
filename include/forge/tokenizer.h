/* forge/tokenizer.h - text to tokens and back, as a language model's file defines it.
 *
 * Three algorithms are supported: SentencePiece BPE with byte fallback (Llama 2), byte-level BPE (GPT-2,
 * Llama 3, Qwen) and SentencePiece unigram (T5).
 */
#ifndef FORGE_TOKENIZER_H
#define FORGE_TOKENIZER_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forge_tokenizer forge_tokenizer; /* immutable; several threads may use it at once */

/* Opens the tokenizer in a file: a GGUF file, a tokenizer.json of Hugging Face, a model of SentencePiece, or
 * a tokenizer.bin of llama2.c. The caller owns the tokenizer (forge_tokenizer_free). JOULE_INVALID: the file
 * is damaged; the message names the field. JOULE_UNSUPPORTED: the file needs an algorithm or a pre-tokenizer
 * that this version does not have, or byte-level BPE in a build without PCRE2. */
FORGE_API joule_status forge_tokenizer_open(const char *path, forge_tokenizer **out_tokenizer,
                                            joule_error *out_error);
/* Frees a tokenizer. NULL is allowed. */
FORGE_API void forge_tokenizer_free(forge_tokenizer *tokenizer);
/* Returns the number of tokens. */
FORGE_API size_t forge_tokenizer_count(const forge_tokenizer *tokenizer);

/* Flags of forge_tokenize. */
enum {
    /* Adds BOS at the beginning and EOS at the end of the text, if the model's file demands them. */
    FORGE_TOKENIZE_ADD_ENDS = 1,
    /* Reads control tokens in the text ("<|im_end|>") as tokens. Without this flag they are ordinary text. Do
     * not set the flag for text of users who are not trusted. */
    FORGE_TOKENIZE_READ_CONTROL = 2,
};
/* Converts `size` bytes of text to tokens. Invalid UTF-8 is allowed: its bytes become byte tokens. A byte
 * without a token becomes U+FFFD (byte-level BPE) or the unknown token. out_tokens: receives the first
 * `capacity` tokens; may be NULL if capacity is 0. *out_count: the total number of tokens. JOULE_INVALID:
 * the text has more than 1 GiB, or contains a byte without a token and there is no unknown token. */
FORGE_API joule_status forge_tokenize(const forge_tokenizer *tokenizer, const char *text, size_t size,
                                      uint32_t flags, int32_t *out_tokens, size_t capacity, size_t *out_count,
                                      joule_error *out_error);

/* Flags of forge_detokenize. */
enum {
    /* Writes control tokens and the unknown token as text. Without this flag they are left out. */
    FORGE_DETOKENIZE_CONTROL = 1,
    /* The tokens continue an earlier text. Without this flag, the text begins without the space that
     * forge_tokenize adds before a text. */
    FORGE_DETOKENIZE_CONTINUE = 2,
};
/* Writes the text of `count` tokens. out_text: receives at most `capacity` bytes, without NUL. Returns the
 * size of the whole text in bytes, which need not be valid UTF-8. Tokens out of range have no text. */
FORGE_API size_t forge_detokenize(const forge_tokenizer *tokenizer, const int32_t *tokens, size_t count,
                                  uint32_t flags, char *out_text, size_t capacity);

/* Return the id of the token for the beginning (BOS) or end (EOS) of a text, or -1 if the model has none. */
FORGE_API int32_t forge_tokenizer_bos(const forge_tokenizer *tokenizer);
FORGE_API int32_t forge_tokenizer_eos(const forge_tokenizer *tokenizer);
/* Returns true if the token ends an answer: EOS, or the end of a turn ("<|im_end|>", "<|eot_id|>"). */
FORGE_API bool forge_token_is_end(const forge_tokenizer *tokenizer, int32_t token);
/* Returns the token whose text in the file is `text`, or -1. */
FORGE_API int32_t forge_token_find(const forge_tokenizer *tokenizer, const char *text);
/* Returns the model's chat template (Jinja), which lives as long as the tokenizer; NULL: none. */
FORGE_API const char *forge_tokenizer_chat_template(const forge_tokenizer *tokenizer);

/* A text that arrives token by token. Initialise it with zeros. Set has_begun to true if the tokens continue
 * an earlier text, such as a prompt. */
typedef struct forge_text_stream {
    char pending[8]; /* the beginning of a UTF-8 character whose end is missing */
    uint32_t pending_size;
    /* True after the first token with text. The space that forge_tokenize adds before a text is left out
     * from this token. */
    bool has_begun;
} forge_text_stream;
/* Adds a token and writes the text that is complete: whole UTF-8 characters only. Bytes that cannot become
 * UTF-8 are replaced by U+FFFD. Control tokens are left out. out_text: forge_tokenizer_max_text bytes.
 * Returns the number of bytes written. */
FORGE_API size_t forge_text_stream_add(forge_text_stream *stream, const forge_tokenizer *tokenizer,
                                       int32_t token, char *out_text);
/* Ends a text, and empties the stream: writes U+FFFD if a character is incomplete. Returns the number of
 * bytes written (0 or 3). */
FORGE_API size_t forge_text_stream_end(forge_text_stream *stream, char *out_text);
/* Returns the size of the memory that forge_text_stream_add needs, in bytes: 3 times the size of the longest
 * token, plus 8. */
FORGE_API size_t forge_tokenizer_max_text(const forge_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif
#endif
