/* infer/engine/constraint.c - see constraint.h. */
#include "forge/infer/engine/constraint.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/infer/tokenizer/tokenizer.h"

struct constraint {
    struct grammar *grammar;
    struct grammar_cache *cache;
    const forge_tokenizer *tokenizer;
    struct grammar_state state, ahead; /* states after the answer's tokens, and after its tokens and drafts */
    uint32_t *mask;
    size_t vocabulary;
};

joule_status constraint_trie_new(const forge_tokenizer *tokenizer, struct token_trie **out_trie,
                                 joule_error *out_error)
{
    size_t count = forge_tokenizer_count(tokenizer);
    struct bytes *texts = calloc(count + 1, sizeof *texts);
    if (!texts)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot read the tokens: out of memory");
    for (size_t i = 0; i < count; i++) {
        enum token_type type = tokenizer_type(tokenizer, (int32_t)i);
        if (type == TOKEN_NORMAL || type == TOKEN_BYTE)
            texts[i].data = token_text(&tokenizer->texts, (int32_t)i, &texts[i].size);
    }
    joule_status status = token_trie_new(texts, count, out_trie, out_error);
    free(texts);
    return status;
}

joule_status constraint_new(const char *schema, const forge_tokenizer *tokenizer,
                            const struct token_trie *trie, size_t vocabulary,
                            struct constraint **out_constraint, joule_error *out_error)
{
    struct constraint *c = calloc(1, sizeof *c);
    if (!c)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot compile a JSON schema: out of memory");
    c->tokenizer = tokenizer;
    c->vocabulary = vocabulary;
    c->mask = calloc(vocabulary / 32 + 1, sizeof *c->mask);
    joule_status status = schema ? grammar_new(schema, strlen(schema), &c->grammar, out_error)
                                 : grammar_new_object(&c->grammar, out_error);
    if (status == JOULE_OK)
        status = grammar_cache_new(c->grammar, trie, &c->cache, out_error);
    if (status == JOULE_OK && !c->mask)
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot compile a JSON schema: out of memory");
    if (status != JOULE_OK) {
        constraint_free(c);
        return status;
    }
    grammar_begin(c->grammar, &c->state);
    *out_constraint = c;
    return JOULE_OK;
}

void constraint_free(struct constraint *c)
{
    if (!c)
        return;
    grammar_cache_free(c->cache);
    grammar_free(c->grammar);
    free(c->mask);
    free(c);
}

/* Advances a state by a token. Returns false if the token is not allowed. */
static bool accept(const struct constraint *c, struct grammar_state *state, int32_t token)
{
    size_t size = 0;
    if (token < 0 || (size_t)token >= forge_tokenizer_count(c->tokenizer))
        return false;
    const char *text = token_text(&c->tokenizer->texts, token, &size);
    return size > 0 && grammar_accept(c->grammar, state, text, size);
}

const uint32_t *constraint_mask(struct constraint *c, const int32_t *tokens, size_t count)
{
    const struct grammar_state *state = &c->state;
    if (count > 0) {
        c->ahead = c->state;
        state = &c->ahead;
    }
    for (size_t i = 0; i < count; i++)
        if (!accept(c, &c->ahead, tokens[i]))
            return NULL;
    bool is_any = grammar_mask(c->cache, state, c->mask);
    for (size_t i = 0; grammar_is_complete(state) && i < c->tokenizer->end_count; i++) {
        uint32_t token = (uint32_t)c->tokenizer->end_tokens[i];
        c->mask[token / 32] |= UINT32_C(1) << token % 32;
        is_any = true;
    }
    return is_any ? c->mask : NULL;
}

bool constraint_is_complete(const struct constraint *c)
{
    return grammar_is_complete(&c->state);
}

void constraint_add(struct constraint *c, int32_t token)
{
    accept(c, &c->state, token);
}
