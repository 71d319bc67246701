/* infer/tokenizer/tokenizer_unigram.c - SentencePiece unigram: divides a text into the tokens with the
 * highest sum of scores (Viterbi's algorithm).
 *
 * Note: texts and tokens have spaces here instead of U+2581. Sums have single precision and begin at the
 * start of the text. They are rounded as in SentencePiece, so that the same paths have equal sums. */
#include "forge/infer/tokenizer/tokenizer.h"

#include <stdlib.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#define UNKNOWN_PENALTY 10.0f /* score of an unknown character: the lowest score of a token minus this */
/* Sums below this number are too inexact in single precision, so the next part begins with the sum 0. */
#define LOWEST_SUM -32768.f

struct unigram {
    struct trie trie;
    float unknown_score;
};

/* The best path that ends at a byte. */
struct path {
    float score;
    uint32_t begin; /* first byte of the last token */
    uint32_t end;   /* end of the token that begins here; set when the best path is known */
    int32_t token;  /* the last token; TOKEN_NONE: an unknown character */
};
#define PATH_NONE UINT32_MAX /* value of `begin`: no path ends here */

static bool is_found(const forge_tokenizer *tokenizer, int32_t token)
{
    enum token_type type = tokenizer_type(tokenizer, token);
    return type == TOKEN_NORMAL || tokenizer_is_found_twice(tokenizer, token) ||
           (type == TOKEN_USER_DEFINED && !tokenizer->vocabulary->rules);
}

/* Returns the score of a token of the trie. User-defined tokens have the score 0, unless they have rules. */
static float score_of(const struct vocabulary *v, int32_t token)
{
    return v->rules || !v->types || v->types[token] != TOKEN_USER_DEFINED ? v->scores[token] : 0;
}

joule_status unigram_init(forge_tokenizer *tokenizer, joule_error *out_error)
{
    const struct vocabulary *v = tokenizer->vocabulary;
    struct unigram *unigram = tokenizer->unigram = calloc(1, sizeof *unigram);
    int32_t *found = malloc(v->count * sizeof *found);
    size_t count = 0;
    float lowest = 0;
    for (size_t i = 0; found && i < v->count; i++) {
        if (tokenizer_type(tokenizer, (int32_t)i) == TOKEN_NORMAL && (count == 0 || v->scores[i] < lowest))
            lowest = v->scores[i];
        if (is_found(tokenizer, (int32_t)i))
            found[count++] = (int32_t)i;
    }
    bool is_ok = unigram && found && trie_build(&unigram->trie, &tokenizer->texts, found, count);
    free(found);
    if (!is_ok)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    unigram->unknown_score = lowest - UNKNOWN_PENALTY;
    tokenizer->splits_at_spaces = tokenizer_splits_at_spaces(tokenizer);
    return charsmap_open(v->charsmap, &tokenizer->charsmap, out_error);
}

void unigram_free(struct unigram *unigram)
{
    if (unigram)
        trie_free(&unigram->trie);
    free(unigram);
}

/* --- Viterbi -------------------------------------------------------------------------------------------- */

/* Replaces paths[end] by the path that ends with this token, if that path has a higher score. */
static void extend(struct path *paths, size_t begin, size_t end, float score, int32_t token)
{
    score += paths[begin].score;
    if (paths[end].begin == PATH_NONE || score > paths[end].score)
        paths[end] = (struct path){.score = score, .begin = (uint32_t)begin, .token = token};
}

/* Extends the best path that ends at byte `at` by each token that the text has there. If no such token
 * consists of exactly the next character, also extends the path by this character of `length` bytes as
 * unknown. */
static void extend_all(const forge_tokenizer *tokenizer, struct path *paths, const char *text, size_t at,
                       size_t size, size_t length)
{
    const struct unigram *unigram = tokenizer->unigram;
    const struct trie *trie = &unigram->trie;
    bool has_character = false;
    uint32_t node = 0;
    for (size_t end = at; trie->count && end < size;) {
        node = trie_step(trie, node, (uint8_t)text[end++]);
        if (node == TRIE_NONE)
            break;
        int32_t token = trie->nodes[node].token;
        if (token == TOKEN_NONE)
            continue;
        extend(paths, at, end, score_of(tokenizer->vocabulary, token), token);
        has_character = has_character || end == at + length;
    }
    if (!has_character)
        extend(paths, at, at + length, unigram->unknown_score, TOKEN_NONE);
}

/* Appends the tokens of the best path to the end of the text. */
static joule_status add_path(struct encoder *encoder, struct path *paths, const char *text, size_t size)
{
    joule_status status = JOULE_OK;
    for (size_t end = size; end > 0; end = paths[end].begin)
        paths[paths[end].begin].end = (uint32_t)end;
    for (size_t at = 0, end; at < size && status == JOULE_OK; at = end) {
        end = paths[at].end;
        if (paths[end].token != TOKEN_NONE)
            encoder_add(encoder, paths[end].token);
        else if (text[at] == ' ')
            status = encoder_add_bytes(encoder, SPACE_MARK, sizeof SPACE_MARK - 1);
        else
            status = encoder_add_bytes(encoder, text + at, end - at);
    }
    return status;
}

joule_status unigram_encode_part(struct encoder *encoder, const char *text, size_t size)
{
    if (!array_reserve(&encoder->paths, &encoder->path_capacity, size + 1, sizeof(struct path)))
        return encoder_no_memory(encoder);
    struct path *paths = encoder->paths;
    paths[0] = (struct path){.score = encoder->score > LOWEST_SUM ? encoder->score : 0};
    for (size_t i = 1; i <= size; i++)
        paths[i].begin = PATH_NONE;
    for (size_t at = 0, length; at < size; at += length) {
        length = string_utf8_length(text + at, size - at);
        length += length == 0;
        if (paths[at].begin != PATH_NONE)
            extend_all(encoder->tokenizer, paths, text, at, size, length);
    }
    encoder->score = paths[size].score;
    return add_path(encoder, paths, text, size);
}
