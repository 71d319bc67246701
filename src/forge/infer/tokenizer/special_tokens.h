/* infer/tokenizer/special_tokens.h - finds special tokens in a text before the text is encoded.
 *
 * A tokenizer.json of Hugging Face may state rules for a token: it is a whole word, or it includes the white
 * space around it (enum token_rule). */
#ifndef FORGE_INFER_SPECIAL_TOKENS_H
#define FORGE_INFER_SPECIAL_TOKENS_H

#include <joule/base.h>
#include "forge/infer/model/vocabulary.h"
#include "forge/infer/tokenizer/trie.h"

struct forge_tokenizer;

/* A set of special tokens. */
struct special_set {
    struct trie trie;
    bool begins[256]; /* [byte]: a token begins with this byte */
};

/* The special tokens of a tokenizer. */
struct special_tokens {
    struct special_set raw; /* searched for in the text as it is */
    /* Searched for in the text between tokens of `raw`. If is_normalized, this text and the texts of the
     * tokens are normalized first. */
    struct special_set others;
    bool is_normalized;
    struct token_texts normalized_texts; /* texts of `others` after normalization; else empty */
};

/* Finds the special tokens of a tokenizer whose texts and character map are complete. JOULE_NO_MEMORY: out of
 * memory, without a message. */
joule_status special_tokens_init(struct forge_tokenizer *tokenizer);
void special_tokens_free(struct special_tokens *special);

/* A search for the tokens of a set in text[0..size). Set the first five members; the others are 0. */
struct special_search {
    const struct forge_tokenizer *tokenizer;
    const struct special_set *set;
    const char *text;
    size_t size;
    uint32_t flags; /* of forge_tokenize */
    /* Spaces stand for U+2581, which is no white space. */
    bool has_marks;
    size_t at;        /* where the search continues */
    size_t end;       /* end of the last token found, with the white space that it includes */
    size_t white_end; /* end of the last run of white space that was measured */
};

/* A token in a text: it stands for text[begin..end). */
struct special_match {
    int32_t token;
    size_t begin, end;
};

/* Finds the next token. Returns false if there is none. Note: a match may begin before the end of the match
 * before it, if both include the same white space. */
bool special_search_next(struct special_search *search, struct special_match *out_match);

#endif
