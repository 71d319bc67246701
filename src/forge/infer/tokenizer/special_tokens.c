/* infer/tokenizer/special_tokens.c - see special_tokens.h. */
#include "forge/infer/tokenizer/special_tokens.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "forge/infer/tokenizer/characters.h"
#include "forge/infer/tokenizer/tokenizer.h"

/* --- sets ----------------------------------------------------------------------------------------------- */

/* Returns the rules of a token, flags of enum token_rule. */
static unsigned rules_of(const forge_tokenizer *tokenizer, int32_t token)
{
    const uint8_t *rules = tokenizer->vocabulary->rules;
    return rules ? rules[token] : 0;
}

static bool is_special(const forge_tokenizer *tokenizer, int32_t token)
{
    enum token_type type = tokenizer_type(tokenizer, token);
    return type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED || type == TOKEN_UNKNOWN;
}

/* Builds the set of the special tokens whose rule TOKEN_IS_NORMALIZED has this value. tokens: memory for all
 * tokens of the vocabulary. */
static bool build_set(const forge_tokenizer *tokenizer, bool is_normalized, const struct token_texts *texts,
                      int32_t *tokens, struct special_set *set)
{
    size_t count = 0, size;
    for (size_t i = 0; i < tokenizer->vocabulary->count; i++) {
        int32_t token = (int32_t)i;
        bool has_rule = rules_of(tokenizer, token) & TOKEN_IS_NORMALIZED;
        if (!is_special(tokenizer, token) || has_rule != is_normalized)
            continue;
        const char *text = token_text(texts, token, &size);
        if (size > 0)
            set->begins[(uint8_t)*text] = true;
        tokens[count++] = token;
    }
    return trie_build(&set->trie, texts, tokens, count);
}

/* Sets the texts of the tokens that are searched for in normalized text. The other tokens get no text. */
static bool normalize_texts(const forge_tokenizer *tokenizer, struct token_texts *texts)
{
    const struct vocabulary *v = tokenizer->vocabulary;
    struct encoder encoder = {.tokenizer = tokenizer};
    size_t size, capacity = 0;
    texts->begins = calloc(v->count + 1, sizeof *texts->begins);
    bool is_ok = texts->begins && array_reserve((void **)&texts->bytes, &capacity, 1, 1);
    for (size_t i = 0; is_ok && i < v->count; i++) {
        texts->begins[i + 1] = texts->begins[i];
        if (!is_special(tokenizer, (int32_t)i) || !(v->rules[i] & TOKEN_IS_NORMALIZED))
            continue;
        const char *text = token_text(&tokenizer->texts, (int32_t)i, &size);
        is_ok =
            encoder_normalize(&encoder, text, size, v->adds_space_prefix) &&
            array_reserve((void **)&texts->bytes, &capacity, texts->begins[i] + encoder.text_size + 1, 1) &&
            encoder.text_size <= UINT32_MAX - texts->begins[i];
        if (is_ok && encoder.text_size > 0)
            memcpy(texts->bytes + texts->begins[i], encoder.text, encoder.text_size);
        if (is_ok)
            texts->begins[i + 1] += (uint32_t)encoder.text_size;
    }
    free(encoder.text);
    return is_ok;
}

static bool has_normalized(const struct vocabulary *v)
{
    for (size_t i = 0; v->rules && i < v->count; i++)
        if (v->rules[i] & TOKEN_IS_NORMALIZED)
            return true;
    return false;
}

joule_status special_tokens_init(forge_tokenizer *tokenizer)
{
    const struct vocabulary *v = tokenizer->vocabulary;
    struct special_tokens *special = &tokenizer->special;
    int32_t *tokens = malloc(v->count * sizeof *tokens);
    bool is_ok = tokens && build_set(tokenizer, false, &tokenizer->texts, tokens, &special->raw);
    if (is_ok && has_normalized(v)) {
        /* A character map can make texts much larger, so texts are not normalized if there is one. */
        special->is_normalized = v->kind != VOCABULARY_BPE && v->normalizes_spaces && v->charsmap.size == 0;
        is_ok = !special->is_normalized || normalize_texts(tokenizer, &special->normalized_texts);
        is_ok = is_ok && build_set(tokenizer, true,
                                   special->is_normalized ? &special->normalized_texts : &tokenizer->texts,
                                   tokens, &special->others);
    }
    free(tokens);
    return is_ok ? JOULE_OK : JOULE_NO_MEMORY;
}

void special_tokens_free(struct special_tokens *special)
{
    trie_free(&special->raw.trie);
    trie_free(&special->others.trie);
    free(special->normalized_texts.bytes);
    free(special->normalized_texts.begins);
}

/* --- search --------------------------------------------------------------------------------------------- */

static bool may_read(const struct special_search *search, int32_t token)
{
    return token != TOKEN_NONE && (tokenizer_type(search->tokenizer, token) == TOKEN_USER_DEFINED ||
                                   (search->flags & FORGE_TOKENIZE_READ_CONTROL));
}

/* Finds the longest token with which text[at..size) begins. */
static bool find_longest(const struct special_search *search, size_t at, struct special_match *out_match)
{
    const struct trie *trie = &search->set->trie;
    uint32_t node = 0;
    out_match->token = TOKEN_NONE;
    for (size_t i = at; i < search->size; i++) {
        node = trie_step(trie, node, (uint8_t)search->text[i]);
        if (node == TRIE_NONE)
            break;
        if (may_read(search, trie->nodes[node].token))
            *out_match = (struct special_match){trie->nodes[node].token, at, i + 1};
    }
    return out_match->token != TOKEN_NONE;
}

/* Finds the first token from search->at on. */
static bool find_first(struct special_search *search, struct special_match *out_match)
{
    for (size_t i = search->at; search->set->trie.count > 0 && i < search->size; i++)
        if (search->set->begins[(uint8_t)search->text[i]] && find_longest(search, i, out_match))
            return true;
    return false;
}

/* Returns true if no character of a word is beside the match. */
static bool is_word(const struct special_search *search, const struct special_match *match)
{
    uint32_t before, after;
    character_read_last(search->text, match->begin, &before);
    string_utf8_read(search->text + match->end, search->size - match->end, &after);
    return !character_is_word(before) && !character_is_word(after);
}

static bool is_white(const struct special_search *search, uint32_t character)
{
    return character_is_white(character) && !(search->has_marks && character == ' ');
}

/* Returns the beginning of the white space before `at`. The white space that the last match includes is left
 * out. */
static size_t begin_of_white(const struct special_search *search, size_t at)
{
    uint32_t character;
    while (at > search->end) {
        size_t size = character_read_last(search->text, at, &character);
        if (!is_white(search, character))
            break;
        at -= size;
    }
    return search->end > at ? search->end : at;
}

/* Returns the end of the white space after `at`. Each run of white space is measured once. */
static size_t end_of_white(struct special_search *search, size_t at)
{
    uint32_t character;
    if (at < search->white_end)
        return search->white_end;
    for (;;) {
        size_t size = string_utf8_read(search->text + at, search->size - at, &character);
        if (!is_white(search, character))
            return search->white_end = at;
        at += size;
    }
}

bool special_search_next(struct special_search *search, struct special_match *out_match)
{
    while (find_first(search, out_match)) {
        unsigned rules = rules_of(search->tokenizer, out_match->token);
        search->at = out_match->end;
        if ((rules & TOKEN_IS_WORD) && !is_word(search, out_match))
            continue;
        if (rules & TOKEN_STRIPS_LEFT)
            out_match->begin = begin_of_white(search, out_match->begin);
        if (rules & TOKEN_STRIPS_RIGHT)
            out_match->end = end_of_white(search, out_match->end);
        if (out_match->begin >= out_match->end) /* the match before includes all of the text */
            continue;
        search->end = out_match->end;
        return true;
    }
    return false;
}
